#include "evals/sandbox/system_call_filter.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

namespace nb::sandbox {

namespace {

#if defined(__x86_64__)
constexpr std::uint32_t kNativeArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t kNativeArchitecture = AUDIT_ARCH_AARCH64;
#else
#error "name this architecture's AUDIT_ARCH_…"
#endif
constexpr unsigned kSocketTypes = 15;  // the bits of a socket's type that are no flags

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
    // what comes in past the addresses that a rule can see: datagrams to any socket, descriptors
    "sendmsg",
    "sendmmsg",
    "setsockopt",
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
    "removexattr",
    "lremovexattr",
    "fremovexattr",
    "truncate",
    "truncate64",
    "utime",
    "utimes",
    "utimensat",
    "futimesat",
    "mknod",
    "mknodat",
    // looking on at other files, and locking them; what they hold back on the disk
    "inotify_init",
    "inotify_init1",
    "inotify_add_watch",
    "flock",
    "sync",
    "syncfs",
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

// Calls that are newer than many a libseccomp, by the number that they have on every architecture
// (include/uapi/asm-generic/unistd.h), and whatever is newer than this list.
constexpr std::array kRefusedNumbers = std::to_array<int>({
    452,  // fchmodat2
    457,  // statmount
    458,  // listmount
    460,  // lsm_set_self_attr
    463,  // setxattrat
    464,  // getxattrat
    465,  // listxattrat
    466,  // removexattrat
    467,  // open_tree_attr
    468,  // file_getattr
    469,  // file_setattr
    470,  // listns
});
constexpr std::uint32_t kFirstUnknown = 471;
constexpr std::uint32_t kOtherTable = 0x40000000;  // x32's calls; libseccomp sees to them

// Attributes of the host's files. shutil asks for them and goes on where there are none.
constexpr std::array kUnsupported = std::to_array<const char*>({
    "getxattr",
    "lgetxattr",
    "fgetxattr",
    "listxattr",
    "llistxattr",
    "flistxattr",
    // Takes space that the size of a file does not show; C libraries then write instead.
    "fallocate",
});

// What Python and C libraries need of two calls that can do much else, some of it against the
// sandbox: PR_SET_PDEATHSIG, FS_IOC_…
constexpr std::array kProcessOptions = std::to_array<std::uint32_t>(
    {PR_SET_NAME, PR_GET_NAME, 0x53564d41 /* PR_SET_VMA: names of memory */});
constexpr std::array kControls = std::to_array<std::uint32_t>(
    {TCGETS, 0x802c542a /* TCGETS2 */, TIOCGWINSZ, FIONREAD, FIONBIO, FIOCLEX, FIONCLEX});

class Filter {
 public:
  Filter() : context_(seccomp_init(SCMP_ACT_ALLOW), seccomp_release) {}

