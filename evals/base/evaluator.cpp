#include "evals/base/evaluator.hpp"

#include <utility>

namespace nb {

std::vector<Metric> Evaluator::more_metrics(std::span<const ItemRecord>) const { return {}; }

Result<void> Evaluator::check_tokenizer(const Tokenizer&) const { return {}; }

std::string GeneratingEvaluator::stored_text(std::size_t, std::string completion) const {
  return completion;
}

std::string GeneratingEvaluator::stored_solution(std::size_t, std::string solution) const {
  return solution;
}

}  // namespace nb
