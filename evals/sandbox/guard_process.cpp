#include "evals/sandbox/guard_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <map>
#include <utility>

#include "evals/sandbox/guard.hpp"
#include "evals/sandbox/guard_wire.hpp"
#include "evals/sandbox/processes.hpp"
#include "evals/sandbox/scratch.hpp"

namespace nb::sandbox {

namespace {

constexpr int kOwnerMs = 1000;

class GuardProcess {
 public:
  GuardProcess(Descriptor socket, Descriptor owner, Descriptor ends)
      : socket_(std::move(socket)), owner_(std::move(owner)), ends_(std::move(ends)) {}

  // Until npubench has ended.
  void serve() {
    for (;;) {
      std::array polled = {pollfd{ends_.get(), POLLIN, 0}, pollfd{owner_.get(), POLLIN, 0},
                           pollfd{socket_.get(), POLLIN, 0}};
      if (::poll(polled.data(), polled.size(), -1) < 0) continue;
      if (polled[0].revents != 0) reap();
      if (polled[1].revents != 0) return;
      if (polled[2].revents == 0) continue;
      auto message = receive_message(socket_.get());
      if (!message) return;
      obey(*std::move(message));
    }
  }

  // Until the kernel says that there is no child, neither one started here nor one that was
  // orphaned below; and their folders.
  void end_all() {
    for (;;) {
      for (const pid_t child : children_of_this_process()) ::kill(child, SIGKILL);
      pid_t reaped = 0;
      while ((reaped = ::waitpid(-1, nullptr, WNOHANG)) > 0) {
      }
      if (reaped < 0 && errno == ECHILD) break;
      ::poll(nullptr, 0, 2);
    }
    // Folders are locked until npubench has closed them, and as long as a request that was not read
    // any more holds them.
    socket_.close();
    pollfd owner{owner_.get(), POLLIN, 0};
    ::poll(&owner, 1, kOwnerMs);
    remove_dead_scratch();
  }

 private:
  void obey(Message message) {
    const Request request = unpacked(message.text);
    if (request.kill) kill(*request.kill);
    if (request.start) start(*request.start, std::move(message.descriptors));
  }

  void start(const StartRequest& request, std::vector<Descriptor> given) {
    ChildDescriptors descriptors;
    descriptors.fill(-1);
    std::size_t next = 2;
    for (std::size_t i = 0; i < descriptors.size(); ++i)
      if (request.has_descriptor[i] && next < given.size()) descriptors[i] = given[next++].get();
    // The kernel leaves out what this process has no room for.
    if (given.empty()) return;
    const bool is_complete = next == given.size();
    const pid_t pid =
        is_complete ? start_child(request.plan, descriptors, given[1].get()) : -EMFILE;
    tell(given[0], {pid, 0, 0});
    if (pid > 0) children_.emplace(pid, std::move(given[0]));
  }

  // Only what has not been reaped, since its number cannot be another's.
  void kill(const KillRequest& request) {
    if (!children_.contains(request.started)) return;
    if (request.target == request.started || parent_of(request.target) == request.started)
      ::kill(request.target, SIGKILL);
  }

  void reap() {
    signalfd_siginfo ignored;
    while (::read(ends_.get(), &ignored, sizeof(ignored)) > 0) {
    }
    int status = 0;
    rusage used{};
    for (pid_t pid = 0; (pid = ::wait4(-1, &status, WNOHANG, &used)) > 0;) {
      const auto child = children_.find(pid);
      if (child == children_.end()) continue;
      News end{pid, WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status), 0};
      for (const timeval& time : {used.ru_utime, used.ru_stime})
        end.cpu_ms += 1000 * time.tv_sec + time.tv_usec / 1000;
      const Descriptor news = std::move(child->second);
      children_.erase(child);
      end_orphans();
      tell(news, end);
    }
  }

  // What a bwrap left that was killed.
  void end_orphans() {
    for (const pid_t child : children_of_this_process())
      if (!children_.contains(child)) ::kill(child, SIGKILL);
  }

  static void tell(const Descriptor& to, const News& news) {
    // Nobody may be listening any more.
    [[maybe_unused]] const ssize_t told = ::write(to.get(), &news, sizeof(news));
  }

  Descriptor socket_, owner_, ends_;
  std::map<pid_t, Descriptor> children_;  // by number: where their end is told
};

}  // namespace

void be_guard() {
  // Signals wait for ever: nothing but npubench's end ends this process.
  sigset_t all, ends;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  ::sigemptyset(&ends);
  ::sigaddset(&ends, SIGCHLD);
  ::signal(SIGCHLD, SIG_DFL);  // ignored, it would take the exit codes with it
  ::prctl(PR_SET_NAME, "npubench-guard");
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  if (::chdir("/") != 0) ::_exit(1);
  for (const int number : {kGuardSocket, kGuardOwner}) ::fcntl(number, F_SETFD, FD_CLOEXEC);
  ::syscall(SYS_close_range, kGuardOwner + 1, ~0U, 0);
  const bool has_owner = ::fcntl(kGuardOwner, F_GETFD) >= 0;
  GuardProcess guard(Descriptor(kGuardSocket), Descriptor(has_owner ? kGuardOwner : -1),
                     Descriptor(::signalfd(-1, &ends, SFD_NONBLOCK | SFD_CLOEXEC)));
  guard.serve();
  guard.end_all();
  ::_exit(0);
}

}  // namespace nb::sandbox
