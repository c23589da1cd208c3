// One HTTP connection to one server, kept alive between requests. A request is sent once: who
// retries, and when, is the caller's affair. Not thread-safe: one connection a thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "harness/base/result.hpp"

namespace nb {

struct HttpUrl {
  bool is_tls = false;
  std::string host;
  int port = 80;
  std::string path;  // "/v1", without a slash at its end; empty: none

  std::string origin() const;     // "http://host:80"
  std::string authority() const;  // "host:80"
};
// "http://host[:port][/path]" or https. bad_input: another scheme, no host, a port that is none, a
// user, a query or a fragment (a key may stand there, and URLs are shown).
Result<HttpUrl> parse_http_url(std::string_view text);

struct HttpOptions {
  std::string bearer_key;  // sent as "Authorization: Bearer …"; empty: none
  std::string ca_file;     // PEM with the authorities to trust; empty: the system's
  double connect_seconds = 10;
  std::size_t max_body_bytes = std::size_t{64} << 20;
};

struct HttpAnswer {
  int status = 0;
  std::map<std::string, std::string> headers;  // names in lower case; the last of equal ones
  std::string body;
};

enum class HttpTrouble : std::uint8_t {
  kConnect,    // nobody answers there
  kTimeout,    // connected, but no answer in time
  kBroken,     // the connection ended before the answer did
  kTooLarge,   // an answer above max_body_bytes
  kUntrusted,  // TLS: the certificate is not from an authority that is trusted
  kWrongName,  // TLS: the certificate is for another host
  kTls,        // TLS: no connection for another reason
};
// What the server does, to stand behind its name: "does not answer", "ends the connection …".
std::string_view text(HttpTrouble trouble);

class HttpClient {
 public:
  HttpClient(HttpUrl url, HttpOptions options);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  using Answer = tl::expected<HttpAnswer, HttpTrouble>;
  // path: from the root, "/v1/models".
  Answer get(const std::string& path, double timeout_seconds);
  Answer post_json(const std::string& path, const std::string& body, double timeout_seconds);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace nb
