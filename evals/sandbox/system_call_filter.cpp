#include "evals/sandbox/system_call_filter.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <linux/sockios.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string_view>

namespace nb::sandbox {

namespace {

// By name, because not every architecture and not every libseccomp knows all of them.
constexpr std::array kRefused = std::to_array<const char*>({
    // other processes
    "fork",
    "vfork",
    "kill",
    "tkill",
    "rt_sigqueueinfo",
    "rt_tgsigqueueinfo",
    "pidfd_open",
    "pidfd_getfd",
    "pidfd_send_signal",
    "ptrace",
    "process_vm_readv",
    "process_vm_writev",
    "process_madvise",
    "process_mrelease",
    "kcmp",
    "migrate_pages",
    "move_pages",
    "setpriority",
    "ioprio_set",
    "sched_setscheduler",
    "sched_setattr",
    "sched_setparam",
    // networks
    "socket",
    "socketcall",
    "connect",
    "bind",
    "listen",
    "accept",
    "accept4",
    // memory and files that no limit counts
    "memfd_create",
    "memfd_secret",
    "shmget",
    "shmat",
    "shmctl",
    "semget",
    "semop",
    "semtimedop",
    "semctl",
    "msgget",
    "msgsnd",
    "msgrcv",
    "msgctl",
    "mq_open",
    "mq_unlink",
    "io_uring_setup",
    "io_uring_enter",
    "io_uring_register",
    "io_setup",
    "io_submit",
    "userfaultfd",
    "remap_file_pages",
    // rights and owners of files, which Landlock does not guard
    "chmod",
    "fchmod",
    "fchmodat",
    "fchmodat2",
    "chown",
    "fchown",
    "lchown",
    "fchownat",
    "chown32",
    "fchown32",
    "lchown32",
    "setxattr",
    "lsetxattr",
    "fsetxattr",
    "setxattrat",
    "removexattr",
    "lremovexattr",
    "fremovexattr",
    "removexattrat",
    "truncate",
    "truncate64",
    "utime",
    "utimes",
    "utimensat",
    "futimesat",
    "file_setattr",
    "mknod",
    "mknodat",
    // namespaces and mounts
    "unshare",
    "setns",
    "mount",
    "umount",
    "umount2",
    "pivot_root",
    "chroot",
    "move_mount",
    "open_tree",
    "fsopen",
    "fsconfig",
    "fsmount",
    "fspick",
    "mount_setattr",
    "open_tree_attr",
    "statmount",
    "listmount",
    "name_to_handle_at",
    "open_by_handle_at",
    "quotactl",
    "quotactl_fd",
    "swapon",
    "swapoff",
    // the kernel
    "bpf",
    "perf_event_open",
    "keyctl",
    "add_key",
    "request_key",
    "kexec_load",
    "kexec_file_load",
    "init_module",
    "finit_module",
    "delete_module",
    "create_module",
    "reboot",
    "syslog",
    "acct",
    "lookup_dcookie",
    "fanotify_init",
    "fanotify_mark",
    "settimeofday",
    "clock_settime",
    "clock_settime64",
    "clock_adjtime",
    "adjtimex",
    "stime",
    "sethostname",
    "setdomainname",
    "iopl",
    "ioperm",
    "modify_ldt",
    "vm86",
    "vm86old",
    "vhangup",
    "nfsservctl",
    "personality",
    "seccomp",
    "uselib",
    "ustat",
    "sysfs",
    "_sysctl",
});

class Filter {
 public:
  Filter() : context_(seccomp_init(SCMP_ACT_ALLOW), seccomp_release) {}

  bool is_there() const { return context_ != nullptr; }
  // Refuses the call, or where comparisons are given, the calls for which all of them hold. A call
  // that this architecture does not have needs no rule.
  template <class... Comparisons>
  void refuse(const char* call, int error, Comparisons... comparisons) {
    const int number = seccomp_syscall_resolve_name(call);
    if (number < 0) return;
    const std::array<scmp_arg_cmp, sizeof...(comparisons)> list = {comparisons...};
    const int failed = seccomp_rule_add_array(
        context_.get(), SCMP_ACT_ERRNO(static_cast<std::uint32_t>(error)), number,
        static_cast<unsigned>(list.size()), list.empty() ? nullptr : list.data());
    if (failed != 0 && failed_ == 0) failed_ = -failed;
  }
  int failed() const { return failed_; }
  scmp_filter_ctx get() const { return context_.get(); }

