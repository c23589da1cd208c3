#include "evals/sandbox/guard.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <mutex>
#include <utility>

#include "evals/sandbox/guard_process.hpp"
#include "evals/sandbox/guard_wire.hpp"
#include "harness/base/own_files.hpp"

extern char** environ;

namespace nb::sandbox {

namespace {

constexpr int kOutOfTheWay = 16;  // of the descriptor numbers that the guard gets

Error cannot_start(int error) {
  return Error{ErrorCode::kRun, fmt::format("sandbox: cannot start the process that guards "
                                            "programs (/proc/self/exe): {}",
                                            std::strerror(error))};
}

// Before main, since this library is part of programs whose main functions know nothing of guards,
// and a guard must never run one of those. glibc gives such functions main's arguments.
[[gnu::constructor]] void be_guard_if_asked(int argc, char** argv) {
  if (argc == 1 && argv[0] == kGuardName) be_guard();
}

// Starts this program once more, as a guard. Our end of its socket.
Result<Descriptor> start_guard() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return tl::unexpected(cannot_start(errno));
  Descriptor ours(ends[0]);
  const Descriptor theirs(ends[1]);
  const Descriptor there(::fcntl(theirs.get(), F_DUPFD_CLOEXEC, kOutOfTheWay));
  // Kernels before 5.3 have none; then the end of the socket alone tells of our end.
  const Descriptor self(static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0)));
  const Descriptor us(self.is_open() ? ::fcntl(self.get(), F_DUPFD_CLOEXEC, kOutOfTheWay) : -1);
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    posix_spawn_file_actions_addopen(&actions, stream, "/dev/null", O_RDWR, 0);
  posix_spawn_file_actions_adddup2(&actions, there.get(), kGuardSocket);
  if (us.is_open())
    posix_spawn_file_actions_adddup2(&actions, us.get(), kGuardOwner);
  else
    posix_spawn_file_actions_addclose(&actions, kGuardOwner);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
  std::string name(kGuardName);
  const std::string program = program_to_start().string();
  std::array<char*, 2> argv = {name.data(), nullptr};
  pid_t pid = 0;
  const int failed =
      ::posix_spawn(&pid, program.c_str(), &actions, &attributes, argv.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return tl::unexpected(cannot_start(failed));
  return ours;
}

// The guard of this process. A process that was forked from one with a guard needs its own: the
// other one would not notice its end.
struct Guard {
  std::mutex mutex;
  std::shared_ptr<const Descriptor> socket;
  pid_t owner = 0;
};

Guard& guard() {
  static Guard one;
  return one;
}

Result<std::shared_ptr<const Descriptor>> guard_socket() {
  const std::lock_guard lock(guard().mutex);
  if (guard().socket == nullptr || guard().owner != ::getpid()) {
    NB_TRY(Descriptor socket, start_guard());
    guard().socket = std::make_shared<const Descriptor>(std::move(socket));
    guard().owner = ::getpid();
  }
  return guard().socket;
}

// It is gone; the next launch starts another one.
void forget(const std::shared_ptr<const Descriptor>& socket) {
  const std::lock_guard lock(guard().mutex);
  if (guard().socket == socket) guard().socket = nullptr;
}

Result<void> send_start(const std::string& message, const std::vector<int>& descriptors) {
  NB_TRY(std::shared_ptr<const Descriptor> socket, guard_socket());
  int failed = send_message(socket->get(), message, descriptors);
  if (failed == EPIPE || failed == ECONNRESET) {  // killed since the last launch
    forget(socket);
    NB_TRY(socket, guard_socket());
    failed = send_message(socket->get(), message, descriptors);
  }
  if (failed == 0) return {};
  return run_error(fmt::format("sandbox: cannot ask the process that guards programs: {}",
                               std::strerror(failed)));
}

// A whole Value; false where the stream ends before one.
template <class Value>
bool read_value(const Descriptor& from, Value& value) {
  for (;;) {
    const ssize_t got = ::read(from.get(), &value, sizeof(value));
    if (got < 0 && errno == EINTR) continue;
    return got == static_cast<ssize_t>(sizeof(value));  // pipes keep so few bytes together
  }
}

}  // namespace

Result<void> need_guard() {
  NB_TRY([[maybe_unused]] const auto socket, guard_socket());
  return {};
}

Result<Launched> launch(const LaunchPlan& plan, const ChildDescriptors& descriptors) {
  NB_TRY(Pipe news, make_pipe());
  NB_TRY(Pipe status, make_pipe());
  StartRequest request{plan, {}};
  std::vector<int> sent = {news.in.get(), status.in.get()};
  for (std::size_t i = 0; i < descriptors.size(); ++i) {
    request.has_descriptor[i] = descriptors[i] >= 0;
    if (descriptors[i] >= 0) sent.push_back(descriptors[i]);
  }
  NB_TRY_VOID(send_start(packed(request), sent));
  news.in.close();
  status.in.close();
  News started;
  if (!read_value(news.out, started))
    return run_error("sandbox: the process that guards programs was killed");
  if (started.pid < 0)
    return run_error(
        fmt::format("sandbox: cannot start a process: {}", std::strerror(-started.pid)));
  if (LaunchFailure failure; read_value(status.out, failure)) {
    read_value(news.out, started);  // its end
    return run_error(text_of(failure, plan.argv.front()));
  }
  return Launched{started.pid, std::move(news.out)};
}

void kill_launched(pid_t launched, pid_t target) {
  std::shared_ptr<const Descriptor> socket;
  {
    const std::lock_guard lock(guard().mutex);
    socket = guard().socket;
  }
  // Where it is gone, so is what it launched.
  if (socket != nullptr) send_message(socket->get(), packed(KillRequest{launched, target}), {});
}

}  // namespace nb::sandbox
