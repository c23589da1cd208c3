#include "harness/profiler/open_profile.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <tuple>

#include "harness/base/ascii.hpp"
#include "harness/base/byte_order_mark.hpp"
#include "harness/profiler/add_time.hpp"
#include "harness/profiler/byte_stream.hpp"
#include "harness/profiler/read_ascend.hpp"
#include "harness/profiler/read_trace.hpp"
#include "harness/profiler/time_text.hpp"
#include "model/device/profile.hpp"

namespace nb::profiler {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kPeekBytes = std::size_t{1} << 17;
constexpr int kDeepestFolder = 5;
constexpr std::size_t kMostEntries = 200'000;

struct FileKind {
  enum class What {
    kTrace,
    kTable,
    kCommunication,
    kMatrix,
    kInfo,
    kMetadata,
    kCluster,
    kClusterCommunication,
    kClusterMatrix,
    kNothing
  };
  What what = What::kNothing;
  const AscendTable* table = nullptr;
};
using What = FileKind::What;

Result<std::string> beginning(const fs::path& path) {
  NB_TRY(const auto bytes, open_bytes(path));
  std::string text(kPeekBytes, '\0');
  bytes->read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(bytes->gcount()));
  if (bytes->is_broken())
    return bad_input(fmt::format("{}: not a complete gzip file; copy it again", path.string()));
  if (text.starts_with(kByteOrderMark)) text.erase(0, kByteOrderMark.size());
  return text;
}

FileKind kind_of_text(std::string_view text) {
  const std::string_view start = trimmed(text);
  const auto has = [&](std::string_view what) { return text.find(what) != text.npos; };
  if (start.starts_with('{') || start.starts_with('[')) {
    if (has("\"traceEvents\"") || has("\"ph\"")) return {What::kTrace};
    // Of a cluster: groups of ranks first, "p2p" or "(0, 1)"; of a rank: steps.
    const std::string_view first = start.substr(std::min(start.find('"'), start.size()));
    const bool is_cluster = first.starts_with("\"p2p\"") || first.starts_with("\"(");
    if (has("\"Communication Time Info\""))
      return {is_cluster ? What::kClusterCommunication : What::kCommunication};
    if (has("\"Transport Type\"")) return {is_cluster ? What::kClusterMatrix : What::kMatrix};
    if (has("\"rank_id\"") || has("\"common_config\"")) return {What::kInfo};
    if (has("\"ENV_VARIABLES\"")) return {What::kMetadata};
    // PyTorch writes its events last, behind what may be longer than this beginning.
    if (has("\"deviceProperties\"") || has("\"schemaVersion\"") || text.size() >= kPeekBytes)
      return {What::kTrace};
    return {};
  }
  const std::string_view header = start.substr(0, start.find('\n'));
  if (header.starts_with("Step,Type,Index")) return {What::kCluster};
  if (const AscendTable* table = ascend_table_with(header)) return {What::kTable, table};
  return {};
}

Result<FileKind> kind_of_file(const fs::path& path) {
  NB_TRY(const std::string text, beginning(path));
  if (trimmed(text).empty())
    return bad_input(fmt::format("{}: empty; copy it again", path.string()));
  return kind_of_text(text);
}

Result<void> read_stream(std::istream& bytes, const std::string& where, const FileKind& kind,
                         Profile& profile, Rank& rank, TraceUse use) {
  switch (kind.what) {
    case What::kTrace:
      return read_trace(bytes, where, use, profile, rank);
    case What::kTable:
      return kind.table->read(bytes, where, profile, rank);
    case What::kCommunication:
      return read_communication(bytes, where, rank);
    case What::kMatrix:
      return read_communication_matrix(bytes, where, rank);
    case What::kInfo:
      return read_profiler_info(bytes, where, rank);
    case What::kMetadata:
      return read_profiler_metadata(bytes, where, rank);
    case What::kCluster:
      return read_cluster_steps(bytes, where, profile);
    case What::kClusterCommunication:
      return read_cluster_communication(bytes, where, profile);
    case What::kClusterMatrix:
      return read_cluster_matrix(bytes, where, profile);
    case What::kNothing:
      break;
  }
  return bad_input(
      fmt::format("{}: no table of Ascend's profiler or msprof and no trace: give the folder "
                  "…_ascend_pt, its ASCEND_PROFILER_OUTPUT, mindstudio_profiler_output, or a "
                  "trace (.json, .json.gz)",
                  where));
}

Result<void> read_one(const fs::path& path, const FileKind& kind, Profile& profile, Rank& rank,
                      TraceUse use = {}) {
  NB_TRY(const auto bytes, open_bytes(path));
  auto read = read_stream(*bytes, path.string(), kind, profile, rank, use);
  if (bytes->is_broken())
    return bad_input(fmt::format("{}: not a complete gzip file; copy it again", path.string()));
  return read;
}

std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    std::error_code ignored;
    if (at->is_regular_file(ignored)) files.push_back(at->path());
    if (files.size() > kMostEntries) break;
  }
  std::ranges::sort(files);
  return files;
}

