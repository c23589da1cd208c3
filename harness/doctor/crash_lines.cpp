#include "harness/doctor/crash_lines.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "harness/doctor/pattern.hpp"

namespace nb::doctor {
namespace {

// The first group that took part names it, behind `start`; without one it is `start` alone.
struct Row {
  const char* pattern;
  std::string_view start;
  std::string_view what, what_zh;
  bool is_loggers = false;
};

// Texts are those of the programs' own sources: libstdc++ vterminate.cc, libc++ abort_message,
// glibc malloc.c, assert.c and fortify_fail, CPython pylifecycle.c, abseil and glog, PyTorch
// Exception.h, Open MPI, torch.multiprocessing.spawn, Linux kernel/ and mm/, plog of CANN.
constexpr std::string_view kUncaught = "a C++ exception that nobody caught",
                           kUncaughtZh = "未被捕获的 C++ 异常";
constexpr std::string_view kDamaged = "memory of the process is damaged, says the C library",
                           kDamagedZh = "C 库报告：进程内存已损坏";
constexpr std::string_view kClaim = "a program's own check failed and ended it",
                           kClaimZh = "程序自身的检查失败并终止了进程";
constexpr std::string_view kSignal = "the process was ended by a signal",
                           kSignalZh = "进程被信号终止";
constexpr std::string_view kKernel = "the kernel reported it", kKernelZh = "内核报告";

#define NB_KERNEL \
  R"(^(?:<\d+>)?(?:\[ *\d+\.\d{6}\]|\[\w{3} \w{3} [ \d]\d [\d:]{8} \d{4}\]|.*\bkernel:).*?)"

constexpr std::array kRows = {
    Row{R"(terminate called after throwing an instance of '([^']{1,120})')", "", kUncaught,
        kUncaughtZh},
    Row{R"(terminating (?:due to|with) uncaught exception of type ([^\s:]{1,120}))", "", kUncaught,
        kUncaughtZh},
    Row{R"(terminate called (?:without an active exception|recursively))", "std::terminate",
        kUncaught, kUncaughtZh},
    Row{R"(pure virtual method called)", "pure virtual method called", kClaim, kClaimZh},
    Row{R"((double free or corruption|corrupted size vs\. prev_size|corrupted double-linked list|\b(?:malloc|free|realloc|calloc|munmap_chunk|malloc_consolidate)\(\): [a-z][\w :()-]{3,48}))",
        "glibc: ", kDamaged, kDamagedZh},
    Row{R"(\*\*\* ((?:stack smashing|buffer overflow) detected) \*\*\*)", "glibc: ", kDamaged,
        kDamagedZh},
    Row{R"(Fatal Python error: ([\w :]{1,60}))",
        "Fatal Python error: ", "the Python interpreter gave up", "Python 解释器终止"},
    Row{R"(: Assertion [`'].{1,400}' failed)", "assertion", kClaim, kClaimZh},
    Row{R"((?:^|\] )Check failed: )", "check", kClaim, kClaimZh},
    Row{R"(\[enforce fail at ([\w./]{1,60}:\d+))", "enforce fail at ", kClaim, kClaimZh},
    Row{NB_KERNEL
        R"((BUG: [\w -]{1,40}|Oops|general protection fault|segfault at|Kernel panic|[Uu]nable to handle kernel [\w -]{1,30}|soft lockup|hard LOCKUP|blocked for more than \d+ seconds|detected stalls?|page allocation failure|Hardware Error|Machine Check|I/O error|nvme\w* .*timeout|EXT4-fs error|XFS .*Corruption|NVRM: Xid|Uncorrected))",
        "kernel: ", kKernel, kKernelZh},
    Row{NB_KERNEL
        R"(\[?(ascend|devdrv|drv_\w+|devmm|hisi_\w+|hns3\w*)\b.*(?:\[ERR(?:OR)?\]|\berror\b|\bfail(?:ed)?\b))",
        "kernel: ", kKernel, kKernelZh},
    Row{R"(\bSegmentation fault\b|\bSIGSEGV\b)", "signal 11", kSignal, kSignalZh},
    Row{R"(\bBus error \(core dumped\)|\bSIGBUS\b)", "signal 7", kSignal, kSignalZh},
    Row{R"(\bAborted \(core dumped\)|\bSIGABRT\b)", "signal 6", kSignal, kSignalZh},
    Row{R"(\bIllegal instruction\b|\bSIGILL\b)", "signal 4", kSignal, kSignalZh},
    Row{R"(\bFloating point exception\b|\bSIGFPE\b)", "signal 8", kSignal, kSignalZh},
    Row{R"(^(?:\S+: line \d+: +\d+ )?Killed(?:\s{2,}.*)?$|\bSIGKILL\b)", "signal 9", kSignal,
        kSignalZh},
    Row{R"(\[(?:ERROR|FATAL)\] ?([A-Z_]{2,12})\(\d{1,9},)", "[ERROR] of ", "", "", true},
    Row{R"((?:^|[\[ \t|(-])(ERROR|FATAL|CRITICAL)(?:[\] \t|):-]|$)|^[EF](\d{4} )\d\d:\d\d:\d\d)",
        "a line marked ERROR", "a program's log calls it an error", "程序日志标为错误", true},
};

// Modules as they call themselves in plog (CANN log reference).
struct Module {
  std::string_view name, what, what_zh;
};
constexpr Module kModules[] = {
    {"HCCL", "HCCL, collective communication", "HCCL，集合通信"},
    {"HCCP", "HCCP, the process that holds a card's network", "HCCP，管理卡网络的进程"},
    {"DRV", "the driver", "驱动"},
    {"RUNTIME", "the runtime", "运行时"},
    {"ASCENDCL", "ACL", "ACL"},
    {"GE", "the graph engine", "图引擎"},
    {"FE", "the fusion engine", "融合引擎"},
    {"TBE", "the compiler of operators", "算子编译器"},
    {"TEFUSION", "the compiler of operators", "算子编译器"},
    {"AICPU", "the AI CPU", "AI CPU"},
    {"CCECPU", "the AI CPU", "AI CPU"},
    {"PROFILING", "profiling", "性能采集"},
    {"OP", "operators", "算子"},
    {"ATB", "ATB, operators of transformers", "ATB，transformer 算子"},
};

constexpr std::string_view kHints[] = {
    "terminate called",
    "terminating ",
    "pure virtual",
    "double free",
    "corrupted size",
    "corrupted double",
    "malloc(): ",
    "free(): ",
    "realloc(): ",
    "calloc(): ",
    "munmap_chunk(): ",
    "malloc_consolidate(): ",
    "smashing detected",
    "overflow detected",
    "Fatal Python error",
    ": Assertion ",
    "Check failed: ",
    "enforce fail at",
    "BUG: ",
    "Oops",
    "general protection",
    "segfault at",
    "Kernel panic",
    "nable to handle kernel",
    "soft lockup",
    "hard LOCKUP",
    "blocked for more than",
    "detected stall",
    "page allocation failure",
    "Machine Check",
    "I/O error",
    "nvme",
    "EXT4-fs error",
    "Corruption",
    "NVRM: Xid",
    "Uncorrected",
    "[ascend",
    "hisi_",
    "devdrv",
    "drv_",
    "devmm",
    "hns3",
    "Segmentation fault",
    "SIGSEGV",
    "core dumped",
    "SIGBUS",
    "SIGABRT",
    "Illegal instruction",
    "SIGILL",
    "Floating point exception",
    "SIGFPE",
    "Killed",
    "SIGKILL",
    "Hardware Error",
    "ERROR",
    "FATAL",
    "CRITICAL",
};

}  // namespace

std::span<const std::string_view> crash_hints() { return kHints; }

std::optional<CrashLine> crash_in(std::string_view line) {
  static const std::vector<Pattern> patterns = [] {
    std::vector<Pattern> made;
    for (const Row& row : kRows) made.emplace_back(row.pattern);
    return made;
  }();
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    const auto groups = patterns[i].match(line);
    if (groups.empty()) continue;
    const Row& row = kRows[i];
    std::string code(row.start);
    if (row.start.empty() || row.start.ends_with(' '))
      for (std::size_t g = 1; g < groups.size(); ++g) code += groups[g];
    CrashLine line_of{std::move(code), row.what, row.what_zh, row.is_loggers};
    if (!row.what.empty()) return line_of;
    line_of.what = "a module of CANN";
    line_of.what_zh = "CANN 的模块";
    for (const Module& module : kModules)
      if (groups.size() > 1 && groups[1] == module.name) {
        line_of.what = module.what;
        line_of.what_zh = module.what_zh;
      }
    return line_of;
  }
  return std::nullopt;
}

// torch/distributed/elastic and torch/multiprocessing/spawn.py, concurrent.futures, Ray, vLLM.
bool passes_on(std::string_view exception) {
  constexpr std::array<std::string_view, 10> kNames = {
      "ChildFailedError",  "ProcessRaisedException", "ProcessExitedException",
      "RemoteTraceback",   "_RemoteTraceback",       "CalledProcessError",
      "BrokenProcessPool", "RayTaskError",           "EngineDeadError",
      "SystemExit"};
  const std::string_view name = exception.substr(exception.rfind('.') + 1);
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

}  // namespace nb::doctor