  bool is_there() const { return context_ != nullptr; }
  // Refuses the call, or where comparisons are given, the calls for which all of them hold. A call
  // that this architecture does not have needs no rule.
  template <class... Comparisons>
  void refuse(const char* call, int error, Comparisons... comparisons) {
    const int number = seccomp_syscall_resolve_name(call);
    if (number >= 0) refuse_number(number, error, comparisons...);
  }
  template <class... Comparisons>
  void refuse_number(int number, int error, Comparisons... comparisons) {
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
  for (const int number : kRefusedNumbers) filter.refuse_number(number, EPERM);
  for (const char* call : kUnsupported) filter.refuse(call, EOPNOTSUPP);
  // A new thread is allowed, a new process or namespace is not. clone3 keeps its flags in memory,
  // where a filter cannot see them.
  filter.refuse("clone", EPERM, has_not(0, CLONE_THREAD));
  for (const int space : {CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNS, CLONE_NEWNET, CLONE_NEWIPC,
                          CLONE_NEWUTS, CLONE_NEWCGROUP})
    filter.refuse("clone", EPERM, has(0, static_cast<unsigned>(space)));
  filter.refuse("clone3", ENOSYS);
  // Of another process by its number.
  for (const char* call : {"prlimit64", "sched_setaffinity"})
    filter.refuse(call, EPERM, is_not(0, 0));
  // The limit of core files (levels.hpp).
  filter.refuse("setrlimit", EPERM, is_command(0, RLIMIT_CORE));
  filter.refuse("prlimit64", EPERM, is_command(1, RLIMIT_CORE), is_not(2, 0));
  // Pairs that know no addresses: one of datagrams can be written to any socket that has a name,
  // such as the host's log. Datagrams have no other way out, and none through sendto.
  filter.refuse("socketpair", EPERM, is_not(0, AF_UNIX));
  for (unsigned type = 0; type <= kSocketTypes; ++type)
    if (type != SOCK_STREAM)
      filter.refuse("socketpair", EPERM, scmp_arg_cmp{1, SCMP_CMP_MASKED_EQ, kSocketTypes, type});
  filter.refuse("sendto", EPERM, is_not(4, 0));
  // Letting the kernel signal another process when a descriptor has news: any signal, F_SETSIG says
  // which (fcntl(2)). Landlock scopes signals only from kernel 6.12 on. Then what holds up others
  // that open a file, tells of them, or takes memory of the kernel.
  for (const char* call : {"fcntl", "fcntl64"})
    for (const int command : {F_SETOWN, F_SETOWN_EX, F_SETSIG, F_SETLEASE, F_NOTIFY, F_SETPIPE_SZ})
      filter.refuse(call, EPERM, is_command(1, static_cast<std::uint32_t>(command)));
}

// libseccomp cannot allow some values of an argument and refuse all others, so that this is put in
// front of its program, which it falls through to. Jumps are relative.
class Prologue {
 public:
  Prologue() {
    load(offsetof(seccomp_data, arch));
    jump(BPF_JEQ, kNativeArchitecture, 0, kToEnd);
    load(offsetof(seccomp_data, nr));
    jump(BPF_JGE, kOtherTable, kToEnd, 0);
    jump(BPF_JGE, kFirstUnknown, 0, 1);
    answer(SECCOMP_RET_ERRNO | ENOSYS);
    allow_only(SYS_prctl, 0, kProcessOptions);
    allow_only(SYS_ioctl, 1, kControls);
    for (std::size_t i = 0; i < program_.size(); ++i)
      for (std::uint8_t* distance : {&program_[i].jt, &program_[i].jf})
        if (*distance == kToEnd) *distance = static_cast<std::uint8_t>(program_.size() - i - 1);
  }
  std::string bytes() const {
    return {reinterpret_cast<const char*>(program_.data()), program_.size() * sizeof(sock_filter)};
  }

 private:
  static constexpr std::uint8_t kToEnd = 255;

  void load(std::size_t offset) {
    program_.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset)));
  }
  void jump(int how, std::uint32_t value, std::uint8_t if_so, std::uint8_t if_not) {
    program_.push_back({static_cast<std::uint16_t>(BPF_JMP | how | BPF_K), if_so, if_not, value});
  }
  void answer(std::uint32_t value) { program_.push_back(BPF_STMT(BPF_RET | BPF_K, value)); }
  // The kernel looks at 32 bits of these arguments only.
  void allow_only(long call, std::size_t argument, std::span<const std::uint32_t> values) {
    const auto count = static_cast<std::uint8_t>(values.size());
    jump(BPF_JEQ, static_cast<std::uint32_t>(call), 0, static_cast<std::uint8_t>(count + 3));
    load(offsetof(seccomp_data, args) + argument * sizeof(std::uint64_t));
    for (std::uint8_t i = 0; i < count; ++i)
      jump(BPF_JEQ, values[i], static_cast<std::uint8_t>(count - i), 0);
    answer(SECCOMP_RET_ERRNO | EPERM);
    answer(SECCOMP_RET_ALLOW);
  }

  std::vector<sock_filter> program_;
};

Result<std::string> exported(const Filter& filter) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0)
    return run_error(fmt::format("system call filter: {}", std::strerror(errno)));
  // A pipe holds 64 KiB, a filter at most 4096 instructions of 8 bytes.
  const int failed = seccomp_export_bpf(filter.get(), ends[1]);
  ::close(ends[1]);
  std::string program = Prologue().bytes();
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
