// Requests to one server, many at once, with retries. Answers stand where their requests stood,
// whatever order they came in. What is sent and what comes back is never printed or stored here.
// One caller at a time.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/base/json_io.hpp"
#include "harness/base/result.hpp"
#include "harness/http/client.hpp"
#include "harness/remote/retry.hpp"

namespace nb {

struct ConnectionOptions {
  std::string key;      // of Authorization; empty: none
  std::string ca_file;  // HttpOptions
  int concurrency = 16;
  int tries = 6;                // of each request
  double timeout_seconds = 60;  // of an answer, and 50 ms more for each token asked for
};

struct RemoteCall {
  std::string path;                 // from the root: "/v1/completions"
  std::optional<std::string> body;  // JSON to post; none: GET
  std::int64_t new_tokens = 0;      // asked for, for the time limit
  // Whether the server can do it is the question: status 500, twice, is an answer (llama.cpp
  // refuses `echo` so).
  bool is_question = false;
};

// The server's last word: any status but those that may_pass().
struct RemoteAnswer {
  int status = 0;
  std::map<std::string, std::string> headers;
  std::string body;
  bool is_ok() const { return status >= 200 && status < 300; }
};

struct ConnectionCounts {
  std::int64_t requests = 0, retries = 0;
  std::int64_t broken = 0;  // tries that got no answer at all: the server may be another one now
  double busy_seconds = 0;  // in which at least one request was under way
};

class Connection {
 public:
  Connection(HttpUrl base, ConnectionOptions options);
  ~Connection();

  // "gpu:8000", as messages name the server.
  std::string name() const { return base_.authority(); }
  const HttpUrl& base() const { return base_; }
  const ConnectionOptions& options() const { return options_; }

  // Errors are kRun: no answer after all tries. Any answer of the server is a value.
  Result<RemoteAnswer> call(const RemoteCall& call);
  // One answer a call, in order. After one that fails for good, or 20 tries in a row without an
  // answer, no more are begun: theirs is the same error.
  std::vector<Result<RemoteAnswer>> call_all(std::span<const RemoteCall> calls);

  // "gpu:8000 answers POST /v1/completions with status 400: …", what an answer that is_ok() is not
  // says. Quotes a line of the server at most, never what was sent.
  Error refusal(const RemoteCall& call, const RemoteAnswer& answer) const;
  // The JSON of an answer that is_ok(), else refusal(); HTML and other texts are said to be so.
  Result<Json> json_of(const RemoteCall& call, const Result<RemoteAnswer>& answer) const;

  ConnectionCounts counts() const;

 private:
  struct Tries;
  Result<RemoteAnswer> send(HttpClient& client, const RemoteCall& call, std::size_t number);
  bool begin_one();  // waits for a place; false: nothing more is begun
  void end_one();
  Error give_up(const RemoteCall& call, const std::string& what, int tries) const;

  HttpUrl base_;
  ConnectionOptions options_;
  std::vector<std::unique_ptr<HttpClient>> clients_;  // one per thread

  mutable std::mutex mutex_;
  std::condition_variable has_place_;
  InFlightLimit limit_;
  int in_flight_ = 0;
  int failures_in_a_row_ = 0;
  std::optional<Error> stopped_;  // why nothing more is begun
  ConnectionCounts counts_;
};

}  // namespace nb
