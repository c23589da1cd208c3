#include "evals/chat/letter_evaluator.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "evals/base/choice.hpp"
#include "evals/base/eval_metrics.hpp"
#include "evals/base/part_metrics.hpp"
#include "evals/chat/order.hpp"
#include "evals/chat/prompt.hpp"
#include "evals/data/manifest.hpp"
#include "harness/base/check.hpp"
#include "model/data/microworld_chat.hpp"
#include "model/tokenizer/chat_tokens.hpp"
#include "results/store/metric_names.hpp"
#include "results/store/no_score.hpp"

namespace nb {

LetterEvaluator::LetterEvaluator(std::string task, std::vector<ChoiceItem> items,
                                 const EvalContext& context)
    : task_(std::move(task)),
      items_(std::move(items)),
      kept_(chat_order(items_.size(), context.settings.max_per_task)),
      fault_(context.fault ? context.fault(task_) : ScorerFault::kNone) {}

std::vector<std::string> LetterEvaluator::prompts(std::size_t i) const {
  return {choice_prompt(item(i))};
}

Gold LetterEvaluator::gold(std::size_t i) const {
  Gold gold;
  gold.request = item(i).gold;
  return gold;
}

ItemText LetterEvaluator::shown_text(std::size_t i) const {
  ItemText text = Evaluator::shown_text(i);
  const ChoiceItem& shown = item(i);
  text.question = shown.question;
  for (std::size_t k = 0; k < shown.choices.size(); ++k)
    text.choices.push_back(shown.letters[k] + ": " + shown.choices[k]);
  text.reference = text.choices[shown.gold];
  return text;
}

double LetterEvaluator::guessing() const {
  double sum = 0;
  for (std::size_t i = 0; i < size(); ++i) sum += 1.0 / static_cast<double>(item(i).choices.size());
  return sum / static_cast<double>(size());
}

std::map<std::string, std::string> LetterEvaluator::comparability() const {
  return {{task_ + "/scorer", std::string(kLetterScorerVersion)}, {task_ + "/order", kChatOrder}};
}

std::vector<Metric> LetterEvaluator::more_metrics(std::span<const ItemRecord> items) const {
  std::map<std::string_view, std::string_view> subject_of;  // by id
  for (std::size_t i = 0; i < size(); ++i) subject_of.emplace(item(i).id, item(i).subject);
  struct Count {
    std::int64_t right = 0, all = 0;
  };
  std::map<std::string_view, Count> counts;
  for (const ItemRecord& record : items) {
    Count& count = counts[subject_of.at(record.id)];
    count.right += record.ok ? 1 : 0;
    ++count.all;
  }
  if (counts.size() < 2) return {};
  std::vector<Metric> metrics;
  for (const auto& [subject, count] : counts) {
    const double accuracy = static_cast<double>(count.right) / static_cast<double>(count.all);
    metrics.push_back(as_part(
        task_metric(task_, metric::kAccuracy, accuracy, count.all, wilson(count.right, count.all)),
        subject));
  }
  return metrics;
}

Result<void> LetterEvaluator::check_tokenizer(const Tokenizer& tokenizer) const {
  NB_TRY_VOID(chat_tokens(tokenizer));
  std::set<std::string> letters;
  for (const std::size_t row : kept_)
    letters.insert(items_[row].letters.begin(), items_[row].letters.end());
  for (const std::string& letter : letters)
    if (const std::size_t tokens = tokenizer.encode(letter).size(); tokens != 1)
      return bad_input(
          fmt::format("{}: the letter \"{}\" is {} tokens, but must be a single token to be "
                      "scored; use another tokenizer",
                      tokenizer_name(tokenizer), letter, tokens));
  return {};
}

Result<ScoringEvaluator::Requests> LetterEvaluator::requests(std::size_t i,
                                                             const Tokenizer& tokenizer,
                                                             std::int64_t context_length) const {
  // The letter needs a place too.
  NB_TRY(const ChatPrompt prompt,
         chat_prompt(tokenizer, conversation_of(item(i)), context_length - 1));
  Requests result;
  result.cut_tokens = prompt.cut_tokens;
  for (const std::string& letter : item(i).letters) {
    ScoreRequest request;
    request.tokens = prompt.tokens;
    tokenizer.encode_append(letter, request.tokens);
    request.start = prompt.tokens.size();
    request.end = request.tokens.size();
    NB_CHECK(request.end == request.start + 1, "[letter] \"{}\" is not one token", letter);
    result.scores.push_back(std::move(request));
  }
  return result;
}

ItemRecord LetterEvaluator::grade(std::size_t i, std::span<const ScoreRequest>,
                                  std::span<const ScoreResult> scores, const Tokenizer&) const {
  ItemRecord record;
  record.gold = item(i).letters[item(i).gold];
  if (!are_finite(scores)) {
    // A model that tells no more than an order has no numbers: it told none of the letters.
    record.reason = scores.front().is_ranking ? kNoLetters : kNotFinite;
    return record;
  }
  std::vector<float> log_probs;
  for (const ScoreResult& score : scores) log_probs.push_back(score.log_probs.front());
  const std::size_t predicted =
      fault_ == ScorerFault::kSecondBest ? second_best_choice(log_probs) : torch_argmax(log_probs);
  if (!scores.front().is_ranking) record.log_probs = std::move(log_probs);
  record.prediction = item(i).letters[predicted];
  record.ok = predicted == item(i).gold;
  return record;
}

namespace {

// Of one subject, where the task names one.
Result<void> keep_variant(const Task& task, std::vector<ChoiceItem>& items) {
  if (task.variant.empty()) return {};
  std::erase_if(items, [&](const ChoiceItem& item) { return item.subject != task.variant; });
  if (!items.empty()) return {};
  return bad_input(fmt::format("{}: there is no question of this subject", task.id));
}

template <class Read>
Result<std::unique_ptr<Evaluator>> load(const Task& task, const EvalContext& context, Read read) {
  const std::string id(task.id);
  NB_TRY(const ResolvedFile file, resolve(data_manifest(), task.dataset, context.data_dir), id);
  NB_TRY(std::vector<ChoiceItem> items, read(file.path), id);
  NB_TRY_VOID(keep_variant(task, items));
  return std::make_unique<LetterEvaluator>(id, std::move(items), context);
}

}  // namespace

Result<std::unique_ptr<Evaluator>> load_chat_arc(const Task& task, const EvalContext& context) {
  return load(task, context, read_arc);
}

Result<std::unique_ptr<Evaluator>> load_mmlu(const Task& task, const EvalContext& context) {
  return load(task, context, read_mmlu);
}

Result<std::unique_ptr<Evaluator>> load_microworld_choices(const Task& task,
                                                           const EvalContext& context) {
  const std::string id(task.id);
  NB_TRY(std::vector<ChoiceItem> items,
         microworld_test_items<ChoiceItem>(context.microworld, id.substr(0, id.find(':'))), id);
  for (std::size_t i = 0; i < items.size(); ++i) items[i].public_id = fmt::format("test {}", i);
  NB_TRY_VOID(keep_variant(task, items));
  return std::make_unique<LetterEvaluator>(id, std::move(items), context);
}

}  // namespace nb
