#include "harness/http/server.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <list>
#include <mutex>
#include <system_error>
#include <thread>

namespace nb {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kBacklog = 512;
// Threads that only say that there are too many connections; beyond them a connection is dropped.
constexpr int kTurningAway = 32;
constexpr double kTurnAwaySeconds = 2;
constexpr double kIdleBeforeClosed = 1;
constexpr double kLingerSeconds = 1;
constexpr std::size_t kLingerBytes = std::size_t{32} << 20;

Clock::time_point after(double seconds) {
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(
                            std::chrono::duration<double>(std::min(seconds, 1e6)));
}

int milliseconds_until(Clock::time_point end) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 1'000'000'000));
}

// poll() of one descriptor until something is there; false: not in time.
bool wait_for(int fd, short events, Clock::time_point end) {
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

// What was sent is lost when a socket is closed with unread bytes: they are read first.
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

struct Connection : HttpPeer {
  explicit Connection(int descriptor, bool over) : fd(descriptor), is_over(over) {}

  bool is_gone() const override {
    if (cut) return true;
    pollfd one{fd, POLLRDHUP, 0};
    return ::poll(&one, 1, 0) > 0 && (one.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
  }

  const int fd;
  const bool is_over;  // one too many: it gets 503
  std::thread thread;
  std::atomic<bool> cut = false, done = false;
  std::atomic<bool> is_busy = false;
  std::atomic<Clock::rep> idle_since = Clock::now().time_since_epoch().count();
};

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

// A listening socket, or the errno of what kept it from being one.
tl::expected<int, int> listen_on(const addrinfo& at) {
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

int port_of(int fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  return ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(address).sin6_port
                                             : reinterpret_cast<sockaddr_in&>(address).sin_port);
}

Result<int> open_socket(const HttpServerOptions& options) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const std::string port = std::to_string(options.port);
  if (::getaddrinfo(options.address.c_str(), port.c_str(), &hints, &found) != 0)
    return run_error(
        fmt::format("{}: no address of this host; 127.0.0.1 serves this host alone, "
                    "0.0.0.0 all",
                    options.address));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, ::freeaddrinfo);
  const auto fd = listen_on(*found);
  if (fd) return *fd;
  if (fd.error() == EADDRINUSE)
    return run_error(fmt::format(
        "port {} of {} is taken by another program; choose another (0: any that is free)",
        options.port, options.address));
  return run_error(fmt::format("cannot listen on port {} of {}: {}", options.port, options.address,
                               std::generic_category().message(fd.error())));
}

}  // namespace

class HttpServer::State {
 public:
  State(int fd, const HttpServerOptions& options, HttpHandler handler, HttpErrorHandler error)
      : fd_(fd),
        port_(port_of(fd)),
        options_(options),
        handler_(std::move(handler)),
        error_(std::move(error)) {
    if (::pipe2(wake_, O_CLOEXEC) != 0) wake_[0] = wake_[1] = -1;
    accepting_ = std::thread([this] { accept_all(); });
  }

  ~State() {
    stop();
    for (const int end : wake_)
      if (end >= 0) ::close(end);
  }

  int port() const { return port_; }

  bool stop() {
    if (stopping_.exchange(true)) return true;
    // The idle ones have nothing to lose; requests that still come are told 503.
    const auto end = after(options_.drain_seconds);
    bool is_drained = false;
    {
      std::unique_lock lock(mutex_);
      for (const auto& connection : connections_)
        if (!connection->is_busy) ::shutdown(connection->fd, SHUT_RD);
      is_drained = changed_.wait_until(lock, end, [&] {
        return std::ranges::none_of(connections_, [](const auto& c) { return c->is_busy.load(); });
      });
      ended_ = true;
      for (const auto& connection : connections_) {
        connection->cut = true;
        // A request that came while the last one ended is told so; others are waited for no more.
        ::shutdown(connection->fd, is_drained ? SHUT_RD : SHUT_RDWR);
      }
    }
    if (wake_[1] >= 0) [[maybe_unused]]
      const ssize_t written = ::write(wake_[1], "x", 1);
    accepting_.join();
    ::close(fd_);
    std::list<std::unique_ptr<Connection>> last;
    {
      const std::scoped_lock lock(mutex_);
      last.swap(connections_);
    }
    for (const auto& connection : last) join(*connection);
    return is_drained;
  }

