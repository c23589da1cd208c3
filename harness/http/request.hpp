// One HTTP/1.1 request read from a stream of bytes: within limits, or refused with a status and a
// sentence. RFC 9112, without what no client of ours sends: no trailers are kept, no folded
// headers, no transfer encoding but chunked. Knows no sockets: bytes come from a function.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace nb {

struct HttpRequest {
  std::string method;                          // "GET"
  std::string path;                            // "/v1/models", as sent: never decoded
  std::string query;                           // behind the "?"
  int minor_version = 1;                       // of HTTP/1.x
  std::map<std::string, std::string> headers;  // names in lower case; equal ones joined by ", "
  std::string body;

  std::string_view header(const std::string& lower_name) const;  // empty: none
  // Whether the client waits for the next answer on this connection.
  bool keeps_alive() const;
};

struct HttpRequestLimits {
  std::size_t max_body_bytes = std::size_t{16} << 20;
  std::size_t max_head_bytes = std::size_t{32} << 10;  // request line and headers
  std::size_t max_headers = 100;
};

// Why there is no request. status 0: the connection ended between two requests, nothing to say.
struct HttpRefusal {
  int status = 0;
  std::string message;
};

class HttpRequestReader {
 public:
  // Fills at most `size` bytes; 0: the connection ended; below 0: no byte in time.
  using Source = std::function<long(char* to, std::size_t size)>;

  HttpRequestReader(Source source, const HttpRequestLimits& limits)
      : source_(std::move(source)), limits_(limits) {}

  // The next request. say_continue: called when the client waits to be told that its body is
  // wanted.
  tl::expected<HttpRequest, HttpRefusal> next(const std::function<void()>& say_continue = {});
  // Bytes of a next request are here already.
  bool has_bytes() const { return begin_ < buffer_.size(); }

 private:
  tl::expected<std::string, HttpRefusal> read_head();
  tl::expected<void, HttpRefusal> read_more(std::string_view part);
  tl::expected<std::string, HttpRefusal> read_line(std::size_t max_bytes, std::string_view part);
  tl::expected<void, HttpRefusal> read_bytes(std::size_t size, std::string& to);
  tl::expected<void, HttpRefusal> read_chunks(std::string& body);

  Source source_;
  HttpRequestLimits limits_;
  std::string buffer_;
  std::size_t begin_ = 0;  // of what is not used yet
};

// Request line and headers, up to and without the empty line; body is left empty.
tl::expected<HttpRequest, HttpRefusal> parse_http_head(std::string_view head,
                                                       const HttpRequestLimits& limits = {});

}  // namespace nb
