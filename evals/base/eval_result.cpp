#include "evals/base/eval_result.hpp"

#include <nlohmann/json.hpp>

namespace nb {

void add_to_record(std::span<const EvalResult> results, Record& record) {
  for (const EvalResult& result : results) {
    record.metrics.insert(record.metrics.end(), result.metrics.begin(), result.metrics.end());
    record.comparability.insert(result.comparability.begin(), result.comparability.end());
    for (const auto& [key, value] : result.environment) (*record.environment)[key] = value;
  }
}

}  // namespace nb
