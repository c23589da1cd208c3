#include "harness/base/subprocess.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <thread>
#include <utility>

#include "harness/base/check.hpp"

extern char** environ;

namespace nb {

namespace {

using Clock = std::chrono::steady_clock;

// Both ends close-on-exec: another child started meanwhile must not hold them open.
class Pipe {
 public:
  Pipe() {
    if (::pipe2(ends_.data(), O_CLOEXEC) != 0) ends_ = {-1, -1};
  }
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  bool is_open() const { return ends_[0] >= 0; }
  int read_end() const { return ends_[0]; }
  int write_end() const { return ends_[1]; }
  void close_end(std::size_t which) {
    if (ends_[which] >= 0) ::close(std::exchange(ends_[which], -1));
  }

 private:
  std::array<int, 2> ends_{-1, -1};
};

// Our environment with additions in place of what they replace.
std::vector<std::string> merged_environment(
    const std::vector<std::pair<std::string, std::string>>& additions) {
  std::vector<std::string> merged;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const bool is_replaced =
        std::any_of(additions.begin(), additions.end(),
                    [&](const auto& addition) { return text.starts_with(addition.first + "="); });
    if (!is_replaced) merged.emplace_back(text);
  }
  for (const auto& [name, value] : additions) merged.push_back(name + "=" + value);
  return merged;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> list;
  for (std::string& text : texts) list.push_back(text.data());
  list.push_back(nullptr);
  return list;
}

// The child's process id; an errno value as a negative number when it cannot be started.
pid_t spawn(std::vector<std::string> argv, std::vector<std::string> environment, const Pipe& out,
            const Pipe& err, const std::string& output_file) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  if (output_file.empty()) {
    posix_spawn_file_actions_adddup2(&actions, out.write_end(), STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, err.write_end(), STDERR_FILENO);
  } else {
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output_file.c_str(),
                                     O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0666);
    posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  }
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);
  pid_t child = 0;
  const int failed = ::posix_spawnp(&child, argv.front().c_str(), &actions, &attributes,
                                    pointers(argv).data(), pointers(environment).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return failed == 0 ? child : -failed;
}

// Reads what is there; false at the end of the stream.
bool read_some(int descriptor, std::string& text) {
  std::array<char, 65536> buffer;
  const ssize_t got = ::read(descriptor, buffer.data(), buffer.size());
  if (got < 0) return errno == EINTR || errno == EAGAIN;
  text.append(buffer.data(), static_cast<std::size_t>(got));
  return got > 0;
}

// Reads both streams until they end, the time is up, or one grows over the limit.
enum class ReadEnd { kDone, kTimeUp, kTooMuch };
ReadEnd read_streams(Pipe& out, Pipe& err, Clock::time_point deadline, std::size_t limit,
                     SubprocessResult& result) {
  std::array<pollfd, 2> polled = {pollfd{out.read_end(), POLLIN, 0},
                                  pollfd{err.read_end(), POLLIN, 0}};
  const std::array<std::string*, 2> texts = {&result.out, &result.err};
  while (polled[0].fd >= 0 || polled[1].fd >= 0) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return ReadEnd::kTimeUp;
    if (::poll(polled.data(), 2, static_cast<int>(std::min<std::int64_t>(left + 1, 60'000))) < 0)
      continue;  // EINTR
    for (std::size_t i = 0; i < 2; ++i) {
      if (polled[i].fd < 0 || polled[i].revents == 0) continue;
      if (!read_some(polled[i].fd, *texts[i])) polled[i].fd = -1;
      if (texts[i]->size() > limit) return ReadEnd::kTooMuch;
    }
  }
  return ReadEnd::kDone;
}

// Exit status, or nothing when the child still runs at the deadline.
std::optional<int> wait_until(pid_t child, Clock::time_point deadline) {
  std::chrono::microseconds nap(200);
  for (;;) {
    int status = 0;
    const pid_t ended = ::waitpid(child, &status, WNOHANG);
    if (ended == child) return status;
    if (Clock::now() >= deadline) return std::nullopt;
    std::this_thread::sleep_for(nap);
    nap = std::min(2 * nap, std::chrono::microseconds(20'000));
  }
}

}  // namespace

Result<SubprocessResult> run_subprocess(const std::vector<std::string>& argv,
                                        const SubprocessOptions& options) {
  NB_CHECK(!argv.empty(), "[subprocess] no program named");
  Pipe out;
  Pipe err;
  if (!out.is_open() || !err.is_open())
    return run_error(fmt::format("cannot start {}: {}", argv.front(), std::strerror(errno)));
  const pid_t child =
      spawn(argv, merged_environment(options.environment), out, err, options.output_file.string());
  if (child < 0)
    return run_error(fmt::format("cannot start {}: {}", argv.front(), std::strerror(-child)));
  out.close_end(1);
  err.close_end(1);
  if (options.file_limit_bytes > 0) {
    const rlimit most{options.file_limit_bytes, options.file_limit_bytes};
    if (::prlimit(child, RLIMIT_FSIZE, &most, nullptr) != 0) {
      ::kill(-child, SIGKILL);
      (void)::waitpid(child, nullptr, 0);
      return run_error(
          fmt::format("cannot limit what {} writes: {}", argv.front(), std::strerror(errno)));
    }
  }

  SubprocessResult result;
  const Clock::time_point deadline = Clock::now() + options.time_limit;
  const ReadEnd end = read_streams(out, err, deadline, options.output_limit_bytes, result);
  std::optional<int> status;
  if (end == ReadEnd::kDone) status = wait_until(child, deadline);
  if (!status) {
    ::kill(-child, SIGKILL);
    int killed = 0;
    while (::waitpid(child, &killed, 0) < 0 && errno == EINTR) {
    }
    status = killed;
    result.timed_out = end != ReadEnd::kTooMuch;
  }
  if (end == ReadEnd::kTooMuch)
    return run_error(fmt::format("{} printed more than {} bytes and was stopped", argv.front(),
                                 options.output_limit_bytes));
  result.exit_code = WIFSIGNALED(*status) ? 128 + WTERMSIG(*status) : WEXITSTATUS(*status);
  return result;
}

std::string shell_text(const std::string& text) {
  const bool plain = !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("./_-+=:,@%").find(c) != std::string_view::npos;
  });
  if (plain) return text;
  std::string safe = "'";
  for (const char c : text) safe += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return safe + "'";
}

}  // namespace nb