 private:
  std::unique_ptr<void, void (*)(scmp_filter_ctx)> context_;
  int failed_ = 0;
};

scmp_arg_cmp is_not(unsigned argument, std::uint64_t value) {
  return {argument, SCMP_CMP_NE, value, 0};
}
scmp_arg_cmp has_not(unsigned argument, std::uint64_t bit) {
  return {argument, SCMP_CMP_MASKED_EQ, bit, 0};
}
scmp_arg_cmp has(unsigned argument, std::uint64_t bit) {
  return {argument, SCMP_CMP_MASKED_EQ, bit, bit};
}

// The kernel looks at 32 bits of a command only, so a filter that compared all 64 would miss some.
scmp_arg_cmp is_command(unsigned argument, std::uint32_t value) {
  return {argument, SCMP_CMP_MASKED_EQ, 0xFFFFFFFF, value};
}

void add_rules(Filter& filter) {
  for (const char* call : kRefused) filter.refuse(call, EPERM);
  // A new thread is allowed, a new process or namespace is not. clone3 keeps its flags in memory,
  // where a filter cannot see them.
  filter.refuse("clone", EPERM, has_not(0, CLONE_THREAD));
  for (const unsigned space : {CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNS, CLONE_NEWNET, CLONE_NEWIPC,
                               CLONE_NEWUTS, CLONE_NEWCGROUP})
    filter.refuse("clone", EPERM, has(0, space));
  filter.refuse("clone3", ENOSYS);
  // Of another process by its number.
  for (const char* call : {"prlimit64", "sched_setaffinity"})
    filter.refuse(call, EPERM, is_not(0, 0));
  filter.refuse("socketpair", EPERM, is_not(0, AF_UNIX));
  // Typing into a terminal that is somebody else's.
  filter.refuse("ioctl", EPERM, is_command(1, TIOCSTI));
  filter.refuse("ioctl", EPERM, is_command(1, 0x541C /* TIOCLINUX */));
  // Letting the kernel signal another process when a descriptor has news: any signal, F_SETSIG says
  // which (fcntl(2)). Landlock scopes signals only from kernel 6.12 on.
  for (const char* call : {"fcntl", "fcntl64"})
    for (const int command : {F_SETOWN, F_SETOWN_EX, F_SETSIG})
      filter.refuse(call, EPERM, is_command(1, static_cast<std::uint32_t>(command)));
  for (const unsigned command : {FIOSETOWN, SIOCSPGRP})
    filter.refuse("ioctl", EPERM, is_command(1, command));
}

Result<std::string> exported(const Filter& filter) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0)
    return run_error(fmt::format("system call filter: {}", std::strerror(errno)));
  // A pipe holds 64 KiB, a filter at most 4096 instructions of 8 bytes.
  const int failed = seccomp_export_bpf(filter.get(), ends[1]);
  ::close(ends[1]);
  std::string program;
  std::array<char, 4096> buffer;
  for (ssize_t got = 0; (got = ::read(ends[0], buffer.data(), buffer.size())) > 0;)
    program.append(buffer.data(), static_cast<std::size_t>(got));
  ::close(ends[0]);
  if (failed != 0) return run_error(fmt::format("system call filter: {}", std::strerror(-failed)));
  return program;
}

}  // namespace

Result<std::string> system_call_filter() {
  Filter filter;
  if (!filter.is_there()) return run_error("system call filter: libseccomp does not start");
  add_rules(filter);
  if (filter.failed() != 0)
    return run_error(fmt::format("system call filter: {}", std::strerror(filter.failed())));
  return exported(filter);
}

}  // namespace nb::sandbox