bool is_trace_name(const fs::path& file) {
  const std::string name = file.filename().string();
  return name.ends_with(".json.gz") || name.ends_with(".pt.trace.json") ||
         (name.ends_with(".json") && name.find("trace") != name.npos) ||
         (name.starts_with("msprof_") && name.ends_with(".json"));
}

// Folders that hold the tables of a rank, or traces, below a path.
struct Found {
  std::vector<fs::path> ranks, msprof, cluster, traces;
  std::size_t entries = 0;
};
void find_below(const fs::path& folder, int depth, Found& found) {
  bool has_tables = false, has_msprof = false;
  std::vector<fs::path> traces;
  for (const fs::path& file : files_in(folder)) {
    ++found.entries;
    const std::string name = file.filename().string();
    if (name == "cluster_step_trace_time.csv" || name == "cluster_communication.json" ||
        name == "cluster_communication_matrix.json")
      found.cluster.push_back(file);
    if (const AscendTable* table = ascend_table_of(name)) {
      if (table->name == "op_summary" || table->name == "task_time" ||
          name != std::string(table->name) + ".csv")
        has_msprof = true;
      else
        has_tables = true;
    }
    if (name == "communication.json") has_tables = true;
    if (is_trace_name(file)) traces.push_back(file);
  }
  if (has_tables)
    found.ranks.push_back(folder);
  else if (has_msprof)
    found.msprof.push_back(folder);
  else
    found.traces.insert(found.traces.end(), traces.begin(), traces.end());
  if (depth == kDeepestFolder || found.entries > kMostEntries) return;
  std::vector<fs::path> folders;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    std::error_code ignored;
    if (at->is_directory(ignored) && !at->is_symlink(ignored)) folders.push_back(at->path());
  }
  std::ranges::sort(folders);
  for (const fs::path& one : folders) find_below(one, depth + 1, found);
}

struct Absence {
  std::string_view file;
  const char* key;
};
constexpr std::array kAbsences = {
    Absence{"step_trace_time.csv", "absent.steps"},
    Absence{"kernel_details.csv", "absent.kernels"},
    Absence{"communication.json", "absent.communication"},
    Absence{"operator_memory.csv", "absent.memory"},
    Absence{"api_statistic.csv", "absent.apis"},
};

Result<void> read_rank_folder(const fs::path& folder, Profile& profile) {
  Rank rank;
  rank.source = folder.string();
  std::vector<fs::path> files = files_in(folder), beside = files_in(folder.parent_path());
  std::optional<fs::path> trace, cache;
  for (const fs::path& file : files) {
    const std::string name = file.filename().string();
    if (name == "trace_view.json") trace = file;
    const AscendTable* table = ascend_table_of(name);
    if (table != nullptr && table->name == "l2_cache") {
      cache = file;  // behind the kernels that it speaks of
    } else if (table != nullptr) {
      NB_TRY_VOID(read_one(file, {What::kTable, table}, profile, rank));
    } else if (name == "communication.json") {
      NB_TRY_VOID(read_one(file, {What::kCommunication}, profile, rank));
    } else if (name == "communication_matrix.json") {
      NB_TRY_VOID(read_one(file, {What::kMatrix}, profile, rank));
    }
  }
  if (cache)
    NB_TRY_VOID(read_one(*cache, {What::kTable, ascend_table_of("l2_cache.csv")}, profile, rank));
  for (const fs::path& file : beside) {
    const std::string name = file.filename().string();
    if (name.starts_with("profiler_info") && name.ends_with(".json"))
      NB_TRY_VOID(read_one(file, {What::kInfo}, profile, rank));
    if (name == "profiler_metadata.json")
      NB_TRY_VOID(read_one(file, {What::kMetadata}, profile, rank));
  }
  if (trace) {
    const TraceUse use{.only_issues = !rank.kernels.empty()};
    NB_TRY_VOID(read_one(*trace, {What::kTrace}, profile, rank, use));
  }
  for (const Absence& one : kAbsences)
    if (std::ranges::none_of(
            files, [&](const fs::path& file) { return file.filename().string() == one.file; }))
      rank.absent.emplace_back(one.key);
  profile.ranks.push_back(std::move(rank));
  return {};
}

// The tables of msprof: op_summary has the kernels, task_time the rest of the device.
Result<void> read_msprof_folder(const fs::path& folder, Profile& profile) {
  Rank rank;
  rank.source = folder.string();
  for (const fs::path& file : files_in(folder))
    if (const AscendTable* table = ascend_table_of(file.filename().string()))
      NB_TRY_VOID(read_one(file, {What::kTable, table}, profile, rank));
  rank.absent = {"absent.steps"};
  profile.kind = Kind::kMsprof;
  profile.ranks.push_back(std::move(rank));
  return {};
}

