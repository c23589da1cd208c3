// ARC and MMLU as nanochat's chat evaluation asks them (tasks/common.py, chat_eval.py): the letter
// whose logit right after <|assistant_start|> is highest. One request a letter: the prompt and the
// letter.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "evals/base/eval_context.hpp"
#include "evals/base/evaluator.hpp"
#include "evals/base/task.hpp"
#include "model/data/tasks/multiple_choice.hpp"

namespace nb {

// Part of comparability: raise it when the same model could get another score from the same items.
inline constexpr std::string_view kLetterScorerVersion = "letter-1";

class LetterEvaluator : public ScoringEvaluator {
 public:
  // items in file order: shuffled and cropped here.
  LetterEvaluator(std::string task, std::vector<ChoiceItem> items, const EvalContext& context);

  std::size_t size() const override { return kept_.size(); }
  std::string item_id(std::size_t i) const override { return item(i).id; }
  std::string public_id(std::size_t i) const override { return item(i).public_id; }
  std::string item_bytes(std::size_t i) const override { return nb::item_bytes(item(i)); }
  std::vector<std::string> prompts(std::size_t i) const override;
  Gold gold(std::size_t i) const override;
  ItemText shown_text(std::size_t i) const override;
  double baseline_percent() const override {
    return 25;
  }  // nanochat chat_eval.py, whatever the items have
  double guessing() const override;
  std::map<std::string, std::string> comparability() const override;
  // "<task>/<subject>/accuracy" of each subject, where the items have several.
  std::vector<Metric> more_metrics(std::span<const ItemRecord> items) const override;
  // Every letter of every item must be one token.
  Result<void> check_tokenizer(const Tokenizer& tokenizer) const override;
  Result<Requests> requests(std::size_t i, const Tokenizer& tokenizer,
                            std::int64_t context_length) const override;
  // prediction and gold are letters, log_probs one a letter.
  ItemRecord grade(std::size_t i, std::span<const ScoreRequest> requests,
                   std::span<const ScoreResult> scores, const Tokenizer& tokenizer) const override;

 private:
  const ChoiceItem& item(std::size_t i) const { return items_[kept_[i]]; }

  std::string task_;
  std::vector<ChoiceItem> items_;
  std::vector<std::size_t> kept_;  // rows, in the order evaluated
  ScorerFault fault_;
};

Result<std::unique_ptr<Evaluator>> load_chat_arc(const Task& task, const EvalContext& context);
Result<std::unique_ptr<Evaluator>> load_mmlu(const Task& task, const EvalContext& context);
// mw/arc_easy, mw/arc_challenge, mw/mmlu: about the generated world.
Result<std::unique_ptr<Evaluator>> load_microworld_choices(const Task& task,
                                                           const EvalContext& context);

}  // namespace nb
