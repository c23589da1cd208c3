// One reader a format; formats.cpp is the table of them.
#pragma once

#include <filesystem>

#include "harness/base/result.hpp"
#include "results/import/builder.hpp"
#include "results/import/formats.hpp"

namespace nb {

// item,outcome  or  task,item,outcome: one item a row. task,accuracy,n: totals.
bool is_items_csv(const FileHead& head);
Result<void> read_items_csv(const std::filesystem::path& path, ForeignBuilder& builder);
bool is_totals_csv(const FileHead& head);
Result<void> read_totals_csv(const std::filesystem::path& path, ForeignBuilder& builder);

// lm-evaluation-harness: totals of releases 0.3 and 0.4, rows of 0.4, rows of 0.3 (--write_out).
bool is_lm_eval_results(const FileHead& head);
Result<void> read_lm_eval_results(const std::filesystem::path& path, ForeignBuilder& builder);
bool is_lm_eval_samples(const FileHead& head);
Result<void> read_lm_eval_samples(const std::filesystem::path& path, ForeignBuilder& builder);
bool is_lm_eval_write_out(const FileHead& head);
Result<void> read_lm_eval_write_out(const std::filesystem::path& path, ForeignBuilder& builder);

// inspect_ai: logs as archives and as JSON.
bool is_inspect_eval(const FileHead& head);
Result<void> read_inspect_eval(const std::filesystem::path& path, ForeignBuilder& builder);
bool is_inspect_json(const FileHead& head);
Result<void> read_inspect_json(const std::filesystem::path& path, ForeignBuilder& builder);

}  // namespace nb
