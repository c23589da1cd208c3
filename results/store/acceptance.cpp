#include "results/store/acceptance.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <system_error>
#include <tuple>

#include "harness/base/file_lock.hpp"
#include "harness/base/fs.hpp"
#include "harness/base/hash.hpp"
#include "harness/base/host_info.hpp"
#include "harness/base/json_io.hpp"

namespace nb {
namespace {

constexpr const char* kRecord = "record.json";
constexpr const char* kGates = "gates.jsonl";
constexpr const char* kLock = ".lock";

fs::path canonical_of(const fs::path& path) {
  std::error_code ignored;
  return fs::weakly_canonical(path, ignored);
}

// Node folders of a run with the digest of their record.
Result<std::map<std::string, std::string>> nodes_of(const RunRecords& run) {
  std::map<std::string, std::string> nodes;
  for (const StoredRecord& stored : run.records) {
    NB_TRY(std::string digest, sha256_file(stored.folder / kRecord));
    nodes[stored.folder.filename().string()] = std::move(digest);
  }
  if (nodes.empty()) return bad_input(run.path.string() + ": has no records");
  return nodes;
}

std::string digest_of(const std::map<std::string, std::string>& nodes) {
  Sha256 hash;
  for (const auto& [folder, digest] : nodes) hash.update(fmt::format("{} {}\n", folder, digest));
  return hash.hex();
}

// The folder of the run that the pointer means.
fs::path folder_of(const Acceptance& accepted, const fs::path& pointer) {
  const fs::path beside = canonical_of(pointer).parent_path();
  if (pointer.filename() == kAcceptedFile) return beside;  // the copy in the run itself
  return beside.parent_path() / accepted.run;
}

Result<void> check_acceptable(const RunRecords& run, const std::string& who,
                              const std::string& why) {
  if (why.empty())
    return bad_input("accept: say why (--why \"…\"): whoever asks later will want to know");
  if (who.empty()) return bad_input("accept: say who accepts it (--who NAME)");
  if (!run.damaged.empty())
    return bad_input("accept: only a whole run can be a baseline: " + run.damaged.front());
  for (const StoredRecord& stored : run.records)
    if (stored.record.status != "ok")
      return bad_input(fmt::format("accept: {}: {} failed ({}); only a whole run can be a baseline",
                                   run.path.string(), describe(stored.record),
                                   stored.record.error));
  return {};
}

// The last whole line of the history about this suite; nothing where there is none.
Result<std::optional<Acceptance>> last_line_of(const fs::path& history, const std::string& suite) {
  std::optional<Acceptance> last;
  std::error_code ignored;
  if (!fs::exists(history, ignored)) return last;
  NB_TRY(const std::string text, read_file(history));
  for (std::size_t begin = 0, end; (end = text.find('\n', begin)) != text.npos; begin = end + 1) {
    const auto json =
        parse_json_line(std::string_view(text).substr(begin, end - begin), history.string());
    // Half a line of a killed process, or what a newer program wrote.
    if (!json || !json->is_object()) continue;
    auto line = parse_struct<Acceptance>(*json, history.string());
    if (line && line->suite == suite) last = std::move(*line);
  }
  return last;
}

bool is_same_decision(const Acceptance& a, const Acceptance& b) {
  return std::tie(a.suite, a.run, a.digest, a.who, a.why, a.nodes) ==
         std::tie(b.suite, b.run, b.digest, b.who, b.why, b.nodes);
}

}  // namespace

FieldList Acceptance::fields() {
  return {
      {"schema", "npubench.accepted/1", &schema, {.one_of = {kAcceptedSchema}, .required = true}},
      {"suite", "of the run", &suite, {.required = true}},
      {"run", "its folder", &run, {.required = true}},
      {"digest", "of its records", &digest, {.required = true}},
      {"who", "accepted it", &who},
      {"when", "UTC", &when},
      {"why", "for those who ask later", &why},
      {"nodes", "node folder → SHA-256 of its record.json", &nodes, {.required = true}}};
}

Result<std::string> run_digest(const RunRecords& run) {
  NB_TRY(const auto nodes, nodes_of(run));
  return digest_of(nodes);
}

fs::path gate_home(const fs::path& run) {
  const fs::path beside = canonical_of(run).parent_path();
  constexpr int kLevels = 4;
  fs::path folder = beside;
  std::error_code ignored;
  for (int level = 0; level < kLevels; ++level, folder = folder.parent_path()) {
    if (fs::is_directory(folder / kAcceptedFolder, ignored) ||
        fs::is_regular_file(folder / kGates, ignored))
      return folder;
    if (folder == folder.parent_path()) break;
  }
  return beside;
}

Result<Acceptance> accept_run(const RunRecords& run, const fs::path& home, const std::string& who,
                              const std::string& why) {
  NB_TRY_VOID(check_acceptable(run, who, why));
  Acceptance accepted;
  NB_TRY(accepted.nodes, nodes_of(run));
  accepted.suite = run.path.filename().string();
  const fs::path folder = canonical_of(run.path);
  const fs::path below = folder.lexically_relative(canonical_of(home));
  accepted.run = below.empty() || *below.begin() == ".." ? folder.string() : below.string();
  accepted.digest = digest_of(accepted.nodes);
  accepted.who = who;
  accepted.when = utc_time_text();
  accepted.why = why;
  const fs::path pointers = home / kAcceptedFolder;
  const fs::path history = pointers / kAcceptedHistory;
  // Not of the history itself: it is written anew, and who waits for it would go on before the
  // pointers are there.
  NB_TRY(const FileLock one_at_a_time, FileLock::acquire(pointers / kLock, {}));
  NB_TRY(const auto last, last_line_of(history, accepted.suite));
  // Killed after its line and called again: the line stands, what comes after it is written anew.
  const bool is_known = last && is_same_decision(*last, accepted);
  if (is_known) accepted.when = last->when;
  const Json json = print_struct(accepted);
  NB_TRY(const std::string line, dump_json(json, -1));
  if (!is_known) NB_TRY_VOID(append_line(history, line));
  NB_TRY_VOID(write_json(folder / kAcceptedFile, json));
  NB_TRY_VOID(write_json(pointers / (accepted.suite + ".json"), json));
  return accepted;
}

Result<std::optional<Acceptance>> find_accepted(const fs::path& home, const std::string& suite) {
  const fs::path path = home / kAcceptedFolder / (suite + ".json");
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return std::optional<Acceptance>();
  NB_TRY(const Json json, read_json(path));
  NB_TRY(Acceptance accepted, parse_struct<Acceptance>(json, path.string()));
  return std::optional(std::move(accepted));
}

Result<RunRecords> read_accepted(const fs::path& pointer) {
  NB_TRY(const Json json, read_json(pointer));
  NB_TRY(const Acceptance accepted, parse_struct<Acceptance>(json, pointer.string()));
  if (digest_of(accepted.nodes) != accepted.digest)
    return bad_input(
        fmt::format("{}: /digest is not that of /nodes: the file was edited; accept "
                    "the run again",
                    pointer.string()));
  RunRecords run;
  run.path = folder_of(accepted, pointer);
  for (const auto& [node, digest] : accepted.nodes) {
    if (node.find('/') != std::string::npos || node == "..")
      return bad_input(fmt::format("{}: /nodes: \"{}\" is no node folder", pointer.string(), node));
    const fs::path folder = run.path / node;
    const auto found = sha256_file(folder / kRecord);
    if (!found) {
      run.damaged.push_back(found.error().message + "; it was accepted on " + accepted.when);
      continue;
    }
    if (*found != digest) {
      run.damaged.push_back(fmt::format("{}: changed since it was accepted on {}",
                                        (folder / kRecord).string(), accepted.when));
      continue;
    }
    auto record = read_record(folder);
    if (record)
      run.records.push_back({std::move(*record), folder});
    else
      run.damaged.push_back(record.error().message);
  }
  std::stable_sort(run.records.begin(), run.records.end(), [](const auto& a, const auto& b) {
    const auto key = [](const Record& r) {
      return std::tie(r.kind, r.name, r.trained_on, r.device, r.seed);
    };
    return key(a.record) < key(b.record);
  });
  return run;
}

}  // namespace nb