// A step of ours begins with its first launch; at its end the host waits for the device, and before
// that for what the last kernel brings it, which its trace does not show.
void add_whole_step(const Texts& texts, Rank& rank) {
  if (rank.kernels.empty() || profile_text(rank.device).empty()) return;  // no profile built in
  const auto device = load_profile(rank.device);
  if (!device) return;
  StepWindow whole{"", rank.kernels.front().start_ns, 0};
  for (const Kernel& kernel : rank.kernels) {
    if (kernel.issued_ns >= 0) whole.start_ns = std::min(whole.start_ns, kernel.issued_ns);
    whole.end_ns = std::max(whole.end_ns, kernel.start_ns + kernel.duration_ns);
  }
  const bool is_read = texts[rank.kernels.back().type] == "device_to_host";
  whole.end_ns += (is_read ? 2 : 1) * device->launch.synchronize.whole();
  rank.whole = whole;
}

// Whatever is summed up of them later is within an int64 then.
Result<void> check_durations(const Rank& rank) {
  std::int64_t sum_ns = 0;
  for (const Kernel& kernel : rank.kernels)
    add_time(sum_ns, std::abs(std::max(kernel.duration_ns, -kMostTime)));
  if (sum_ns < kMostTime) return {};
  return bad_input(
      fmt::format("{}: its kernels last more than 73 years in all; is a start in the column of "
                  "durations?",
                  rank.source));
}

}  // namespace

Result<Profile> finished_profile(Profile profile) {
  std::ranges::stable_sort(profile.ranks, {}, &Rank::rank);
  for (std::size_t i = 1; i < profile.ranks.size(); ++i)
    if (profile.ranks[i].rank == profile.ranks[i - 1].rank)
      return bad_input(fmt::format(
          "{}: rank {} is there twice: in {} and in {}; give one profile of it", profile.source,
          profile.ranks[i].rank, profile.ranks[i - 1].source, profile.ranks[i].source));
  for (Rank& rank : profile.ranks) {
    NB_TRY_VOID(check_durations(rank));
    // Nearly all files are sorted; a stable sort would need the memory twice.
    if (!std::ranges::is_sorted(rank.kernels, {}, &Kernel::start_ns))
      std::ranges::sort(rank.kernels, [](const Kernel& a, const Kernel& b) {
        return std::tuple(a.start_ns, a.duration_ns, a.name) <
               std::tuple(b.start_ns, b.duration_ns, b.name);
      });
    if (profile.kind == Kind::kNpubench) add_whole_step(profile.texts, rank);
  }
  return profile;
}

namespace {

Result<Profile> opened(const fs::path& path) {
  Profile profile;
  profile.source = path.string();
  std::error_code error;
  if (!fs::is_directory(path, error)) {
    NB_TRY(const FileKind kind, kind_of_file(path));
    if (kind.what == What::kCluster || kind.what == What::kClusterCommunication ||
        kind.what == What::kClusterMatrix) {
      profile.kind = Kind::kCluster;
      Rank unused;
      NB_TRY_VOID(read_one(path, kind, profile, unused));
      return finished_profile(std::move(profile));
    }
    Rank rank;
    rank.source = path.string();
    NB_TRY_VOID(read_one(path, kind, profile, rank));
    profile.ranks.push_back(std::move(rank));
    return finished_profile(std::move(profile));
  }
  Found found;
  find_below(path, 0, found);
  for (const fs::path& folder : found.ranks) NB_TRY_VOID(read_rank_folder(folder, profile));
  if (profile.ranks.empty())
    for (const fs::path& folder : found.msprof) NB_TRY_VOID(read_msprof_folder(folder, profile));
  if (profile.ranks.empty() && !found.cluster.empty()) {
    profile.kind = Kind::kCluster;
    Rank unused;
    for (const fs::path& file : found.cluster) {
      if (file.parent_path() != found.cluster.front().parent_path()) continue;
      NB_TRY(const FileKind kind, kind_of_file(file));
      if (kind.what != What::kNothing) NB_TRY_VOID(read_one(file, kind, profile, unused));
    }
  }
  if (profile.ranks.empty())
    for (const fs::path& file : found.traces) {
      Rank rank;
      rank.source = file.string();
      NB_TRY(const FileKind kind, kind_of_file(file));
      if (kind.what != What::kTrace) continue;
      NB_TRY_VOID(read_one(file, kind, profile, rank));
      profile.ranks.push_back(std::move(rank));
    }
  if (profile.ranks.empty())
    return bad_input(fmt::format(
        "{}: no profile below it: neither ASCEND_PROFILER_OUTPUT, nor mindstudio_profiler_output, "
        "nor cluster_step_trace_time.csv, nor a trace (.json, .json.gz)",
        path.string()));
  return finished_profile(std::move(profile));
}

}  // namespace

Result<Profile> open_profile(const fs::path& path) {
  auto profile = opened(path);
  // A profile that cannot be read is no mistake in how the program is used.
  if (!profile)
    return tl::unexpected<Error>(Error{ErrorCode::kRun, std::move(profile).error().message});
  return profile;
}

}  // namespace nb::profiler
