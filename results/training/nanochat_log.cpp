// What nanochat's scripts print, of all ages: a line per step, and lines of validation between
// them. Source: karpathy/nanochat @ 3a5e0bc (October 2025) to 92d63d4 (July 2026):
// scripts/base_train.py, mid_train.py, chat_sft.py, chat_rl.py. The printed loss of base_train,
// mid_train and the newer chat_sft is smoothed (EMA, .9), so that its steps are correlated.
#include <fmt/core.h>

#include <cmath>

#include "harness/base/ascii.hpp"
#include "results/messages/sentences.hpp"
#include "results/training/columns.hpp"
#include "results/training/curve_builder.hpp"
#include "results/training/log_lines.hpp"

namespace nb {
namespace {

struct Part {
  std::string_view key;
  std::string_view column;
  double factor = 1;
};
// "bf16_mfu:" (2026) and "mfu:" both end in what is looked for.
constexpr Part kTrainParts[] = {
    {"| loss:", column::kTrainLoss},          {"| grad norm:", column::kGradNorm},
    {"lrm:", column::kLrMultiplier},          {"dt:", column::kStepTime, 1e6},  // ms
    {"tok/sec:", column::kThroughput},        {"mfu:", column::kMfu, .01},
    {"| Training loss:", column::kTrainLoss}, {"num_tokens:", "batch_tokens"},
    {"| Average reward:", column::kReward},   {"| Average sequence length:", "sequence_length"},
};
constexpr Part kOtherParts[] = {
    {"| Validation bpb:", column::kValBpb},
    {"| Validation loss:", column::kValLoss},
    {"| CORE metric:", column::kCore},
    {"| ChatCORE:", "chatcore"},
};

bool is_pretraining_step(std::string_view line) {
  return line.starts_with("step ") && contains(line, "| loss:") && contains(line, "tok/sec:");
}
bool is_chat_step(std::string_view line) {
  return line.starts_with("Step ") &&
         (contains(line, "| Training loss:") ||
          (contains(line, "| Average reward:") && contains(line, "| Average sequence length:")));
}
bool is_validation(std::string_view line) {
  if (!line.starts_with("Step ")) return false;
  for (const Part& part : kOtherParts)
    if (contains(line, part.key)) return true;
  return false;
}
bool is_train_step(std::string_view line) {
  return is_pretraining_step(line) || is_chat_step(line);
}

struct NanochatLogReading {
  TrainingLog log;
  CurveBuilder curve;
  std::map<std::string, std::string> stated;
  std::int64_t resumed = 0;
  std::optional<double> batch_tokens, all_tokens;  // of a step; of the training

  // What the script prints before its steps: step i has seen i batches.
  void note_tokens(std::string_view line) {
    constexpr std::string_view kBatch = "Total batch size ",
                               kAll = "Total number of training tokens:";
    if (line.starts_with(kBatch)) batch_tokens = number_after(line, kBatch);
    if (line.starts_with(kAll)) all_tokens = number_after(line, kAll);
  }
  void add_tokens() {
    const auto iterations = stated.find("iterations");
    if (!batch_tokens && all_tokens && iterations != stated.end())
      batch_tokens = *all_tokens / std::stod(iterations->second);
    if (batch_tokens && *batch_tokens > 0 && *batch_tokens == std::floor(*batch_tokens)) {
      const std::size_t at = curve.column(column::kTokens);
      for (const std::int64_t step : curve.steps())
        curve.put(step, at, static_cast<double>(step) * *batch_tokens);
    }
    batch_tokens.reset();
    all_tokens.reset();
  }
  void end_training() {
    if (curve.empty()) return;
    add_tokens();
    Training training;
    training.curve = curve.finish();
    training.stated = std::move(stated);
    if (!log.trainings.empty())
      training.stage = fmt::format("training {}", log.trainings.size() + 1);
    log.trainings.push_back(std::move(training));
    curve = CurveBuilder();
    stated.clear();
  }
  void begin_step(std::int64_t step, bool trains, std::int64_t last_trained) {
    if (step == 0 && last_trained > 0) return end_training();  // the next script
    if (!trains || step > last_trained) return;
    curve.back_to(step);
    ++resumed;
  }
};

}  // namespace

bool is_nanochat_log(std::string_view part, bool) { return any_line(part, is_train_step); }

Result<TrainingLog> read_nanochat_log(const LogText& text) {
  NanochatLogReading reading;
  std::int64_t last_trained = -1;
  std::optional<Error> error;
  for_each_log_line(text, [&](std::string_view line, std::size_t number) {
    const bool trains = is_train_step(line);
    if (!trains && !is_validation(line)) return reading.note_tokens(line);
    const auto step = leading_integer(line.substr(5));
    if (!step) return;
    reading.begin_step(*step, trains, last_trained);
    if (reading.curve.empty()) last_trained = -1;
    for (const Part& part : trains ? std::span<const Part>(kTrainParts) : kOtherParts)
      if (const auto value = number_after(line, part.key, text.where, number, error))
        reading.curve.put(*step, part.column, *value * part.factor);
    if (!trains) return;
    last_trained = *step;
    if (const std::size_t slash = line.find('/', 5); slash < line.find(' ', 5))
      if (const auto count = leading_integer(line.substr(slash + 1)))
        reading.stated["iterations"] = fmt::format("{}", *count);
  });
  if (error) return tl::unexpected(std::move(*error));
  reading.end_training();
  if (reading.resumed > 0) reading.log.ignored.push_back(message("log.restarts", reading.resumed));
  return std::move(reading.log);
}

}  // namespace nb
