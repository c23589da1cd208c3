#include "harness/run/write_evaluation.hpp"

#include "evals/core/csv.hpp"
#include "harness/base/fs.hpp"
#include "results/items.hpp"

namespace nb {

Result<void> write_evaluation(std::span<const EvalResult> results, const fs::path& folder,
                              Record& record) {
  add_to_record(results, record);
  for (const EvalResult& result : results) {
    if (result.items.empty()) continue;
    const std::string file = items_file(result.task);
    NB_TRY_VOID(write_items(folder / file, result.items));
    record.items[result.task] = file;
    record.artifacts[file] = "";
  }
  if (const std::string csv = core_csv(results); !csv.empty()) {
    NB_TRY_VOID(write_file(folder / kCoreCsvFile, csv));
    record.artifacts[kCoreCsvFile] = "";
  }
  return {};
}

}  // namespace nb
