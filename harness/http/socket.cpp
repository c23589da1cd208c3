#include "harness/http/socket.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <system_error>
#include <tl/expected.hpp>

namespace nb {
namespace {

constexpr int kBacklog = 512;
constexpr double kLingerSeconds = 1;
constexpr std::size_t kLingerBytes = std::size_t{32} << 20;

int milliseconds_until(SocketClock::time_point end) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - SocketClock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 1'000'000'000));
}

// A listening socket, or the errno of what kept it from being one.
tl::expected<int, int> bound(const addrinfo& at) {
  const int fd =
      ::socket(at.ai_family, at.ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, at.ai_protocol);
  if (fd < 0) return tl::unexpected<int>(errno);
  const int on = 1;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (::bind(fd, at.ai_addr, at.ai_addrlen) == 0 && ::listen(fd, kBacklog) == 0) return fd;
  const int error = errno;
  ::close(fd);
  return tl::unexpected<int>(error);
}

}  // namespace

SocketClock::time_point after(double seconds) {
  return SocketClock::now() + std::chrono::duration_cast<SocketClock::duration>(
                                  std::chrono::duration<double>(std::min(seconds, 1e6)));
}

Result<int> listen_on(const std::string& wanted_address, int wanted_port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const std::string port = std::to_string(wanted_port);
  if (::getaddrinfo(wanted_address.c_str(), port.c_str(), &hints, &found) != 0)
    return run_error(
        fmt::format("{}: no address of this host; 127.0.0.1 serves this host alone, "
                    "0.0.0.0 all",
                    wanted_address));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, ::freeaddrinfo);
  const auto fd = bound(*found);
  if (fd) return *fd;
  if (fd.error() == EADDRINUSE)
    return run_error(fmt::format(
        "port {} of {} is taken by another program; choose another (0: any that is free)",
        wanted_port, wanted_address));
  return run_error(fmt::format("cannot listen on port {} of {}: {}", wanted_port, wanted_address,
                               std::generic_category().message(fd.error())));
}

int port_of(int fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  return ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(address).sin6_port
                                             : reinterpret_cast<sockaddr_in&>(address).sin_port);
}

bool wait_for(int fd, short events, SocketClock::time_point end) {
  while (true) {
    pollfd one{fd, events, 0};
    const int ready = ::poll(&one, 1, milliseconds_until(end));
    if (ready > 0) return true;
    if (ready == 0 || errno != EINTR) return false;
  }
}

bool send_all(int fd, std::string_view bytes, double seconds) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
      continue;
    }
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK) &&
        wait_for(fd, POLLOUT, after(seconds)))
      continue;
    return false;
  }
  return true;
}

void linger(int fd) {
  ::shutdown(fd, SHUT_WR);
  const auto end = after(kLingerSeconds);
  char buffer[16384];
  for (std::size_t total = 0; total < kLingerBytes && wait_for(fd, POLLIN, end);) {
    const ssize_t got = ::recv(fd, buffer, sizeof buffer, MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) return;
    total += static_cast<std::size_t>(std::max<ssize_t>(got, 0));
  }
}

bool is_loopback(std::string_view address) {
  in_addr v4{};
  const std::string text(address);
  if (::inet_pton(AF_INET, text.c_str(), &v4) == 1) return (ntohl(v4.s_addr) >> 24) == 127;
  return address == "::1" || address == "localhost";
}

}  // namespace nb
