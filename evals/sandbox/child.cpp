#include "evals/sandbox/child.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

#include "evals/sandbox/guard_wire.hpp"

namespace nb::sandbox {

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kMaxStatus = 4096;

// {"child-pid": 123, …} of bwrap's status.
std::optional<pid_t> child_pid(std::string_view status) {
  constexpr std::string_view kKey = "\"child-pid\": ";
  const std::size_t at = status.find(kKey);
  if (at == status.npos || status.find_first_of(",}", at) == status.npos) return std::nullopt;
  pid_t pid = 0;
  std::from_chars(status.data() + at + kKey.size(), status.data() + status.size(), pid);
  return pid > 0 ? std::optional(pid) : std::nullopt;
}

}  // namespace

bool read_all(const Descriptor& from, std::string& text, std::size_t most) {
  std::array<char, 65536> buffer;
  for (;;) {
    const ssize_t got = ::read(from.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno == EAGAIN;
    if (got == 0) return false;
    text.append(buffer.data(), static_cast<std::size_t>(got));
    if (text.size() > most) return true;  // a writer faster than we are must not hold us
  }
}

Child::Child(Launched launched, Descriptor status)
    : pid_(launched.pid),
      inner_(launched.pid),
      status_(std::move(status)),
      end_(std::move(launched.end)) {
  ::fcntl(end_.get(), F_SETFL, O_NONBLOCK);
}

Child::Child(Child&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)),
      inner_(std::exchange(other.inner_, 0)),
      status_(std::move(other.status_)),
      end_(std::move(other.end_)),
      said_(std::move(other.said_)),
      has_ended_(std::exchange(other.has_ended_, true)),
      is_lost_(other.is_lost_),
      exit_code_(other.exit_code_),
      cpu_ms_(other.cpu_ms_),
      killed_(other.killed_) {}

Child::~Child() {
  if (has_ended_) return;
  // What is inside of a bwrap is orphaned then, and the guard ends it.
  kill_launched(pid_, pid_);
  while (!has_ended_) {
    pollfd polled{end_.get(), POLLIN, 0};
    ::poll(&polled, 1, -1);
    look();
  }
}

void Child::look() {
  if (has_ended_) return;
  if (status_.is_open() && inner_ == pid_) {
    if (!read_all(status_, said_, kMaxStatus) || said_.size() > kMaxStatus) status_.close();
    inner_ = child_pid(said_).value_or(pid_);
  }
  News end;
  const ssize_t got = ::read(end_.get(), &end, sizeof(end));
  if (got < 0) return;  // no news yet
  has_ended_ = true;
  is_lost_ = got != static_cast<ssize_t>(sizeof(end));
  exit_code_ = end.exit_code;
  cpu_ms_ = end.cpu_ms;
}

void Child::kill() {
  if (has_ended_) return;
  if (killed_ == Clock::time_point{}) {
    killed_ = Clock::now();
    kill_launched(pid_, inner_);
  } else if (Clock::now() - killed_ > std::chrono::seconds(2)) {
    kill_launched(pid_, pid_);
  }
}

}  // namespace nb::sandbox