  Counts counts() const {
    const std::scoped_lock lock(mutex_);
    Counts counts;
    for (const auto& connection : connections_) {
      if (connection->done) continue;
      ++counts.connections;
      counts.busy += connection->is_busy ? 1 : 0;
    }
    counts.accepted = accepted_;
    counts.turned_away = turned_away_;
    return counts;
  }

 private:
  static void join(Connection& connection) {
    if (connection.thread.joinable()) connection.thread.join();
    ::close(connection.fd);
  }

  void accept_all() {
    while (!ended_) {
      pollfd both[] = {{fd_, POLLIN, 0}, {wake_[0], POLLIN, 0}};
      if (::poll(both, wake_[0] >= 0 ? 2 : 1, 1000) <= 0) {
        remove_done();
        continue;
      }
      const int fd = ::accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC);
      if (fd < 0) {  // out of descriptors, or the client is gone already
        if (errno == EMFILE || errno == ENFILE || errno == ENOMEM)
          std::this_thread::sleep_for(std::chrono::milliseconds(10));
        remove_done();
        continue;
      }
      remove_done();
      add(fd);
    }
  }

  void remove_done() {
    std::list<std::unique_ptr<Connection>> done;
    {
      const std::scoped_lock lock(mutex_);
      for (auto at = connections_.begin(); at != connections_.end();)
        if (auto next = std::next(at); (*at)->done) {
          done.splice(done.end(), connections_, at);
          at = next;
        } else {
          at = next;
        }
    }
    for (const auto& connection : done) join(*connection);
  }

  void add(int fd) {
    const int on = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    const std::scoped_lock lock(mutex_);
    ++accepted_;
    const auto count = std::ranges::count_if(
        connections_, [](const auto& c) { return !c->done && !c->cut && !c->is_over; });
    const bool is_over = count >= options_.max_connections && !close_an_idle_one();
    if (is_over) ++turned_away_;
    if (is_over && std::ranges::count_if(connections_, [](const auto& c) {
                     return c->is_over && !c->done;
                   }) >= kTurningAway) {
      ::close(fd);
      return;
    }
    auto connection = std::make_unique<Connection>(fd, is_over);
    try {
      connection->thread = std::thread([this, c = connection.get()] { serve(*c); });
    } catch (const std::system_error&) {  // no thread to be had
      ::close(fd);
      return;
    }
    connections_.push_back(std::move(connection));
  }

  // The one that has been idle longest, if for a second.
  bool close_an_idle_one() {
    Connection* longest = nullptr;
    for (const auto& connection : connections_)
      if (!connection->is_busy && !connection->done && !connection->cut && !connection->is_over &&
          (longest == nullptr || connection->idle_since < longest->idle_since))
        longest = connection.get();
    if (longest == nullptr) return false;
    const auto since = Clock::time_point(Clock::duration(longest->idle_since.load()));
    if (std::chrono::duration<double>(Clock::now() - since).count() < kIdleBeforeClosed)
      return false;
    longest->cut = true;
    ::shutdown(longest->fd, SHUT_RDWR);
    return true;
  }

  void serve(Connection& connection) {
    bool is_clean = false;  // no byte of the client is left unread
    try {
      is_clean = converse(connection);
    } catch (const std::exception&) {  // out of memory: this connection alone ends
    }
    if (is_clean)
      ::shutdown(connection.fd, SHUT_RDWR);
    else if (!connection.cut)
      linger(connection.fd);
    const std::scoped_lock lock(mutex_);
    connection.is_busy = false;
    connection.done = true;
    changed_.notify_all();
  }

  // Requests until one side ends it. False: something of the client may be unread.
  bool converse(Connection& connection) {
    const double first_wait = connection.is_over ? kTurnAwaySeconds : options_.idle_seconds;
    auto deadline = after(first_wait);
    bool has_begun = false;
    HttpRequestReader reader(
        [&](char* to, std::size_t size) -> long {
          if (!wait_for(connection.fd, POLLIN, deadline)) return -1;
          const ssize_t got = ::recv(connection.fd, to, size, 0);
          if (!has_begun) {
            has_begun = true;
            deadline = after(connection.is_over ? kTurnAwaySeconds : options_.request_seconds);
          }
          return got < 0 ? 0 : got;
        },
        options_.request);
    while (true) {
      has_begun = reader.has_bytes();
      deadline = after(has_begun ? options_.request_seconds : first_wait);
      const auto request = reader.next([&] {
        send_all(connection.fd, "HTTP/1.1 100 Continue\r\n\r\n", options_.write_seconds);
      });
      if (!request && request.error().status == 0) return true;
      if (!begin_request(connection)) return true;
      bool closes = !request || connection.is_over || stopping_ || !request->keeps_alive();
      HttpResponse response;
      if (!request)
        response = error_(request.error().status, request.error().message, "");
      else if (connection.is_over)
        response = busy("too many connections", request->path);
      else if (stopping_)
        response = busy("the server ends", request->path);
      else
        response = handled(*request, connection);
      closes = closes || stopping_;
      const bool is_written = write(connection, response, request ? &*request : nullptr, closes);
      end_request(connection);
      if (!request) return false;
      if (!is_written || closes) return is_written && !reader.has_bytes();
    }
  }

  // Under the lock, so that stop() sees every request that it must wait for.
  bool begin_request(Connection& connection) {
    const std::scoped_lock lock(mutex_);
    if (connection.cut) return false;
    connection.is_busy = true;
    return true;
  }
  void end_request(Connection& connection) {
    const std::scoped_lock lock(mutex_);
    connection.is_busy = false;
    connection.idle_since = Clock::now().time_since_epoch().count();
    changed_.notify_all();
  }

  HttpResponse busy(std::string_view why, std::string_view path) const {
    HttpResponse response = error_(503, why, path);
    response.headers.emplace_back("Retry-After", "1");
    return response;
  }

  HttpResponse handled(const HttpRequest& request, const Connection& connection) const {
    try {
      return handler_(request, connection);
    } catch (const std::exception&) {
      return error_(500, "this request failed inside the server", request.path);
    }
  }

  bool write(const Connection& connection, const HttpResponse& response, const HttpRequest* request,
             bool& closes) const {
    const bool is_head = request != nullptr && request->method == "HEAD";
    if (!response.stream || is_head) {
      std::string out = head_of(response, false, closes);
      if (!is_head) out += response.body;
      return send_all(connection.fd, out, options_.write_seconds);
    }
    const bool is_chunked = request->minor_version >= 1;
    closes = closes || !is_chunked;
    SocketStream stream(connection.fd, is_chunked, options_.write_seconds,
                        head_of(response, is_chunked, closes));
    try {
      response.stream(stream);
    } catch (const std::exception&) {  // the head is out: a body that ends early says it
      return false;
    }
    return stream.finish();
  }

  const int fd_, port_;
  const HttpServerOptions options_;
  const HttpHandler handler_;
  const HttpErrorHandler error_;
  int wake_[2] = {-1, -1};
  std::atomic<bool> stopping_ = false, ended_ = false;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::list<std::unique_ptr<Connection>> connections_;
  std::int64_t accepted_ = 0, turned_away_ = 0;
  std::thread accepting_;
};

Result<std::unique_ptr<HttpServer>> HttpServer::start(const HttpServerOptions& options,
                                                      HttpHandler handler, HttpErrorHandler error) {
  NB_TRY(const int fd, open_socket(options));
  return std::unique_ptr<HttpServer>(
      new HttpServer(std::make_unique<State>(fd, options, std::move(handler), std::move(error))));
}

HttpServer::HttpServer(std::unique_ptr<State> state) : state_(std::move(state)) {}
HttpServer::~HttpServer() = default;
int HttpServer::port() const { return state_->port(); }
bool HttpServer::stop() { return state_->stop(); }
HttpServer::Counts HttpServer::counts() const { return state_->counts(); }

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

bool is_loopback(std::string_view address) {
  in_addr v4{};
  const std::string text(address);
  if (::inet_pton(AF_INET, text.c_str(), &v4) == 1) return (ntohl(v4.s_addr) >> 24) == 127;
  return address == "::1" || address == "localhost";
}

}  // namespace nb
