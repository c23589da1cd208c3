// Accepted runs: who took which run as the new baseline, when and why. One pointer a suite
// (accepted/<suite>.json), a copy in the run's folder (which keeps it from `runs gc`), and a line
// in accepted/history.jsonl that is never changed. A pointer lists the nodes it means with digests
// of their records, so the next run of the same suite may write the same folder.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "harness/base/fields.hpp"
#include "harness/base/result.hpp"
#include "results/store/store.hpp"

namespace nb {

inline constexpr const char* kAcceptedSchema = "npubench.accepted/1";
inline constexpr const char* kAcceptedFolder = "accepted";
inline constexpr const char* kAcceptedFile = "accepted.json";
inline constexpr const char* kAcceptedHistory = "history.jsonl";

struct Acceptance {
  std::string schema = kAcceptedSchema;
  std::string suite;
  std::string run;     // folder, relative to the one that holds accepted/ where it is below that
  std::string digest;  // run_digest
  std::string who, when, why;
  std::map<std::string, std::string> nodes;  // node folder → SHA-256 of its record.json
  FieldList fields();
};

// SHA-256 over node folders and their record.json: equal digests, equal runs. Errors: a folder
// without records on disk.
Result<std::string> run_digest(const RunRecords& run);

// Where acceptances and gates.jsonl of a run are: the nearest folder above it that holds either,
// else the folder it lies in.
std::filesystem::path gate_home(const std::filesystem::path& run);

// Refused: an empty `why` or `who`, damaged or failed nodes. Written whole: history first, then the
// copy in the run, the pointer last. The suite's last decision once more (same run, records, who
// and why, as after a kill) is no second line and keeps its time.
Result<Acceptance> accept_run(const RunRecords& run, const std::filesystem::path& home,
                              const std::string& who, const std::string& why);

// The pointer of a suite; nothing where none was accepted yet.
Result<std::optional<Acceptance>> find_accepted(const std::filesystem::path& home,
                                                const std::string& suite);
// The accepted records. `pointer`: accepted/<suite>.json, or accepted.json of a run folder. Records
// that are gone or were changed since are `damaged`.
Result<RunRecords> read_accepted(const std::filesystem::path& pointer);

}  // namespace nb
