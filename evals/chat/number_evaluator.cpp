#include "evals/chat/number_evaluator.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "evals/base/eval_metrics.hpp"
#include "evals/chat/order.hpp"
#include "evals/chat/prompt.hpp"
#include "evals/data/manifest.hpp"
#include "model/data/microworld_chat.hpp"
#include "model/data/tasks/gsm8k.hpp"
#include "model/data/tasks/spelling.hpp"
#include "model/data/tasks/word_list.hpp"
#include "model/tokenizer/chat_tokens.hpp"

namespace nb {
namespace {

constexpr std::size_t kShownCharacters = 40;
constexpr std::int64_t kSpellingBeeItems = 256;  // nanochat's tasks/spellingbee.py
constexpr const char* kNoAnswer = "no answer";

std::string shown(const std::optional<std::string>& answer) {
  return answer ? answer->substr(0, kShownCharacters) : "";
}

NumberItem number_item(const Gsm8kItem& item, std::string public_id) {
  return {item.id, std::move(public_id), item_bytes(item), item.question, item.answer};
}
NumberItem number_item(const SpellingBeeItem& item, std::string public_id) {
  return {item.id, std::move(public_id), item_bytes(item), item.question,
          all_text(conversation_of(item).messages.back())};
}

Result<std::unique_ptr<Evaluator>> evaluator_of(const Task& task, std::string order,
                                                std::vector<NumberItem> items,
                                                const EvalContext& context) {
  const AnswerFilter filter = answer_filter(task.variant);
  const EvalSettings& settings = context.settings;
  if (filter == AnswerFilter::kMajority && settings.num_samples < 2)
    return bad_input(fmt::format(
        "{}: one sample is no majority; give num_samples of at least 2 (--samples 8)", task.id));
  return std::make_unique<NumberEvaluator>(task.id, std::move(order), std::move(items), context,
                                           filter);
}

template <class Item>
Result<std::unique_ptr<Evaluator>> load_microworld(const Task& task, const EvalContext& context) {
  const std::string id(task.id);
  NB_TRY(const std::vector<Item> rows,
         microworld_test_items<Item>(context.microworld, id.substr(0, id.find(':'))), id);
  std::vector<NumberItem> items;
  for (const std::size_t row : chat_order(rows.size(), context.settings.max_per_task))
    items.push_back(number_item(rows[row], fmt::format("test {}", row)));
  return evaluator_of(task, kChatOrder, std::move(items), context);
}

}  // namespace

NumberEvaluator::NumberEvaluator(std::string task, std::string order, std::vector<NumberItem> items,
                                 const EvalContext& context, AnswerFilter filter)
    : task_(std::move(task)),
      order_(std::move(order)),
      filter_(filter),
      samples_(context.settings.num_samples),
      items_(std::move(items)),
      fault_(context.fault ? context.fault(task_) : ScorerFault::kNone) {}

Gold NumberEvaluator::gold(std::size_t i) const {
  Gold gold;
  gold.text = items_[i].answer;
  gold.wrong_text = "#### 1" + extract_answer(items_[i].answer).value();
  return gold;
}

ItemText NumberEvaluator::shown_text(std::size_t i) const {
  ItemText text = Evaluator::shown_text(i);
  text.question = items_[i].question;
  text.reference = items_[i].answer;
  return text;
}

std::map<std::string, std::string> NumberEvaluator::comparability() const {
  auto facts = form_comparability(TextForm::kAnswer);
  facts[task_ + "/scorer"] = kNumberScorerVersion;
  facts[task_ + "/order"] = order_;
  return facts;
}

std::vector<Metric> NumberEvaluator::more_metrics(std::span<const ItemRecord> items) const {
  std::int64_t texts = 0, failures = 0;
  for (const ItemRecord& item : items)
    for (const std::string& text : item.texts) {
      ++texts;
      failures += extracted(text) ? 0 : 1;
    }
  if (texts == 0) return {};
  Metric metric = task_metric(task_, kExtractionFailures,
                              static_cast<double>(failures) / static_cast<double>(texts), texts,
                              wilson(failures, texts));
  metric.direction = Direction::kLower;
  return {std::move(metric)};
}

Result<void> NumberEvaluator::check_tokenizer(const Tokenizer& tokenizer) const {
  NB_TRY_VOID(chat_tokens(tokenizer));
  return {};
}

Result<GeneratingEvaluator::Prompt> NumberEvaluator::prompt(std::size_t i,
                                                            const Tokenizer& tokenizer,
                                                            std::int64_t max_tokens) const {
  NB_TRY(ChatPrompt prompt, chat_prompt(tokenizer, asked(items_[i].question), max_tokens));
  return Prompt{std::move(prompt.tokens), prompt.cut_tokens};
}

std::optional<std::string> NumberEvaluator::extracted(std::string_view text) const {
  return filter_ == AnswerFilter::kFlexible ? last_number(text) : extract_answer(text);
}

Result<ItemRecord> NumberEvaluator::grade(std::size_t i, std::span<const std::string> texts) const {
  const std::string number = extract_answer(items_[i].answer).value();
  const std::string wanted = filter_ == AnswerFilter::kFlexible ? plain_number(number) : number;
  const auto is_right = [&](const std::optional<std::string>& answer) {
    return answer == wanted && fault_ != ScorerFault::kSecondBest;
  };
  ItemRecord record;
  record.gold = shown(number);
  record.reason = kNoAnswer;
  std::vector<std::optional<std::string>> answers;
  for (const std::string& text : texts) {
    answers.push_back(extracted(text));
    if (answers.back()) record.reason.clear();
    record.sample_ok.push_back(is_right(answers.back()) ? 1 : 0);
    record.ok = record.ok || is_right(answers.back());
  }
  if (answers.empty()) return record;
  record.prediction = shown(answers.front());
  if (filter_ == AnswerFilter::kMajority) {
    const auto vote = majority(answers);
    record.prediction = shown(vote);
    record.ok = is_right(vote);
  }
  if (texts.size() == 1) record.sample_ok.clear();
  return record;
}

std::string NumberEvaluator::stored_text(std::size_t, TextForm form, std::string text) const {
  return form == TextForm::kAnswer ? text : with_marked_answer(std::move(text));
}

ChosenForm NumberEvaluator::guess_form(const GivenText&) const {
  return {TextForm::kCompletion, "may end with a line \"A: 72\", which counts as \"#### 72\""};
}

std::map<std::string, std::string> NumberEvaluator::form_comparability(TextForm form) const {
  return {{task_ + "/form", std::string(name(form))}, {task_ + "/extraction", extraction(form)}};
}

std::string NumberEvaluator::extraction(TextForm form) const {
  if (filter_ == AnswerFilter::kFlexible) return "last number, flexible-extract";
  const std::string strict =
      form == TextForm::kAnswer ? "#### number" : "#### number, or a last line A: number";
  return filter_ == AnswerFilter::kStrict ? strict
                                          : fmt::format("majority of {}, {}", samples_, strict);
}

Result<void> check_sampling(const Task& task, const EvalSettings& settings) {
  const bool is_number = task.variants == answer_filters;
  if (!is_number || answer_filter(task.variant) != AnswerFilter::kMajority ||
      settings.temperature != 0)
    return {};
  return bad_input(fmt::format(
      "{}: at temperature 0 all samples are equal; give a temperature (--temperature 0.7)",
      task.id));
}

Result<std::unique_ptr<Evaluator>> load_gsm8k(const Task& task, const EvalContext& context) {
  const std::string id(task.id);
  NB_TRY(const ResolvedFile file, resolve(data_manifest(), task.dataset, context.data_dir), id);
  NB_TRY(const std::vector<Gsm8kItem> rows, read_gsm8k(file.path), id);
  std::vector<NumberItem> items;
  for (const std::size_t row : chat_order(rows.size(), context.settings.max_per_task))
    items.push_back(number_item(rows[row], fmt::format("row {}", row + 1)));
  return evaluator_of(task, kChatOrder, std::move(items), context);
}

Result<std::unique_ptr<Evaluator>> load_spellingbee(const Task& task, const EvalContext& context) {
  const std::string id(task.id);
  NB_TRY(const ResolvedFile file, resolve(data_manifest(), task.dataset, context.data_dir), id);
  NB_TRY(const std::vector<std::string> words, read_word_list(file.path), id);
  std::int64_t size = kSpellingBeeItems;
  if (context.settings.max_per_task > 0) size = std::min(size, context.settings.max_per_task);
  std::vector<NumberItem> items;
  for (std::int64_t index = 0; index < size; ++index) {
    const SpellingBeeItem item =
        spelling_bee_item(words, SpellingSplit::kTest, static_cast<std::uint64_t>(index));
    items.push_back(number_item(item, fmt::format("test {}", index)));
  }
  return evaluator_of(task, "index", std::move(items), context);
}

Result<std::unique_ptr<Evaluator>> load_microworld_problems(const Task& task,
                                                            const EvalContext& context) {
  return load_microworld<Gsm8kItem>(task, context);
}

Result<std::unique_ptr<Evaluator>> load_microworld_spelling(const Task& task,
                                                            const EvalContext& context) {
  return load_microworld<SpellingBeeItem>(task, context);
}

}  // namespace nb
