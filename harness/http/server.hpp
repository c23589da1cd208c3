// An HTTP/1.1 server on one address: a request comes in, a handler makes a response of it, whole or
// streamed. One thread a connection, and a limit of connections. Not here: TLS, paths, JSON, keys.
// Logs nothing.
//
// The client is cpp-httplib; its server (0.11.4) has no limit of a chunked body or of headers, no
// deadline of a whole request, does not tell that a client went away, and gives each idle
// connection a thread of its pool. This one is ours.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "harness/base/result.hpp"
#include "harness/http/request.hpp"
#include "harness/http/response.hpp"

namespace nb {

// Who asked. Thread-safe; lives until the response is written.
class HttpPeer {
 public:
  virtual ~HttpPeer() = default;
  // It hung up, or the server was told to end and waits no longer.
  virtual bool is_gone() const = 0;
};

// Called on many threads at once. What it throws becomes status 500 without a word of it.
using HttpHandler = std::function<HttpResponse(const HttpRequest&, const HttpPeer&)>;
// The response to what is no request (path: empty where it is not known), or cannot be taken now.
using HttpErrorHandler =
    std::function<HttpResponse(int status, std::string_view message, std::string_view path)>;

struct HttpServerOptions {
  std::string address = "127.0.0.1";  // IPv4 or IPv6, or a name of this host
  int port = 0;                       // 0: any that is free
  HttpRequestLimits request = {};
  int max_connections = 256;    // more: 503, unless one has been idle for a second: it is closed
  double request_seconds = 30;  // from a request's first byte to its last
  double idle_seconds = 60;     // between requests
  double write_seconds = 30;    // in which a client takes nothing
  double drain_seconds = 30;    // that stop() waits for requests under way
};

class HttpServer {
 public:
  // Listens when it returns. Error: kRun, one sentence: the port is taken, or the address is none
  // of this host.
  static Result<std::unique_ptr<HttpServer>> start(const HttpServerOptions& options,
                                                   HttpHandler handler, HttpErrorHandler error);
  ~HttpServer();  // stop()
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  int port() const;
  // New requests get 503; those under way end, or are cut after drain_seconds. Returns true when
  // none was cut. Later calls: true.
  bool stop();

  struct Counts {
    std::int64_t connections = 0;  // open
    std::int64_t busy = 0;         // of them with a request
    std::int64_t accepted = 0;     // since the start
    std::int64_t turned_away = 0;  // with 503, for there were too many
  };
  Counts counts() const;

 private:
  class State;
  explicit HttpServer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace nb
