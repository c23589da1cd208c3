// Foreign results as records, so that compare, gate and report see nothing special.
#pragma once

#include <filesystem>
#include <string>

#include "harness/base/result.hpp"
#include "results/foreign/foreign.hpp"
#include "results/store/store.hpp"

namespace nb {

// The key of a series in Record::items, and its metric: "gsm8k:strict-match/exact_match".
std::string item_key(const SeriesName& name);

// One record per run: kind "eval" (or "train" where it has metrics alone), name = model (and
// stage), metrics "<task>[:<filter>]/<metric>", items in memory (StoredRecord::items).
RunRecords records_of(ForeignResults results);

// A run folder of ours, or anything that read_any_foreign knows. What `compare`, `gate` and
// `report` take.
Result<RunRecords> read_any_run(const std::filesystem::path& path);

// Writes records and items as a run folder that read_run reads: <folder>/<name>-<key8>/record.json.
Result<void> write_import(const ForeignResults& results, const std::filesystem::path& folder);

}  // namespace nb
