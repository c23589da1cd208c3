// Which runs stay and why; gc_remove.cpp removes the others.
#include "results/store/gc.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <system_error>

#include "harness/base/check.hpp"
#include "harness/base/fs.hpp"
#include "results/store/acceptance.hpp"
#include "results/store/gated_nights.hpp"
#include "results/store/gc_checks.hpp"
#include "results/store/listed_run.hpp"
#include "results/store/night_files.hpp"

namespace nb {
namespace {

fs::path real_path(const fs::path& path) {
  std::error_code error;
  const fs::path found = fs::weakly_canonical(path, error);
  return error ? path : found;
}

// "results/nights/n1" means a folder relative to where the gate was called, which nobody knows now:
// every path that ends so may be meant.
bool may_mean(const fs::path& named, const fs::path& run) {
  const fs::path normal = named.lexically_normal();
  if (normal.is_absolute()) return real_path(normal) == run;
  fs::path end;
  for (const fs::path& part : normal)
    if (part != "..") end /= part;
  return !end.empty() && run.string().ends_with("/" + end.string());
}

// Nights of one sequence have equal texts.
std::string sequence_of_path(const std::string& name) {
  std::string sequence;
  for (const fs::path& part : fs::path(name)) sequence += "/" + sequence_of(part);
  return sequence;
}

// What the folders of acceptances and gated nights say of the runs below them.
class Baselines {
 public:
  // Why a run stays; empty: it is nobody's baseline.
  std::string keeps(const fs::path& run) {
    const fs::path home = gate_home(run);
    const auto [at, is_new] = homes_.try_emplace(home);
    if (is_new) at->second = read(home);
    if (!at->second.unreadable.empty())
      return "what was accepted cannot be read: " + at->second.unreadable;
    const fs::path real = real_path(run);
    if (at->second.accepted.contains(real)) return "was accepted";
    for (const fs::path& baseline : at->second.judged_against)
      if (may_mean(baseline, real)) return "the last gate judged against it";
    return {};
  }

 private:
  struct Home {
    std::string unreadable;
    std::set<fs::path> accepted, judged_against;
  };

  static Home read(const fs::path& home) {
    Home known;
    std::error_code error;
    for (fs::directory_iterator at(home / kAcceptedFolder, error), end; !error && at != end;
         at.increment(error)) {
      if (at->path().extension() != ".json") continue;
      const auto accepted = find_accepted(home, at->path().stem().string());
      if (!accepted) {
        known.unreadable = accepted.error().message;
        return known;
      }
      if (*accepted) known.accepted.insert(real_path(home / (*accepted)->run));
    }
    const auto nights = read_nights(home);
    if (!nights) known.unreadable = nights.error().message;
    if (!nights) return known;
    std::map<std::string, std::string> last;  // suite → what its last night was judged against
    for (const GatedNight& night : *nights) last[night.suite] = night.baseline;
    for (const auto& [suite, baseline] : last)
      if (!baseline.empty()) known.judged_against.insert(baseline);
    return known;
  }

  std::map<fs::path, Home> homes_;
};

// What stays whatever its age; empty: nothing speaks for it.
std::string keeps_always(const ListedRun& run, const fs::path& folder, Baselines& baselines) {
  if (!run.damage.empty()) return "cannot be read: " + run.damage.front();
  if (!run.kept_by.empty()) return "has " + run.kept_by;
  for (const fs::path& part : fs::path(run.name))
    if (part == kAcceptedFolder) return fmt::format("lies in {}/", kAcceptedFolder);
  const fs::path real = real_path(run.path);
  if (real == folder) return "is the folder itself";
  if (real != folder / run.name) return "lies behind a link, in " + real.string();
  if (std::string reason = baselines.keeps(run.path); !reason.empty()) return reason;
  return is_worked_on(run.path) ? "is being worked on" : "";
}

// Beside the runs of a night: what npubench nightly writes.
bool is_of_nightly(const fs::directory_entry& entry) {
  constexpr std::array<std::string_view, 4> kFiles = {kNightJson, kNightJunit, kNightSummary,
                                                      kIndexFile};
  const std::string name = entry.path().filename().string();
  std::error_code ignored;
  if (entry.is_symlink(ignored)) return false;
  if (entry.is_directory(ignored))
    return name == kNightReport && fs::exists(entry.path() / "report.html", ignored);
  return std::find(kFiles.begin(), kFiles.end(), name) != kFiles.end() || name.ends_with(".log");
}

// Folders that hold runs that go, and nothing that is not their night's.
bool goes_as_a_whole(const fs::path& night, const std::set<std::string>& going) {
  std::error_code error;
  for (fs::directory_iterator at(night, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (!going.contains(name) && !is_of_nightly(*at)) return false;
  }
  return !error;
}

std::vector<GcTarget> targets_of(const fs::path& folder, const std::vector<GcRun>& runs) {
  std::map<std::string, std::set<std::string>> going;  // parent → names in it
  for (const GcRun& run : runs) {
    const fs::path name(run.name);
    if (run.keeps.empty()) going[name.parent_path().string()].insert(name.filename().string());
  }
  std::vector<GcTarget> targets;
  for (const auto& [parent, names] : going) {
    const bool is_night = !parent.empty() && sequence_of(parent).find('#') != std::string::npos;
    std::vector<std::string> inside;
    for (const std::string& name : names) inside.push_back((fs::path(parent) / name).string());
    if (is_night && goes_as_a_whole(folder / parent, names)) {
      targets.push_back({parent, inside, folder_bytes(folder / parent)});
      continue;
    }
    for (const std::string& run : inside)
      targets.push_back({run, {run}, folder_bytes(folder / run)});
  }
  std::sort(targets.begin(), targets.end(),
            [](const GcTarget& a, const GcTarget& b) { return a.name < b.name; });
  return targets;
}

}  // namespace

bool is_worked_on(const fs::path& run) {
  std::error_code error;
  for (fs::directory_iterator at(run / ".locks", error), end; !error && at != end;
       at.increment(error)) {
    const int descriptor = ::open(at->path().c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) continue;
    const bool is_free = ::flock(descriptor, LOCK_SH | LOCK_NB) == 0 || errno != EWOULDBLOCK;
    ::close(descriptor);
    if (!is_free) return true;
  }
  return false;
}

Result<GcPlan> plan_gc(const RunIndex& index, std::size_t keep_last) {
  NB_CHECK(keep_last >= 1, "[gc] keeps {} nights", keep_last);
  GcPlan plan;
  plan.folder = real_path(index.folder());
  Baselines baselines;
  std::map<std::string, std::size_t> kept;  // nights of each sequence
  for (const ListedRun& run : listed_runs(index)) {
    GcRun one{run.name, run.path, run.when, keeps_always(run, plan.folder, baselines)};
    if (one.keeps.empty() && ++kept[sequence_of_path(run.name)] <= keep_last)
      one.keeps = "is one of the newest";
    plan.runs.push_back(std::move(one));
  }
  plan.targets = targets_of(plan.folder, plan.runs);
  std::error_code ignored;
  const bool is_empty = fs::is_empty(plan.folder / kRemovedFolder, ignored);
  plan.has_leftovers = !ignored && !is_empty;
  plan.leftover_bytes = folder_bytes(plan.folder / kRemovedFolder);
  plan.notes = index.notes();
  return plan;
}

}  // namespace nb
