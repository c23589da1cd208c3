#include "evals/text/evaluator.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <numbers>
#include <utility>

#include "evals/base/choice.hpp"
#include "evals/base/eval_metrics.hpp"
#include "evals/base/part_metrics.hpp"
#include "model/tokenizer/tokenizer.hpp"
#include "results/store/metric_names.hpp"

namespace nb {
namespace {

void add(TextLoss& sum, const TextLoss& loss) {
  sum.nats += loss.nats;
  sum.tokens += loss.tokens;
  sum.bytes += loss.bytes;
}

Metric loss_metric(const std::string& task, const std::string& name, double value, std::int64_t n,
                   const char* unit) {
  Metric metric = task_metric(task, name, value, n);
  metric.unit = unit;
  metric.direction = Direction::kLower;
  return metric;
}

double bits_per_byte(const TextLoss& loss) {
  return loss.nats / (std::numbers::ln2 * static_cast<double>(loss.bytes));
}

}  // namespace

TextEvaluator::TextEvaluator(std::string task, Texts texts, const EvalContext& context)
    : task_(std::move(task)), texts_(std::move(texts)), window_(context.settings.window) {
  const std::int64_t kept = context.settings.max_per_task;
  if (kept > 0 && std::cmp_less(kept, size()))
    texts_.documents.resize(static_cast<std::size_t>(kept));
}

std::int64_t TextEvaluator::window(std::int64_t context_length) const {
  return window_.value_or(context_length);
}

std::map<std::string, std::string> TextEvaluator::comparability() const {
  return {{task_ + "/scorer", std::string(kTextScorerVersion)}};
}

std::map<std::string, std::string> TextEvaluator::more_comparability(
    std::span<const ItemRecord> items, std::int64_t context_length) const {
  const bool fit = std::ranges::all_of(items, [&](const ItemRecord& item) {
    return !item.loss || item.loss->tokens < window(context_length);  // and <|bos|>
  });
  return {{task_ + "/windows",
           fit ? "whole documents" : fmt::format("{} tokens, one shared", window(context_length))}};
}

std::vector<Metric> TextEvaluator::more_metrics(std::span<const ItemRecord> items) const {
  std::map<std::string_view, std::size_t> file_of;  // by id
  for (const TextDocument& document : texts_.documents) file_of[document.id] = document.file;
  TextLoss all;
  std::vector<TextLoss> by_file(texts_.files.size());
  for (const ItemRecord& item : items) {
    if (!item.loss) continue;  // not finite: then nothing below keeps its value
    add(all, *item.loss);
    add(by_file[file_of.at(item.id)], *item.loss);
  }
  std::vector<Metric> metrics;
  const auto bits = [&](const TextLoss& loss) {
    Metric metric = loss_metric(task_, metric::kBitsPerByte, 0, loss.bytes, "bit/byte");
    if (loss.bytes == 0) return without_value(std::move(metric), "no bytes were scored");
    metric.value = bits_per_byte(loss);
    return metric;
  };
  metrics.push_back(bits(all));
  if (all.tokens > 0)
    metrics.push_back(loss_metric(task_, metric::kNatsPerToken,
                                  all.nats / static_cast<double>(all.tokens), all.tokens, "nat"));
  if (by_file.size() > 1)
    for (std::size_t f = 0; f < by_file.size(); ++f)
      metrics.push_back(as_part(bits(by_file[f]), texts_.files[f]));
  return metrics;
}

Result<void> TextEvaluator::check_tokenizer(const Tokenizer& tokenizer) const {
  if (tokenizer.bos() >= 0) return {};
  return bad_input("the tokenizer has no <|bos|>, with which every document begins");
}

Result<ScoringEvaluator::Requests> TextEvaluator::requests(std::size_t i,
                                                           const Tokenizer& tokenizer,
                                                           std::int64_t context_length) const {
  const std::int64_t longest = window(context_length);
  if (longest > context_length)
    return bad_input(
        fmt::format("a window of {} tokens: the model's context holds {}; give a shorter "
                    "one (--window)",
                    longest, context_length));
  if (longest < 2)
    return bad_input(fmt::format("a context of {} token leaves none to score", context_length));
  const std::vector<int> tokens = tokenizer.encode(texts_.documents[i].text, tokenizer.bos());
  Requests result;
  for (std::size_t begin = 0; begin + 1 < tokens.size();) {
    const std::size_t left = tokens.size() - begin;
    const std::size_t length =
        std::cmp_less(longest, left) ? static_cast<std::size_t>(longest) : left;
    const auto first = tokens.begin() + static_cast<std::ptrdiff_t>(begin);
    result.scores.push_back({{first, first + static_cast<std::ptrdiff_t>(length)}, 1, length});
    begin += length - 1;
  }
  return result;
}

ItemRecord TextEvaluator::grade(std::size_t i, std::span<const ScoreRequest>,
                                std::span<const ScoreResult> scores, const Tokenizer&) const {
  ItemRecord record;
  if (!are_finite(scores)) {
    record.reason = kNotFinite;
    return record;
  }
  TextLoss loss;
  loss.bytes = static_cast<std::int64_t>(texts_.documents[i].text.size());
  for (const ScoreResult& score : scores)
    for (const float log_prob : score.log_probs) {
      loss.nats -= static_cast<double>(log_prob);
      ++loss.tokens;
    }
  record.loss = loss;
  return record;
}

Result<std::unique_ptr<Evaluator>> load_texts(const Task& task, const EvalContext& context) {
  NB_TRY(Texts texts, read_texts(context.settings.texts), task.id);
  const auto before = context.file_digests.find(task.id);
  if (before != context.file_digests.end() && before->second != texts.digest)
    return bad_input(fmt::format(
        "{}: the texts changed after this evaluation began; give the command again", task.id));
  return std::make_unique<TextEvaluator>(task.id, std::move(texts), context);
}

}  // namespace nb
