#include "evals/sandbox/child.hpp"

#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

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

Child::Child(pid_t pid, Descriptor status) : pid_(pid), inner_(pid), status_(std::move(status)) {
  // Where the kernel does not have it, whoever looks now and then notices the end a little later.
  notice_ = Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

Child::Child(Child&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)),
      inner_(std::exchange(other.inner_, 0)),
      status_(std::move(other.status_)),
      notice_(std::move(other.notice_)),
      said_(std::move(other.said_)),
      has_ended_(std::exchange(other.has_ended_, true)),
      exit_code_(other.exit_code_),
      cpu_ms_(other.cpu_ms_),
      killed_(other.killed_) {}

Child::~Child() {
  if (has_ended_) return;
  // bwrap kills what is inside when it dies (--die-with-parent).
  ::kill(inner_, SIGKILL);
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

void Child::look() {
  if (has_ended_) return;
  if (status_.is_open() && inner_ == pid_) {
    if (!read_all(status_, said_, kMaxStatus) || said_.size() > kMaxStatus) status_.close();
    inner_ = child_pid(said_).value_or(pid_);
  }
  int status = 0;
  rusage used{};
  if (::wait4(pid_, &status, WNOHANG, &used) != pid_) return;
  has_ended_ = true;
  exit_code_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  for (const timeval& time : {used.ru_utime, used.ru_stime})
    cpu_ms_ += 1000 * time.tv_sec + time.tv_usec / 1000;
}

void Child::kill() {
  if (has_ended_) return;
  if (killed_ == Clock::time_point{}) {
    killed_ = Clock::now();
    ::kill(inner_, SIGKILL);
  } else if (Clock::now() - killed_ > std::chrono::seconds(2)) {
    ::kill(pid_, SIGKILL);
  }
}

}  // namespace nb::sandbox
