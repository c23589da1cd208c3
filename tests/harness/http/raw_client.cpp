#include "tests/harness/http/raw_client.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

namespace nb::test {

RawClient::RawClient(int port) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) close();
  const int on = 1;
  ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

bool RawClient::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

std::string RawClient::receive(std::string_view stop, std::chrono::milliseconds limit) {
  std::string all = std::exchange(rest_, {});
  const auto end = std::chrono::steady_clock::now() + limit;
  while (stop.empty() || all.find(stop) == std::string::npos) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - std::chrono::steady_clock::now());
    pollfd one{fd_, POLLIN, 0};
    if (left.count() <= 0 || ::poll(&one, 1, static_cast<int>(left.count())) <= 0) break;
    char buffer[65536];
    const ssize_t got = ::recv(fd_, buffer, sizeof buffer, 0);
    if (got <= 0) break;
    all.append(buffer, static_cast<std::size_t>(got));
  }
  return all;
}

std::string RawClient::receive_response() {
  std::string all = receive("\r\n\r\n");
  const std::size_t head = all.find("\r\n\r\n");
  const std::size_t length = all.find("Content-Length: ");
  if (head == std::string::npos || length > head) return all;
  const std::size_t whole =
      head + 4 + std::strtoull(all.c_str() + length + sizeof "Content-Length:", nullptr, 10);
  while (all.size() < whole) {
    char buffer[65536];
    pollfd one{fd_, POLLIN, 0};
    if (::poll(&one, 1, 60'000) <= 0) return all;
    const ssize_t got = ::recv(fd_, buffer, sizeof buffer, 0);
    if (got <= 0) return all;
    all.append(buffer, static_cast<std::size_t>(got));
  }
  rest_ = all.substr(whole);
  all.resize(whole);
  return all;
}

void RawClient::close() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

std::string post_bytes(std::string_view path, std::string_view body) {
  std::string bytes = "POST ";
  bytes += path;
  bytes += " HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ";
  bytes += std::to_string(body.size()) + "\r\n\r\n";
  bytes += body;
  return bytes;
}

std::string ask(int port, std::string_view bytes) {
  RawClient client(port);
  client.send(bytes);
  return client.receive_response();
}

int status_of(std::string_view response) {
  if (!response.starts_with("HTTP/1.1 ") || response.size() < 12) return 0;
  return std::atoi(std::string(response.substr(9, 3)).c_str());
}

std::string body_of(std::string_view response) {
  const std::size_t head = response.find("\r\n\r\n");
  return head == std::string_view::npos ? "" : std::string(response.substr(head + 4));
}

}  // namespace nb::test
