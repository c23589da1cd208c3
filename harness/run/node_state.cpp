#include "harness/run/node_state.hpp"

#include <fmt/format.h>

#include "harness/base/fs.hpp"
#include "results/store/store.hpp"

namespace nb {
namespace {

constexpr const char* kWorking = "working";
constexpr const char* kRecord = "record.json";

Result<void> files_exist(const StoredRecord& stored) {
  for (const auto* files : {&stored.record.artifacts, &stored.record.host_artifacts})
    for (const auto& [file, digest] : *files)
      if (std::error_code error; !fs::is_regular_file(stored.folder / file, error))
        return bad_input(fmt::format("{}: missing", (stored.folder / file).string()));
  return {};
}

bool is_temporary(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.starts_with('.') && name.ends_with(".tmp");
}

// fs::remove_all with the error as a sentence.
Result<void> remove_path(const fs::path& path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (error) return run_error(fmt::format("cannot remove {}: {}", path.string(), error.message()));
  return {};
}

Result<void> remove_temporaries(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error))
    if (is_temporary(at->path())) found.push_back(at->path());
  for (const fs::path& path : found) NB_TRY_VOID(remove_path(path));
  return {};
}

bool has_good_record(const fs::path& folder) {
  if (!has_record(folder)) return false;
  const auto record = read_record(folder);
  return record && record->status == "ok" && record->schema == kRecordSchema;
}

Result<void> remove_old_files(const fs::path& folder) {
  const bool keep_record = has_good_record(folder);
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    found.push_back(at->path());
  for (const fs::path& path : found)
    if (!(keep_record && path.filename() == kRecord)) NB_TRY_VOID(remove_path(path));
  return {};
}

}  // namespace

NodeState inspect_node(const fs::path& folder, const Node& node, bool verify) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) return {NodeCondition::kAbsent, {}, {}};
  if (fs::exists(folder / kWorking, error)) return {NodeCondition::kPartial, {}, {}};
  if (!has_record(folder)) return {NodeCondition::kPartial, {}, {}};
  auto record = read_record(folder);
  if (!record) return {NodeCondition::kDamaged, {}, record.error().message};
  if (record->status != "ok") return {NodeCondition::kPartial, {}, {}};
  // A key of today's code never stands in an older record, so this one was edited: without the
  // checksum that its schema lacks, nobody can tell what of it is true.
  if (record->schema != kRecordSchema)
    return {NodeCondition::kDamaged,
            {},
            fmt::format("{}: is of schema {}, not {}", (folder / kRecord).string(), record->schema,
                        kRecordSchema)};
  if (record->node_key != node.key)
    return {NodeCondition::kDamaged,
            {},
            fmt::format("{}: holds the record of another node, key {}", folder.string(),
                        record->node_key)};
  const StoredRecord stored{*record, folder};
  const Result<void> files = verify ? verify_artifacts(stored) : files_exist(stored);
  if (!files) return {NodeCondition::kDamaged, {}, files.error().message};
  return {NodeCondition::kDone, std::move(*record), {}};
}

Result<void> begin_work(const fs::path& folder, NodeCondition condition) {
  NB_TRY_VOID(make_folders(folder));
  if (condition == NodeCondition::kPartial)
    NB_TRY_VOID(remove_temporaries(folder));
  else
    NB_TRY_VOID(remove_old_files(folder));
  return write_file(folder / kWorking, "");
}

Result<void> end_work(const fs::path& folder) {
  NB_TRY_VOID(remove_path(folder / kWorking));
  return remove_path(folder /
                     kPartialFolder);  // of a finished node it is removed when it is reused
}

}  // namespace nb
