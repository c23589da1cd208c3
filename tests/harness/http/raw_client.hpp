// A client that may be as rude as a test needs: bytes to a port of this host and back.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <utility>

namespace nb::test {

class RawClient {
 public:
  explicit RawClient(int port);
  ~RawClient() { close(); }
  RawClient(RawClient&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  bool is_open() const { return fd_ >= 0; }
  bool send(std::string_view bytes);  // false: the other side is gone
  // What comes until the other side ends, `stop` is in it, or the time is over.
  std::string receive(std::string_view stop = {},
                      std::chrono::milliseconds limit = std::chrono::seconds(60));
  // One response with a Content-Length, head and body.
  std::string receive_response();
  void close();

 private:
  int fd_ = -1;
  std::string rest_;  // behind the last response
};

// "POST path" with a JSON body, as bytes; the connection stays open.
std::string post_bytes(std::string_view path, std::string_view body);
// Sends a request on a connection of its own; the whole response.
std::string ask(int port, std::string_view bytes);
int status_of(std::string_view response);  // 0: it is none
std::string body_of(std::string_view response);

}  // namespace nb::test
