#include "evals/sandbox/landlock.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

namespace nb::sandbox {

namespace {

// As in linux/landlock.h, which is older than the kernel in most distributions.
struct RulesetAttributes {
  std::uint64_t handled_files, handled_network, scoped;
};
struct [[gnu::packed]] PathAttributes {
  std::uint64_t allowed;
  std::int32_t parent;
};
constexpr std::uint64_t kExecute = 1, kWriteFile = 1 << 1, kReadFile = 1 << 2, kReadDir = 1 << 3,
                        kRemoveDir = 1 << 4, kRemoveFile = 1 << 5, kMakeDir = 1 << 7,
                        kMakeFile = 1 << 8, kMakeLink = 1 << 12, kRefer = 1 << 13,
                        kTruncate = 1 << 14, kIoctl = 1 << 15;
constexpr std::uint64_t kFirstVersion = (1 << 13) - 1;  // bits 0 to 12
constexpr std::uint64_t kBindTcp = 1, kConnectTcp = 2;
constexpr std::uint64_t kAbstractSockets = 1, kSignals = 2;
constexpr unsigned kVersionFlag = 1;
constexpr int kPathBeneath = 1;

RulesetAttributes everything(int version) {
  RulesetAttributes all{kFirstVersion, 0, 0};
  if (version >= 2) all.handled_files |= kRefer;
  if (version >= 3) all.handled_files |= kTruncate;
  if (version >= 4) all.handled_network = kBindTcp | kConnectTcp;
  if (version >= 5) all.handled_files |= kIoctl;
  if (version >= 6) all.scoped = kAbstractSockets | kSignals;
  return all;
}

Result<void> allow(int rules, int place, std::uint64_t rights, const std::string& name) {
  const PathAttributes attributes{rights, place};
  if (::syscall(SYS_landlock_add_rule, rules, kPathBeneath, &attributes, 0) != 0)
    return run_error(fmt::format("Landlock: {}: {}", name, std::strerror(errno)));
  return {};
}

Result<void> allow(int rules, const std::filesystem::path& path, std::uint64_t rights) {
  const Descriptor place(::open(path.c_str(), O_PATH | O_CLOEXEC));
  if (!place.is_open())
    return run_error(fmt::format("Landlock: {}: {}", path.string(), std::strerror(errno)));
  // Rights of folders are refused for files.
  if (!std::filesystem::is_directory(path))
    rights &= kExecute | kReadFile | kWriteFile | kTruncate | kIoctl;
  return allow(rules, place.get(), rights, path);
}

}  // namespace

Descriptor::Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(number_, other.number_);
  return *this;
}
void Descriptor::close() {
  if (number_ >= 0) ::close(std::exchange(number_, -1));
}

int landlock_version() {
  const long version = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, kVersionFlag);
  return version > 0 ? static_cast<int>(version) : 0;
}

Result<Descriptor> landlock_rules(const LandlockPaths& paths) {
  const RulesetAttributes all = everything(landlock_version());
  // An older kernel takes the larger structure as long as what it does not know is zero.
  Descriptor rules(static_cast<int>(::syscall(SYS_landlock_create_ruleset, &all, sizeof(all), 0)));
  if (!rules.is_open()) return run_error(fmt::format("Landlock: {}", std::strerror(errno)));
  constexpr std::uint64_t kRead = kExecute | kReadFile | kReadDir;
  constexpr std::uint64_t kWork = kReadFile | kReadDir | kWriteFile | kRemoveDir | kRemoveFile |
                                  kMakeDir | kMakeFile | kMakeLink | kTruncate;
  for (const auto& path : paths.readable)
    if (std::filesystem::exists(path)) NB_TRY_VOID(allow(rules.get(), path, kRead));
  for (const auto& path : paths.devices)
    if (std::filesystem::exists(path))
      NB_TRY_VOID(allow(rules.get(), path, kReadFile | kWriteFile));
  if (paths.writable >= 0)
    NB_TRY_VOID(
        allow(rules.get(), paths.writable, kWork & all.handled_files, "the program's folder"));
  return rules;
}

std::vector<std::string> landlock_gaps(int version) {
  std::vector<std::string> gaps = {
      "names, sizes and rights of the host's files can be seen (not their content)",
      "no process namespace: one user's processes are kept apart by the system call filter alone",
      "no network namespace: sockets are refused by the system call filter alone",
      "the number of threads is bounded by memory only"};
  if (version < 3) gaps.emplace_back("truncating files is refused by the system call filter alone");
  return gaps;
}

}  // namespace nb::sandbox
