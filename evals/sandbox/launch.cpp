#include "evals/sandbox/launch.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "evals/sandbox/scratch.hpp"

namespace nb::sandbox {

namespace {

constexpr int kFree = 64;  // descriptors from here on are out of the way of those of the child
constexpr int kStatus = 8;

constexpr std::array kSteps = std::to_array<const char*>(
    {"arranging descriptors", "setting limits", "giving up root", "entering its folder",
     "renouncing privileges", "applying Landlock", "applying the system call filter", "starting"});
enum Step {
  kDescriptors,
  kLimits,
  kUser,
  kWorkingFolder,
  kPrivileges,
  kLandlockRules,
  kFilter,
  kExec
};

// Everything that the child needs, made before the fork.
struct Prepared {
  std::vector<char*> argv, environment;
  sock_fprog filter{};
};

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> list;
  for (const std::string& text : texts) list.push_back(const_cast<char*>(text.c_str()));
  list.push_back(nullptr);
  return list;
}

bool arrange(const ChildDescriptors& wanted, int status) {
  std::array<int, std::tuple_size_v<ChildDescriptors> + 1> away;
  for (std::size_t i = 0; i < away.size(); ++i) {
    const int from = i < wanted.size() ? wanted[i] : status;
    away[i] = from < 0 ? -1 : ::fcntl(from, F_DUPFD, kFree);
    if (from >= 0 && away[i] < 0) return false;
  }
  for (std::size_t i = 0; i < away.size(); ++i) {
    if (away[i] < 0) ::close(static_cast<int>(i));
    if (away[i] >= 0 && ::dup2(away[i], static_cast<int>(i)) < 0) return false;
  }
  if (::syscall(SYS_close_range, kStatus + 1, ~0U, 0) != 0)
    for (int other = kStatus + 1; other < 65536; ++other) ::close(other);  // before kernel 5.9
  return ::fcntl(kStatus, F_SETFD, FD_CLOEXEC) == 0;
}

bool set_limits(const std::vector<ResourceLimit>& limits) {
  for (const ResourceLimit& limit : limits) {
    rlimit now{};
    if (::getrlimit(static_cast<__rlimit_resource>(limit.resource), &now) != 0) return false;
    const rlimit wanted{std::min<rlim_t>(limit.soft, now.rlim_max),
                        std::min<rlim_t>(limit.hard, now.rlim_max)};
    if (::setrlimit(static_cast<__rlimit_resource>(limit.resource), &wanted) != 0) return false;
  }
  return true;
}

// Without capabilities whoever starts us: root that cannot become nobody has some.
bool drop_capabilities() {
  for (unsigned long one = 0; ::prctl(PR_CAPBSET_READ, one, 0, 0, 0) >= 0; ++one)
    ::prctl(PR_CAPBSET_DROP, one, 0, 0, 0);  // refused where we have none to drop
  ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  const std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> none{};
  return ::syscall(SYS_capset, &header, none.data()) == 0;
}

// Plain system calls, as everywhere between fork and exec.
bool become_nobody() {
  return ::syscall(SYS_setgroups, 0, nullptr) == 0 &&
         ::syscall(SYS_setresgid, kNobody, kNobody, kNobody) == 0 &&
         ::syscall(SYS_setresuid, kNobody, kNobody, kNobody) == 0;
}

// Signals to threads of other processes: the big filter cannot know the process's own number.
bool refuse_foreign_signals() {
  const auto self = static_cast<std::uint32_t>(::getpid());
  std::array program = std::to_array<sock_filter>({
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_tgkill, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, self, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  });
  const sock_fprog filter{program.size(), program.data()};
  return ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

[[noreturn]] void fail(Step step) {
  const LaunchFailure failure{step, errno};
  // If even this fails, the parent sees a child that ended without a word.
  [[maybe_unused]] const ssize_t told = ::write(kStatus, &failure, sizeof(failure));
  ::_exit(127);
}

[[noreturn]] void child(const LaunchPlan& plan, const Prepared& prepared,
                        const ChildDescriptors& descriptors, int status, pid_t parent) {
  ::setsid();
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  // The same addresses in every run, so that whatever is sorted by them ends equally. Where this is
  // not allowed, nothing else depends on it.
  ::personality(ADDR_NO_RANDOMIZE);
  if (!arrange(descriptors, status)) fail(kDescriptors);
  if (plan.becomes_nobody && !become_nobody()) fail(kUser);
  // The guard ends us; this is for a guard that was killed itself. A change of user would clear it,
  // and the filter keeps the program from doing so.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);  // it died before that
  if (!set_limits(plan.limits)) fail(kLimits);
  if (plan.has_folder ? ::fchdir(kFolder) != 0 : ::chdir("/") != 0) fail(kWorkingFolder);
  if (plan.has_folder) ::close(kFolder);
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) fail(kPrivileges);
  if (plan.has_rules) {
    if (!drop_capabilities()) fail(kPrivileges);
    if (::syscall(SYS_landlock_restrict_self, kRules, 0) != 0) fail(kLandlockRules);
    ::close(kRules);
  }
  if (prepared.filter.len > 0 &&
      (!refuse_foreign_signals() ||
       ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prepared.filter) != 0))
    fail(kFilter);
  ::execve(prepared.argv.front(), prepared.argv.data(), prepared.environment.data());
  fail(kExec);
}

}  // namespace

Result<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0)
    return run_error(fmt::format("sandbox: cannot create a pipe: {}", std::strerror(errno)));
  return Pipe{Descriptor(ends[0]), Descriptor(ends[1])};
}

pid_t start_child(const LaunchPlan& plan, const ChildDescriptors& descriptors, int status) {
  Prepared prepared{pointers(plan.argv), pointers(plan.environment), {}};
  prepared.filter.len = static_cast<unsigned short>(plan.filter.size() / sizeof(sock_filter));
  prepared.filter.filter = reinterpret_cast<sock_filter*>(const_cast<char*>(plan.filter.data()));
  const pid_t self = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0) child(plan, prepared, descriptors, status, self);
  return pid < 0 ? -errno : pid;
}

std::string text_of(const LaunchFailure& failure, const std::string& program) {
  return fmt::format("sandbox: {} failed at {}: {}", program,
                     kSteps[static_cast<std::size_t>(failure.step)], std::strerror(failure.error));
}

}  // namespace nb::sandbox
