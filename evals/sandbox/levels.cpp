#include "evals/sandbox/levels.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>

namespace nb::sandbox {

namespace {

namespace fs = std::filesystem;

// Where an interpreter and its libraries lie on Linux; on most systems the last ones are links into
// the first.
constexpr std::array<const char*, 5> kSystemFolders = {"/usr", "/lib", "/lib64", "/lib32", "/bin"};
constexpr const char* kLibraryCache = "/etc/ld.so.cache";
constexpr std::array<const char*, 5> kDevices = {"/dev/null", "/dev/zero", "/dev/full",
                                                 "/dev/random", "/dev/urandom"};
constexpr std::string_view kScratch = "/scratch";  // inside

// No limit of the number of threads here: it counts all processes of a user, and holds only in a
// user namespace. The runner sets it there.
std::vector<ResourceLimit> resource_limits(const Limits& limits) {
  const auto seconds = static_cast<std::uint64_t>(limits.cpu_seconds);
  // The usual stack, as the reference starts with; the runner raises it to what is allowed here.
  const std::uint64_t stack = std::min<std::uint64_t>(8U << 20, limits.memory_bytes);
  return {{RLIMIT_AS, limits.memory_bytes, limits.memory_bytes},
          {RLIMIT_DATA, limits.memory_bytes, limits.memory_bytes},
          {RLIMIT_STACK, stack, limits.memory_bytes},
          {RLIMIT_CPU, seconds, seconds},
          {RLIMIT_FSIZE, limits.file_bytes, limits.file_bytes},
          {RLIMIT_CORE, kCoreBytes, kCoreBytes},
          {RLIMIT_MEMLOCK, 0, 0},
          {RLIMIT_MSGQUEUE, 0, 0}};
}

// PYTHONHASHSEED: the order of sets is part of the outcome. -I would ignore it.
std::vector<std::string> environment_in(const std::string& folder) {
  return {"PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8",   "PYTHONHASHSEED=0", "PYTHONSAFEPATH=1",
          "PYTHONNOUSERSITE=1", "TMPDIR=" + folder, "HOME=" + folder};
}

void add_interpreter(LaunchPlan& plan, const Method& method, std::string_view script) {
  plan.argv.insert(plan.argv.end(), {method.python, "-s", "-S", "-B", "-c", std::string(script)});
}

}  // namespace

LaunchPlan bubblewrap_plan(const Method& method, const Limits& limits, std::string_view script) {
  LaunchPlan plan;
  const std::string scratch(kScratch);
  plan.argv = {method.bubblewrap,
               "--unshare-user",
               "--unshare-pid",
               "--unshare-net",
               "--unshare-ipc",
               "--unshare-uts",
               "--unshare-cgroup-try",
               "--uid",
               "65534",
               "--gid",
               "65534",
               "--hostname",
               "sandbox",
               "--die-with-parent",
               "--new-session",
               "--cap-drop",
               "ALL",
               "--as-pid-1"};
  const auto add = [&plan](std::initializer_list<std::string> arguments) {
    plan.argv.insert(plan.argv.end(), arguments);
  };
  for (const std::string folder : kSystemFolders) {
    if (fs::is_symlink(folder))
      add({"--symlink", fs::read_symlink(folder), folder});
    else if (fs::is_directory(folder))
      add({"--ro-bind", folder, folder});
  }
  if (fs::exists(kLibraryCache)) add({"--ro-bind", kLibraryCache, kLibraryCache});
  for (const std::string device : kDevices)
    if (fs::exists(device)) add({"--dev-bind", device, device});
  add({"--size", std::to_string(limits.scratch_bytes), "--tmpfs", scratch});
  add({"--symlink", scratch, "/tmp"});
  add({"--remount-ro", "/", "--chdir", scratch, "--seccomp", std::to_string(kFilterText),
       "--json-status-fd", std::to_string(kStatusText), "--"});
  add_interpreter(plan, method, script);
  plan.environment = environment_in(scratch);
  plan.limits = resource_limits(limits);
  plan.becomes_nobody = method.becomes_nobody;
  return plan;
}

LaunchPlan landlock_plan(const Method& method, const Limits& limits, std::string_view script,
                         const Scratch* folder) {
  LaunchPlan plan;
  add_interpreter(plan, method, script);
  plan.environment = environment_in(folder == nullptr ? "/" : folder->path().string());
  plan.limits = resource_limits(limits);
  plan.becomes_nobody = method.becomes_nobody;
  plan.has_rules = true;
  plan.has_folder = folder != nullptr;
  plan.filter = method.filter;
  return plan;
}

LandlockPaths landlock_paths(const Scratch* folder) {
  LandlockPaths paths;
  paths.readable.assign(kSystemFolders.begin(), kSystemFolders.end());
  paths.readable.emplace_back(kLibraryCache);
  paths.devices.assign(kDevices.begin(), kDevices.end());
  paths.writable = folder == nullptr ? -1 : folder->folder();
  return paths;
}

}  // namespace nb::sandbox
