// Tasks that users bring: a YAML file in core.yaml's form (core_yaml.hpp) and a JSONL of rows a
// task. Their ids begin with "own/", so that none is ever taken for a task of CORE, and every score
// carries a digest of the task's entry and rows: another file, another measurement.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "evals/core/task.hpp"
#include "harness/base/result.hpp"

namespace nb {

bool is_own(const CoreTask& task);  // its dataset is then the path of its rows

// The tasks of all files, in order. dataset_uri is relative to the YAML file's folder or, as in
// nanochat's bundle, to eval_data/ in it. Rows are not read yet. Errors name file and line: what
// core_yaml.hpp says, a label that cannot name files of results, one that two files have, rows that
// are not there.
Result<std::vector<CoreTask>> read_own_tasks(std::span<const std::string> yaml_files);

// 64 hex digits: label, type, shots and delimiter of the entry and the bytes of its rows.
Result<std::string> own_digest(const CoreTask& task);
struct OwnRows {
  std::vector<CoreItem> items;
  std::string digest;
};
// Errors name file and line (items.hpp).
Result<OwnRows> read_own_rows(const CoreTask& task);

}  // namespace nb
