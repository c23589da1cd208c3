// GSM8K and SpellingBee: the model talks, with the calculator at hand, and its answer is the number
// behind "#### " (nanochat's tasks/gsm8k.py, tasks/spellingbee.py).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "evals/base/eval_context.hpp"
#include "evals/base/evaluator.hpp"
#include "evals/base/task.hpp"
#include "evals/chat/answer_filter.hpp"

namespace nb {

// Part of comparability: raise it when the same model could get another score from the same items.
inline constexpr std::string_view kNumberScorerVersion = "number-1";

// Share of texts without any "#### number": "<task>/extraction_failures", lower is better.
inline constexpr const char* kExtractionFailures = "extraction_failures";

struct NumberItem {
  std::string id;         // 16 hex digits of a hash of the content
  std::string public_id;  // "row 7", "test 12"
  std::string bytes;      // item_bytes of the item that it comes from
  std::string question;
  std::string answer;  // a text that ends in "#### 72"
};

class NumberEvaluator : public GeneratingEvaluator {
 public:
  // items in the order evaluated, cropped.
  NumberEvaluator(std::string task, std::string order, std::vector<NumberItem> items,
                  const EvalContext& context, AnswerFilter filter = AnswerFilter::kStrict);

  std::size_t size() const override { return items_.size(); }
  std::string item_id(std::size_t i) const override { return items_[i].id; }
  std::string public_id(std::size_t i) const override { return items_[i].public_id; }
  std::string item_bytes(std::size_t i) const override { return items_[i].bytes; }
  std::vector<std::string> prompts(std::size_t i) const override { return {items_[i].question}; }
  Gold gold(std::size_t i) const override;
  ItemText shown_text(std::size_t i) const override;
  double baseline_percent() const override { return 0; }
  double guessing() const override { return 0; }
  std::map<std::string, std::string> comparability() const override;
  std::vector<Metric> more_metrics(std::span<const ItemRecord> items) const override;
  Result<void> check_tokenizer(const Tokenizer& tokenizer) const override;
  Result<Prompt> prompt(std::size_t i, const Tokenizer& tokenizer,
                        std::int64_t max_tokens) const override;
  // prediction: the number of the first text (at most 40 characters), or the majority's; reason "no
  // answer" when no text has one.
  Result<ItemRecord> grade(std::size_t i, std::span<const std::string> texts) const override;
  // An answer: as it is. A completion: a last line "A: 72", as in the solutions that come with
  // GSM8K, counts as "#### 72". There are no programs.
  std::string stored_text(std::size_t i, TextForm form, std::string text) const override;
  bool has_form(TextForm form) const override { return form != TextForm::kProgram; }
  ChosenForm guess_form(const GivenText& text) const override;
  std::map<std::string, std::string> form_comparability(TextForm form) const override;

 private:
  std::optional<std::string> extracted(std::string_view text) const;
  std::string extraction(TextForm form) const;

  std::string task_, order_;
  AnswerFilter filter_;
  std::int64_t samples_;
  std::vector<NumberItem> items_;
  ScorerFault fault_;
};

// An error where a model would be asked for the majority of samples that cannot differ.
Result<void> check_sampling(const Task& task, const EvalSettings& settings);

// Their variants are the answer filters; majority is an error with fewer than two samples.
Result<std::unique_ptr<Evaluator>> load_gsm8k(const Task& task, const EvalContext& context);
// 256 examples of the test split (or max_per_task, if that is less).
Result<std::unique_ptr<Evaluator>> load_spellingbee(const Task& task, const EvalContext& context);
// mw/gsm8k and mw/spellingbee: about the generated world and its words.
Result<std::unique_ptr<Evaluator>> load_microworld_problems(const Task& task,
                                                            const EvalContext& context);
Result<std::unique_ptr<Evaluator>> load_microworld_spelling(const Task& task,
                                                            const EvalContext& context);

}  // namespace nb
