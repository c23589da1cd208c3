#include "results/store/store.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <system_error>
#include <tuple>

#include "harness/base/check.hpp"
#include "harness/base/file_name.hpp"
#include "harness/base/fs.hpp"
#include "harness/base/hash.hpp"
#include "harness/base/json_io.hpp"
#include "results/messages/sentences.hpp"
#include "results/store/node_path.hpp"

namespace nb {
namespace {

constexpr const char* kRecordFile = "record.json";
constexpr const char* kRunList = "run.json";

// What to try.
constexpr const char* kGoesOn = "; run the command that made it again: it resumes";
constexpr const char* kMadeAnew =
    "; run the command that made it again: what is damaged is replaced";

std::string safe_name(const std::string& name) {
  std::string safe = plain_file_name(name);
  if (safe.empty() || safe.front() == '.')
    safe.insert(safe.begin(), '_');  // no "..", no hidden folders
  return safe;
}

bool is_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

std::string why_no_folder(const fs::path& path) {
  std::error_code error;
  if (fs::exists(path, error)) return "is not a folder";
  return error ? error.message() : "does not exist";
}

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

// Names of sub-folders, sorted: directory order must not reach any output.
Result<std::vector<std::string>> sub_folders(const fs::path& path) {
  std::error_code error;
  std::vector<std::string> names;
  fs::directory_iterator at(path, error);
  if (error) return bad_input(fmt::format("{}: {}", path.string(), error.message()));
  for (; at != fs::directory_iterator(); at.increment(error)) {
    if (error) return bad_input(fmt::format("{}: {}", path.string(), error.message()));
    const std::string name = at->path().filename().string();
    if (!name.starts_with('.') && is_folder(at->path())) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

// An artifact's name stays inside its run folder.
bool inside(const std::string& file) {
  const fs::path path(file);
  if (file.empty() || path.is_absolute()) return false;
  for (const auto& part : path)
    if (part == "..") return false;
  return true;
}

Result<void> fill_digests(const fs::path& folder, std::map<std::string, std::string>& files) {
  for (auto& [file, digest] : files) {
    if (!inside(file))
      return run_error(
          fmt::format("{}: artifact \"{}\" is outside the run folder", folder.string(), file));
    if (!digest.empty()) continue;
    NB_TRY(digest, sha256_file(folder / file), "artifact of " + folder.string());
  }
  return {};
}

auto identity(const Record& record) {
  return std::tie(record.kind, record.name, record.trained_on, record.device, record.seed);
}

Result<Record> parse_record_text(const std::string& text, const fs::path& path) {
  NB_TRY(const Json json, parse_json(text, path.string()));
  return parse_record(json, path.string());
}

// read_record for those who only read: the error says how to get a damaged record back.
Result<Record> read_stored(const fs::path& folder) {
  const fs::path path = folder / kRecordFile;
  NB_TRY(const std::string text, read_file(path));
  auto record = parse_record_text(text, path);
  if (!record) record.error().message += kMadeAnew;
  return record;
}

Sentence superseded(const StoredRecord& older, const StoredRecord& newer) {
  const auto weights = [](const Record& record) {
    const auto at = record.subject.find("weights");
    return at == record.subject.end() ? std::string() : at->second;
  };
  const bool is_other_model =
      older.record.kind == "eval" && weights(older.record) != weights(newer.record);
  const std::string name = older.folder.filename().string();
  const std::string by = newer.folder.filename().string();
  return is_other_model ? message("run.superseded_weights", name, by)
                        : message("run.superseded", name, by);
}

// Sorts, and of equal identities keeps the one that finished last.
void keep_latest(RunRecords& run) {
  std::stable_sort(run.records.begin(), run.records.end(), [](const auto& a, const auto& b) {
    if (identity(a.record) != identity(b.record)) return identity(a.record) < identity(b.record);
    return finished_at(a.record) > finished_at(b.record);
  });
  std::vector<StoredRecord> kept;
  for (StoredRecord& stored : run.records) {
    if (!kept.empty() && identity(kept.back().record) == identity(stored.record)) {
      run.notes.push_back(superseded(stored, kept.back()));
      continue;
    }
    kept.push_back(std::move(stored));
  }
  run.records = std::move(kept);
}

}  // namespace

fs::path node_folder(const fs::path& results, const std::string& suite,
                     const std::string& node_name, const std::string& node_key) {
  NB_CHECK(node_key.size() >= 8, "[store] node key \"{}\" is shorter than 8 digits", node_key);
  return results / safe_name(suite) / (safe_name(node_name) + "-" + node_key.substr(0, 8));
}

bool has_record(const fs::path& folder) {
  // Whatever it is, and where nobody may look: read_record says what is wrong.
  std::error_code error;
  return fs::exists(folder / kRecordFile, error) || error;
}

Result<void> write_record(const fs::path& folder, Record record) {
  NB_TRY_VOID(fill_digests(folder, record.artifacts));
  NB_TRY_VOID(fill_digests(folder, record.host_artifacts));
  NB_TRY(const Json json, record_json(record), folder.string());
  if (has_record(folder)) {
    const auto old = read_record(folder);
    // An unreadable old record is replaced, and one of an older schema, which no checksum seals:
    // nothing can be compared with it.
    if (old && old->status == "ok" && old->schema == kRecordSchema) {
      if (old->node_key != record.node_key)
        return run_error(
            fmt::format("{}: holds the record of another node with key {}; move it away",
                        folder.string(), old->node_key));
      const std::string difference = first_difference(*old, record);
      if (!difference.empty())
        return run_error(
            fmt::format("{}: the same node gave other results before ({}); the old record stays. "
                        "Equal keys must give equal bits: report this, or move the folder away",
                        folder.string(), difference));
    }
  }
  return write_json(folder / kRecordFile, json);
}

bool is_imported(const Record& record) {
  return record.settings->is_object() && record.settings->contains("imported");
}

bool has_same_weights(const Record& a, const Record& b) {
  const auto left = a.subject.find("weights"), right = b.subject.find("weights");
  return left != a.subject.end() && right != b.subject.end() && !left->second.empty() &&
         left->second == right->second;
}

std::string stage_of(const Record& record) {
  constexpr std::string_view kStages[] = {"base", "mid", "sft", "dpo", "rl"};
  const auto known = [&](std::string stage) {
    return std::ranges::find(kStages, stage) == std::end(kStages) ? std::string() : stage;
  };
  if (is_imported(record)) return known(record.settings->at("imported").value("stage", ""));
  std::string said = known(record.name.substr(0, record.name.find('.')));
  if (said.empty() && record.settings->is_object() && record.settings->contains("stage") &&
      record.settings->at("stage").is_string())
    said = known(record.settings->at("stage").get<std::string>());
  return said;
}

Result<Record> read_record(const fs::path& folder) {
  const fs::path path = folder / kRecordFile;
  NB_TRY(const std::string text, read_file(path));
  return parse_record_text(text, path);
}

Result<void> verify_artifact(const StoredRecord& stored, const std::string& file) {
  if (stored.items != nullptr) return {};
  const auto& record = stored.record;
  const auto find = [&](const auto& map) {
    const auto at = map.find(file);
    return at == map.end() ? nullptr : &at->second;
  };
  const std::string* expected = find(record.artifacts);
  if (expected == nullptr) expected = find(record.host_artifacts);
  const fs::path path = stored.folder / file;
  if (expected == nullptr)
    return bad_input(fmt::format("{}: the record does not list this file", path.string()));
  if (!inside(file))
    return bad_input(
        fmt::format("{}: artifact \"{}\" is outside the run folder", stored.folder.string(), file));
  if (!is_file(path))
    return bad_input(fmt::format(
        "{}: the record lists this file, but it is missing; run the node again", path.string()));
  NB_TRY(const std::string digest, sha256_file(path));
  if (digest != *expected)
    return bad_input(
        fmt::format("{}: damaged: its SHA-256 is {}, the record says {}; run the node again",
                    path.string(), digest, *expected));
  return {};
}

Result<void> verify_artifacts(const StoredRecord& stored) {
  for (const auto& [file, digest] : stored.record.artifacts)
    NB_TRY_VOID(verify_artifact(stored, file));
  for (const auto& [file, digest] : stored.record.host_artifacts)
    NB_TRY_VOID(verify_artifact(stored, file));
  return {};
}

Result<RunRecords> read_run(const fs::path& asked) {
  NB_TRY(const fs::path given, find_node_path(asked));
  const fs::path path = given.has_filename() ? given : given.parent_path();  // "smoke/" is "smoke"
  if (!is_folder(path))
    return bad_input(fmt::format("{}: {}; give a suite's folder in the results folder",
                                 path.string(), why_no_folder(path)));
  RunRecords run;
  run.path = path;
  const auto add = [&](const fs::path& folder) {
    if (!has_record(folder)) {
      run.damaged.push_back(folder.string() + ": has no record.json; the node did not finish" +
                            kGoesOn);
      return;
    }
    auto record = read_stored(folder);
    if (record)
      run.records.push_back({std::move(*record), folder});
    else
      run.damaged.push_back(record.error().message);
  };
  if (has_record(path)) {
    add(path);
    return run;
  }
  NB_TRY(const auto list, read_run_list(path));
  if (list) {
    for (const std::string& name : *list) add(path / name);
    keep_latest(run);
    return run;
  }
  NB_TRY(const auto folders, sub_folders(path));
  bool any_record = false;
  std::vector<std::string> suites;
  for (const std::string& name : folders) {
    any_record = any_record || has_record(path / name);
    NB_TRY(const auto below, sub_folders(path / name));
    const bool suite = is_file(path / name / kRunList) ||
                       std::any_of(below.begin(), below.end(), [&](const std::string& node) {
                         return has_record(path / name / node);
                       });
    if (suite) suites.push_back(name);
  }
  if (!any_record && suites.size() == 1) return read_run(path / suites.front());
  if (!any_record && suites.size() > 1)
    return bad_input(fmt::format("{}: holds {} suites ({}, …); give one of these folders",
                                 path.string(), suites.size(), suites.front()));
  for (const std::string& name : folders)
    if (has_record(path / name) || is_node_name(name)) add(path / name);
  if (run.records.empty() && run.damaged.empty() && is_node_name(path.filename().string()))
    add(path);
  if (run.records.empty() && run.damaged.empty())
    return bad_input(path.string() +
                     ": holds no records; give a suite's folder in the results folder");
  keep_latest(run);
  return run;
}

tl::unexpected<Error> nothing_found(const RunRecords& run, const std::string& otherwise) {
  if (run.damaged.empty()) return bad_input(otherwise);
  if (run.damaged.size() == 1) return bad_input(run.damaged.front());
  std::string list;
  for (const std::string& sentence : run.damaged) list += "\n  " + sentence;
  return bad_input(fmt::format("{}: {} of its folders cannot be read:{}", run.path.string(),
                               run.damaged.size(), list));
}

Result<std::optional<StoredRecord>> find_record(const fs::path& suite_folder,
                                                const std::string& node_key) {
  NB_TRY(const auto folders, sub_folders(suite_folder));
  for (const std::string& name : folders) {
    const fs::path folder = suite_folder / name;
    if (!name.ends_with("-" + node_key.substr(0, 8)) || !has_record(folder)) continue;
    NB_TRY(Record record, read_stored(folder));
    if (record.node_key == node_key) return StoredRecord{std::move(record), folder};
  }
  return std::optional<StoredRecord>();
}

Result<void> write_run_list(const fs::path& suite_folder,
                            const std::vector<std::string>& node_folders) {
  return write_json(suite_folder / kRunList, Json{{"nodes", node_folders}});
}

Result<std::optional<std::vector<std::string>>> read_run_list(const fs::path& suite_folder) {
  const fs::path path = suite_folder / kRunList;
  if (!is_file(path)) return std::optional<std::vector<std::string>>();
  NB_TRY(const Json json, read_json(path));
  const auto bad = [&] {
    return bad_input(path.string() + ": /nodes is not a list of folder names; run the suite again");
  };
  if (!json.is_object() || !json.contains("nodes") || !json.at("nodes").is_array()) return bad();
  std::vector<std::string> names;
  for (const Json& entry : json.at("nodes")) {
    if (!entry.is_string() || !inside(entry.get<std::string>())) return bad();
    names.push_back(entry.get<std::string>());
  }
  return std::optional(std::move(names));
}

bool is_node_name(const std::string& name) {
  return name.size() > 9 && name[name.size() - 9] == '-' &&
         name.find_first_not_of("0123456789abcdef", name.size() - 8) == std::string::npos;
}

Result<std::vector<std::string>> list_suites(const fs::path& results) {
  NB_TRY(const auto folders, sub_folders(results));
  std::vector<std::string> suites;
  for (const std::string& name : folders) {
    NB_TRY(const auto below, sub_folders(results / name));
    const bool has_nodes = std::any_of(below.begin(), below.end(), [&](const std::string& node) {
      return has_record(results / name / node);
    });
    if (has_nodes || is_file(results / name / kRunList)) suites.push_back(name);
  }
  return suites;
}

}  // namespace nb
