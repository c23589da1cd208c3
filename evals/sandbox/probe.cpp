// Which level works here: not what the system says that it has, but what held when tried.

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <mutex>
#include <sstream>

#include "evals/sandbox/idle_clock.hpp"
#include "evals/sandbox/landlock.hpp"
#include "evals/sandbox/leftovers.hpp"
#include "evals/sandbox/supervise.hpp"
#include "evals/sandbox/system_call_filter.hpp"

namespace nb::sandbox {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kDoubles = R"(
def double(x):
    return 2 * x
)";
constexpr std::string_view kDoesNot = R"(
def double(x):
    return x
)";
constexpr std::string_view kTest = R"(
import sys
def check(candidate):
    assert candidate(21) == 42
    print(".".join(str(part) for part in sys.version_info[:3]), end="")
)";

// Fails with what it could do. posix: os.fork is taken away, as in the references.
constexpr std::string_view kMustStayInside = R"(
import posix, _socket
def must_fail(what, act, *arguments):
    try:
        act(*arguments)
    except OSError:
        return
    raise RuntimeError(what)
for path in ("/etc/passwd", "/proc/self/status", "/proc/1/cmdline", "/sys/kernel/notes", "/dev/kmsg"):
    must_fail("it could read " + path, open, path)
for path in ("/home", "/root", "/var", "/proc"):
    must_fail("it could list " + path, posix.listdir, path)
for path in ("/x", "/usr/x", "/etc/x", "/var/x", "/dev/x"):
    must_fail("it could write " + path, open, path, "w")
must_fail("it could start a process", posix.fork)
must_fail("it could open a socket", _socket.socket, _socket.AF_INET)
must_fail("it could open a local socket", _socket.socket, _socket.AF_UNIX)
must_fail("it could signal a process", posix.kill, posix.getppid() or 1, 0)
must_fail("it could change rights", posix.chmod, "/usr", 0o777)
with open("file", "w") as file:
    file.write("x")
posix.unlink("file")
)";

// Must be stopped.
constexpr std::string_view kMakesManyFiles = R"(
import posix, time
for i in range(30000):
    posix.mkdir(str(i))
time.sleep(1)
)";

std::string from_environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

Result<std::string> find_python() {
  const std::string named = from_environment("NPUBENCH_PYTHON");
  if (!named.empty()) {
    if (named.starts_with("/usr/") && ::access(named.c_str(), X_OK) == 0) return named;
    return bad_input(
        fmt::format("NPUBENCH_PYTHON={}: must be an interpreter under /usr, the only folder "
                    "visible in the sandbox",
                    named));
  }
  for (const char* path : {"/usr/bin/python3", "/usr/local/bin/python3"})
    if (::access(path, X_OK) == 0) return path;
  return run_error(
      "sandbox: no Python in /usr/bin or /usr/local/bin; install the package python3, or name "
      "one under /usr with NPUBENCH_PYTHON");
}

std::string find_bubblewrap() {
  std::stringstream places(from_environment("PATH") + ":/usr/bin:/usr/local/bin:/bin");
  for (std::string place; std::getline(places, place, ':');) {
    const std::string path = place + "/bwrap";
    if (place.starts_with('/') && ::access(path.c_str(), X_OK) == 0) return path;
  }
  return "";
}

// The interpreter's version, when everything holds that has to.
Result<std::string> try_out(const Method& method) {
  const Limits limits{.cpu_seconds = 5, .idle_seconds = 5, .wall_seconds = 60};
  Trial trial{std::string(kDoubles), "double", std::string(kTest), "", ""};
  NB_TRY(const ProgramOutcome passed, supervise(method, trial, limits));
  if (passed.outcome != Outcome::kPassed)
    return run_error(fmt::format("a correct program {} ({})", name(passed.outcome), passed.reason));
  trial.program = kDoesNot;
  NB_TRY(const ProgramOutcome failed, supervise(method, trial, limits));
  if (failed.outcome != Outcome::kFailed || failed.reason != "AssertionError")
    return run_error(fmt::format("a wrong program {} ({})", name(failed.outcome), failed.reason));
  NB_TRY(const ProgramOutcome inside,
         supervise(method, Trial{std::string(kMustStayInside), "", "", "", ""}, limits));
  if (inside.outcome != Outcome::kPassed)
    return run_error(fmt::format("a program that tries to escape: {}", inside.reason));
  return passed.out;
}

