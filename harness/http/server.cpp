#include "harness/http/server.hpp"

#include <fcntl.h>
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
#include <list>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "harness/http/socket.hpp"

namespace nb {
namespace {

using Clock = SocketClock;

// Threads that only say that there are too many connections; beyond them a connection is dropped.
constexpr int kTurningAway = 32;
constexpr double kTurnAwaySeconds = 2;
constexpr double kIdleBeforeClosed = 1;

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
      const bool is_written = write_response(connection.fd, response, request ? &*request : nullptr,
                                             closes, options_.write_seconds);
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
  NB_TRY(const int fd, listen_on(options.address, options.port));
  return std::unique_ptr<HttpServer>(
      new HttpServer(std::make_unique<State>(fd, options, std::move(handler), std::move(error))));
}

HttpServer::HttpServer(std::unique_ptr<State> state) : state_(std::move(state)) {}
HttpServer::~HttpServer() = default;
int HttpServer::port() const { return state_->port(); }
bool HttpServer::stop() { return state_->stop(); }
HttpServer::Counts HttpServer::counts() const { return state_->counts(); }

}  // namespace nb
