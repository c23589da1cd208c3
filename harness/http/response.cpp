#include "harness/http/response.hpp"

#include <fmt/format.h>

#include <exception>

#include "harness/http/socket.hpp"

namespace nb {
namespace {

std::string head_of(const HttpResponse& response, bool is_chunked, bool closes) {
  std::string head =
      fmt::format("HTTP/1.1 {} {}\r\nServer: npubench\r\nContent-Type: {}\r\n", response.status,
                  http_reason(response.status), response.content_type);
  for (const auto& [name, value] : response.headers) head += name + ": " + value + "\r\n";
  if (is_chunked) head += "Transfer-Encoding: chunked\r\n";
  if (!response.stream) head += fmt::format("Content-Length: {}\r\n", response.body.size());
  head += closes ? "Connection: close\r\n\r\n" : "Connection: keep-alive\r\n\r\n";
  return head;
}

class SocketStream : public HttpStream {
 public:
  SocketStream(int fd, bool is_chunked, double seconds, std::string head)
      : fd_(fd), is_chunked_(is_chunked), seconds_(seconds), head_(std::move(head)) {}

  bool write(std::string_view bytes) override {
    if (!is_open_ || bytes.empty()) return is_open_;
    std::string out = std::exchange(head_, {});
    if (is_chunked_) out += fmt::format("{:x}\r\n", bytes.size());
    out += bytes;
    if (is_chunked_) out += "\r\n";
    return is_open_ = send_all(fd_, out, seconds_);
  }
  bool finish() {
    if (is_open_) is_open_ = send_all(fd_, head_ + (is_chunked_ ? "0\r\n\r\n" : ""), seconds_);
    return is_open_;
  }

 private:
  int fd_;
  bool is_chunked_, is_open_ = true;
  double seconds_;
  std::string head_;  // goes out with the first bytes
};

}  // namespace

std::string_view http_reason(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 204:
      return "No Content";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 413:
      return "Content Too Large";
    case 415:
      return "Unsupported Media Type";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "Error";
  }
}

bool write_response(int fd, const HttpResponse& response, const HttpRequest* request, bool& closes,
                    double seconds) {
  const bool is_head = request != nullptr && request->method == "HEAD";
  if (!response.stream || is_head) {
    std::string out = head_of(response, false, closes);
    if (!is_head) out += response.body;
    return send_all(fd, out, seconds);
  }
  const bool is_chunked = request->minor_version >= 1;
  closes = closes || !is_chunked;
  SocketStream stream(fd, is_chunked, seconds, head_of(response, is_chunked, closes));
  try {
    response.stream(stream);
  } catch (const std::exception&) {  // the head is out: a body that ends early says it
    return false;
  }
  return stream.finish();
}

}  // namespace nb