bool limits_files(const Method& method) {
  const Limits limits{.cpu_seconds = 5, .idle_seconds = 5, .wall_seconds = 60};
  const auto outcome =
      supervise(method, Trial{std::string(kMakesManyFiles), "", "", "", ""}, limits);
  return outcome && outcome->outcome != Outcome::kPassed;
}

std::vector<std::string> gaps(const Method& method) {
  std::vector<std::string> list;
  if (method.level == Level::kLandlock) list = landlock_gaps(landlock_version());
  if (::geteuid() == 0 && !method.becomes_nobody)
    list.emplace_back("programs run as the user root, without its privileges");
  if (method.level == Level::kBubblewrap && !limits_files(method))
    list.emplace_back("the number of files is not limited");
  if (!can_tell_idle_from_waiting())
    list.emplace_back("no scheduler statistics: waiting for a busy CPU counts as sleeping");
  return list;
}

// The methods of one level, best first: as root, both as nobody and as root.
Result<Ability> try_level(Level level, Method method) {
  method.level = level;
  if (level == Level::kBubblewrap && method.bubblewrap.empty())
    return run_error("bwrap is not installed (package bubblewrap)");
  if (level == Level::kLandlock && landlock_version() == 0)
    return run_error("the kernel has no Landlock or does not allow it");
  std::vector<std::string> failures;
  for (const bool becomes_nobody : {true, false}) {
    if (becomes_nobody && ::geteuid() != 0) continue;
    method.becomes_nobody = becomes_nobody;
    auto version = try_out(method);
    if (version)
      return Ability{level, method.python, *std::move(version), gaps(method),
                     std::make_shared<Method>(method)};
    failures.push_back(std::move(version).error().message);
  }
  return run_error(fmt::format("{}", fmt::join(failures, "; as root: ")));
}

Result<Ability> find_level(const std::string& wanted) {
  if (!wanted.empty() && wanted != name(Level::kBubblewrap) && wanted != name(Level::kLandlock))
    return bad_input(
        fmt::format("NPUBENCH_SANDBOX={}: no such level; use bubblewrap or landlock", wanted));
  end_leftovers();
  Method method;
  NB_TRY(method.python, find_python());
  NB_TRY(method.filter, system_call_filter());
  method.bubblewrap = find_bubblewrap();
  std::string reasons;
  for (const Level level : {Level::kBubblewrap, Level::kLandlock}) {
    if (!wanted.empty() && wanted != name(level)) continue;
    auto ability = try_level(level, method);
    if (ability) return ability;
    reasons +=
        fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", name(level), ability.error().message);
  }
  return run_error(fmt::format(
      "no sandbox works on this host, so generated programs are not run ({}). In a container, "
      "start it with --security-opt seccomp=unconfined --security-opt apparmor=unconfined; outside "
      "a container, allow user namespaces (sysctl user.max_user_namespaces, "
      "kernel.unprivileged_userns_clone) or use a kernel with Landlock",
      reasons));
}

}  // namespace

Result<Ability> probe() {
  static std::mutex mutex;
  static std::map<std::string, Result<Ability>> known;
  const std::string wanted = from_environment("NPUBENCH_SANDBOX");
  const std::lock_guard lock(mutex);
  const std::string key = wanted + '\n' + from_environment("NPUBENCH_PYTHON");
  const auto found = known.find(key);
  if (found != known.end()) return found->second;
  return known.emplace(key, find_level(wanted)).first->second;
}

}  // namespace nb::sandbox
