#include "evals/sandbox/supervise.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <optional>

#include "evals/sandbox/idle_clock.hpp"
#include "evals/sandbox/scratch.hpp"
#include "evals/sandbox/verdict.hpp"
#include "harness/base/check.hpp"

namespace nb::sandbox {

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kSampleEvery(50);
constexpr std::size_t kEndlessOutput = std::size_t{16} << 20;

// Bytes that a child reads from its descriptor as from a file.
Result<Descriptor> memory_file(std::string_view bytes) {
  Descriptor file(::memfd_create("npubench", MFD_CLOEXEC));
  if (!file.is_open())
    return run_error(fmt::format("sandbox: no memory for a program: {}", std::strerror(errno)));
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t put = ::write(file.get(), bytes.data() + done, bytes.size() - done);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0)
      return run_error(fmt::format("sandbox: no memory for a program: {}", std::strerror(errno)));
    done += static_cast<std::size_t>(put);
  }
  ::lseek(file.get(), 0, SEEK_SET);
  return file;
}

// 128 random bits from the system, as hex digits: secrets, so not a generator of ours.
std::string secret() {
  std::array<unsigned char, 16> bytes{};
  const bool is_full = ::getrandom(bytes.data(), bytes.size(), 0) == std::ssize(bytes);
  NB_CHECK(is_full, "[sandbox] no random bytes");
  std::string text;
  for (const unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

// The child's ends and ours of everything that they share.
struct Channels {
  Descriptor program, filter;             // read by the child
  Pipe output, report, status;            // written by the child
  Descriptor permit_ours, permit_theirs;  // a socket: a pipe whose reader died would signal us
};

Result<Channels> open_channels(std::string_view program, const Method& method) {
  Channels channels;
  NB_TRY(channels.program, memory_file(program));
  NB_TRY(channels.output, make_pipe());
  NB_TRY(channels.report, make_pipe());
  if (method.level == Level::kBubblewrap) {
    NB_TRY(channels.filter, memory_file(method.filter));
    NB_TRY(channels.status, make_pipe());
  }
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return run_error(fmt::format("sandbox: no channel: {}", std::strerror(errno)));
  channels.permit_ours = Descriptor(ends[0]);
  channels.permit_theirs = Descriptor(ends[1]);
  for (const Pipe* pipe : {&channels.output, &channels.report, &channels.status})
    if (pipe->out.is_open()) ::fcntl(pipe->out.get(), F_SETFL, O_NONBLOCK);
  return channels;
}

ChildDescriptors of_child(const Channels& channels) {
  ChildDescriptors list;
  list[kProgram] = channels.program.get();
  list[kOut] = list[kErr] = channels.output.in.get();
  list[kReport] = channels.report.in.get();
  list[kPermit] = channels.permit_theirs.get();
  list[kFilterText] = channels.filter.get();
  list[kStatusText] = channels.status.in.get();
  return list;
}

// Everything that is there now; false at the end of the stream.
bool read_all(Descriptor& from, std::string& text) {
  std::array<char, 65536> buffer;
  for (;;) {
    const ssize_t got = ::read(from.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno == EAGAIN;
    if (got == 0) return false;
    text.append(buffer.data(), static_cast<std::size_t>(got));
    if (text.size() > kEndlessOutput) return true;  // a writer faster than we are must not hold us
  }
}

// {"child-pid": 123, …} of bwrap's status.
std::optional<pid_t> child_pid(std::string_view status) {
  constexpr std::string_view kKey = "\"child-pid\": ";
  const std::size_t at = status.find(kKey);
  if (at == status.npos || status.find_first_of(",}", at) == status.npos) return std::nullopt;
  pid_t pid = 0;
  std::from_chars(status.data() + at + kKey.size(), status.data() + status.size(), pid);
  return pid > 0 ? std::optional(pid) : std::nullopt;
}

class Run {
 public:
  Run(pid_t pid, Channels channels, const Limits& limits, const Scratch* scratch)
      : channels_(std::move(channels)),
        limits_(limits),
        scratch_(scratch),
        pid_(pid),
        inner_(pid),
        start_(Clock::now()),
        idle_(start_) {
    // Where the kernel does not have it, the sampling below notices the end, a little later.
    notice_ = Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    channels_.program.close();
    channels_.filter.close();
    channels_.permit_theirs.close();
    for (Pipe* pipe : {&channels_.output, &channels_.report, &channels_.status}) pipe->in.close();
  }

  Result<ProgramOutcome> finish(std::string ask) {
    observed_.ask = std::move(ask);
    for (;;) {
      wait_for_news();
      if (has_ended()) break;
      read_channels();
      answer();
      watch();
    }
    read_channels();
    if (observed_.report.starts_with(kReady)) return verdict(observed_, limits_);
    return run_error(fmt::format("sandbox: the interpreter did not start (exit code {}): {}",
                                 observed_.exit_code, first_output_));
  }

 private:
  void wait_for_news() {
    std::array<pollfd, 4> polled{};
    std::size_t count = 0;
    for (const Descriptor* descriptor :
         {&channels_.output.out, &channels_.report.out, &channels_.status.out, &notice_})
      if (descriptor->is_open()) polled[count++] = {descriptor->get(), POLLIN, 0};
    ::poll(polled.data(), count, static_cast<int>(kSampleEvery.count()));
  }

  bool has_ended() {
    int status = 0;
    rusage used{};
    if (::wait4(pid_, &status, WNOHANG, &used) != pid_) return false;
    observed_.exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    for (const timeval& time : {used.ru_utime, used.ru_stime})
      observed_.cpu_ms += 1000 * time.tv_sec + time.tv_usec / 1000;
    return true;
  }

  void read_channels() {
    if (channels_.output.out.is_open()) {
      std::string dropped;
      if (!read_all(channels_.output.out, dropped)) channels_.output.out.close();
      output_bytes_ += dropped.size();
      if (first_output_.size() < 300) first_output_ += dropped.substr(0, 300);
    }
    if (channels_.report.out.is_open() && !read_all(channels_.report.out, observed_.report))
      channels_.report.out.close();
    if (channels_.status.out.is_open() && !read_all(channels_.status.out, status_))
      channels_.status.out.close();
    if (inner_ == pid_) inner_ = child_pid(status_).value_or(pid_);
  }

  void answer() {
    if (!asks_for_permit(observed_)) return;
    observed_.permit = secret();
    ::send(channels_.permit_ours.get(), observed_.permit.data(), observed_.permit.size(),
           MSG_NOSIGNAL);
  }

  void watch() {
    const auto now = Clock::now();
    if (output_bytes_ > kEndlessOutput) stop(Stop::kOutput);
    if (observed_.report.size() > limits_.output_bytes + 4096 || is_noise(observed_))
      stop(Stop::kNoise);
    if (now - sampled_ < kSampleEvery) return;
    sampled_ = now;
    if (idle_.sample(inner_, now) > std::chrono::seconds(limits_.idle_seconds)) stop(Stop::kIdle);
    if (now - start_ > std::chrono::seconds(limits_.wall_seconds)) stop(Stop::kWall);
    if (scratch_ != nullptr && scratch_->is_over(limits_.scratch_bytes)) stop(Stop::kScratch);
  }

  // The program itself first, so that bwrap can end as usual; if that takes long, bwrap too, with
  // which everything in its namespaces dies.
  void stop(Stop why) {
    if (observed_.stop == Stop::kNone) {
      observed_.stop = why;
      stopped_ = Clock::now();
      ::kill(inner_, SIGKILL);
    } else if (Clock::now() - stopped_ > std::chrono::seconds(2)) {
      ::kill(pid_, SIGKILL);
    }
  }

  Channels channels_;
  const Limits& limits_;
  const Scratch* scratch_;
  pid_t pid_, inner_;
  Descriptor notice_;
  Clock::time_point start_, sampled_, stopped_;
  IdleClock idle_;
  Observed observed_;
  std::string status_, first_output_;
  std::size_t output_bytes_ = 0;
};

std::string with_header(std::string_view program, const std::string& ask, Level level,
                        const Limits& limits) {
  // The number of threads can be limited only where users are counted apart.
  const std::uint64_t threads = level == Level::kBubblewrap ? limits.threads : 0;
  return fmt::format("{} {} {} {} {}\n{}", ask, threads, limits.open_files, limits.memory_bytes,
                     limits.output_bytes, program);
}

}  // namespace

Result<ProgramOutcome> supervise(const Method& method, std::string_view program,
                                 const Limits& limits) {
  const std::string ask = secret();
  NB_TRY(Channels channels, open_channels(with_header(program, ask, method.level, limits), method));
  if (method.level == Level::kBubblewrap) {
    NB_TRY(const pid_t pid, launch(bubblewrap_plan(method, limits), of_child(channels)));
    return Run(pid, std::move(channels), limits, nullptr).finish(ask);
  }
  NB_TRY(Scratch scratch, Scratch::create(method.becomes_nobody));
  NB_TRY(const Descriptor rules, landlock_rules(landlock_paths(scratch.path())));
  NB_TRY(const pid_t pid,
         launch(landlock_plan(method, limits, scratch.path(), rules), of_child(channels)));
  Result<ProgramOutcome> outcome = Run(pid, std::move(channels), limits, &scratch).finish(ask);
  NB_TRY_VOID(scratch.remove());
  return outcome;
}

}  // namespace nb::sandbox
