#include "harness/run/finished_trainings.hpp"

#include <algorithm>

#include "harness/base/fs.hpp"
#include "harness/run/training_history.hpp"

namespace nb {

FinishedTrainings finished_trainings(const RunRecords& run) {
  FinishedTrainings result;
  for (const StoredRecord& training : run.records) {
    const Record& record = training.record;
    if (record.kind != "train" || record.status != "ok" || !record.seed) continue;
    const auto tokenizer = std::ranges::find_if(run.records, [&](const StoredRecord& other) {
      return other.record.kind == "tokenizer" &&
             std::ranges::find(record.parents, other.record.node_key) != record.parents.end();
    });
    const auto file = checkpoint_file(record, {}, training.folder.string());
    std::error_code error;
    if (!file || tokenizer == run.records.end() || !fs::exists(training.folder / *file, error) ||
        !fs::exists(tokenizer->folder / "tokenizer.json", error)) {
      ++result.removed;
      continue;
    }
    result.found.push_back({record.name, record.device, static_cast<std::uint64_t>(*record.seed),
                            record.node_key, tokenizer->record.node_key, training.folder.string(),
                            tokenizer->folder.string()});
  }
  return result;
}

}  // namespace nb
