// Run folders: <results>/<suite>/<node-name>-<key8>/record.json with the node's other files beside
// it. A record appears whole and last, or not at all. Several processes may write different nodes
// of one suite.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/result.hpp"
#include "results/messages/message.hpp"
#include "results/store/curve.hpp"
#include "results/store/packed_items.hpp"
#include "results/store/record.hpp"

namespace nb {

// Characters of node_name outside [A-Za-z0-9._-] become '_'. Creates nothing. key: at least 8 hex
// digits.
std::filesystem::path node_folder(const std::filesystem::path& results, const std::string& suite,
                                  const std::string& node_name, const std::string& node_key);
// A file, folder or whatever else of a record's name is there.
bool has_record(const std::filesystem::path& folder);

// The last act of a node. Digests of artifacts that are empty texts are computed from the files
// first. Append-only: a failed record may be replaced; an ok one only by one of the same results
// (same key, same bits), anything else is an error that names the first difference.
Result<void> write_record(const std::filesystem::path& folder, Record record);
// Schema, fields and key are checked, files are not (verify_artifacts). Errors name the file, the
// line and column or the JSON pointer.
Result<Record> read_record(const std::filesystem::path& folder);

struct StoredRecord {
  Record record;
  std::filesystem::path folder;  // of a foreign result: the file or folder that it was read from
  // Of a foreign result (import/to_records.hpp): items by the keys of record.items, which are no
  // files then. nullptr: files in the folder.
  std::shared_ptr<const std::map<std::string, PackedItems>> items = nullptr;
  // The same of a foreign training log; nullptr: steps.csv in the folder, where artifacts lists it.
  std::shared_ptr<const Curve> curve = nullptr;
};
// Made from another harness's results, in memory or as a folder that `import` wrote.
bool is_imported(const Record& record);
// Both name their weights (`subject`), and by the same digest.
bool has_same_weights(const Record& a, const Record& b);
// Stage of training that the record's model comes from, "base", "mid", "sft", "dpo" or "rl": what a
// foreign result or a captured run says, else the beginning of the node's name. Empty: not known.
std::string stage_of(const Record& record);
// Every listed file is there with its digest; the error names the file and both digests.
Result<void> verify_artifacts(const StoredRecord& stored);
Result<void> verify_artifact(const StoredRecord& stored, const std::string& file);

struct RunRecords {
  std::filesystem::path path;
  std::vector<StoredRecord> records;  // sorted by kind, name, trained_on, device, seed
  std::vector<std::string> damaged;   // one sentence each: unreadable or unfinished folders
  std::vector<Sentence> notes;        // one sentence each: skipped, superseded by a later one
};
// A suite folder, a results folder that holds exactly one suite, or one node's folder. With
// run.json only the folders it lists count; without, every folder named as a node's, and of records
// of the same node the one that finished last. A folder without any such is an error.
Result<RunRecords> read_run(const std::filesystem::path& path);
// For those who looked into a run for something in vain: its damage, which is why, or `otherwise`
// when it has none.
tl::unexpected<Error> nothing_found(const RunRecords& run, const std::string& otherwise);
// That node's record, finished or failed, whether run.json lists it or not; nothing when there is
// none.
Result<std::optional<StoredRecord>> find_record(const std::filesystem::path& suite_folder,
                                                const std::string& node_key);
// run.json of a suite folder: the node folders (names) of the plan that ran last, finished or not.
Result<void> write_run_list(const std::filesystem::path& suite_folder,
                            const std::vector<std::string>& node_folders);
// What it says; nothing when there is no such file.
Result<std::optional<std::vector<std::string>>> read_run_list(
    const std::filesystem::path& suite_folder);
// "<node>-<8 hex digits>": a node's folder, not a report's.
bool is_node_name(const std::string& name);
// Names of suite folders under a results folder, sorted.
Result<std::vector<std::string>> list_suites(const std::filesystem::path& results);

}  // namespace nb
