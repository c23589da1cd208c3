// Bits per byte of any text (nanochat's loss_eval.py): nats of all tokens over ln 2 times the bytes
// of the text. A document begins with <|bos|>, which is no part of the text: it is never scored and
// has no bytes. What is longer than a window (the context, or what settings say) is scored in
// several, each beginning with the last token of the one before, which is scored there.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "evals/base/eval_context.hpp"
#include "evals/base/evaluator.hpp"
#include "evals/base/task.hpp"
#include "evals/text/documents.hpp"

namespace nb {

// Part of comparability: raise it when the same model could get another score from the same texts.
inline constexpr std::string_view kTextScorerVersion = "text-1";
inline constexpr std::string_view kLossTask = "loss";  // Task::kind

class TextEvaluator : public ScoringEvaluator {
 public:
  // Documents in the order of the files, the first max_per_task of them.
  TextEvaluator(std::string task, Texts texts, const EvalContext& context);

  std::size_t size() const override { return texts_.documents.size(); }
  std::string item_id(std::size_t i) const override { return texts_.documents[i].id; }
  std::string public_id(std::size_t i) const override { return texts_.documents[i].public_id; }
  std::string item_bytes(std::size_t i) const override { return texts_.documents[i].text; }
  std::vector<std::string> prompts(std::size_t i) const override {
    return {texts_.documents[i].text};
  }
  Gold gold(std::size_t) const override { return {}; }
  bool has_answers() const override { return false; }
  double baseline_percent() const override { return 0; }
  double guessing() const override { return 0; }
  std::map<std::string, std::string> comparability() const override;
  // "<task>/windows": "whole documents", or how they were cut.
  std::map<std::string, std::string> more_comparability(std::span<const ItemRecord> items,
                                                        std::int64_t context_length) const override;
  // bits_per_byte of all and, of several, of each file; nats_per_token of all.
  std::vector<Metric> more_metrics(std::span<const ItemRecord> items) const override;
  Result<void> check_tokenizer(const Tokenizer& tokenizer) const override;
  // One request a window. An error when the context holds less than the window of the settings.
  Result<Requests> requests(std::size_t i, const Tokenizer& tokenizer,
                            std::int64_t context_length) const override;
  // ItemRecord::loss.
  ItemRecord grade(std::size_t i, std::span<const ScoreRequest> requests,
                   std::span<const ScoreResult> scores, const Tokenizer& tokenizer) const override;

 private:
  std::int64_t window(std::int64_t context_length) const;

  std::string task_;
  Texts texts_;
  std::optional<std::int64_t> window_;
};

// The texts of the settings. An error where there are none, or where they changed.
Result<std::unique_ptr<Evaluator>> load_texts(const Task& task, const EvalContext& context);

}  // namespace nb
