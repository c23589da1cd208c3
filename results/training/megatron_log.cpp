// Megatron-LM's lines, which MindSpeed-LLM, ModelLink and Megatron-DeepSpeed print as well:
// " iteration  1/ 100 | consumed samples: … | elapsed time per iteration (ms): … | lm loss: … |".
// Source: NVIDIA/Megatron-LM @ 86df799dc: megatron/training/training.py (training_log,
// evaluate_and_print_results), @ d086a2e3b: megatron/training/utils.py (report_memory);
// Ascend/MindSpeed-LLM @ 1b82a6ba3: mindspeed_llm/training/training.py. Losses are means since the
// last line; memory is in MiB.
#include <fmt/core.h>

#include "harness/base/ascii.hpp"
#include "results/messages/sentences.hpp"
#include "results/training/columns.hpp"
#include "results/training/curve_builder.hpp"
#include "results/training/log_lines.hpp"

namespace nb {
namespace {

constexpr std::string_view kTime = "elapsed time per iteration (ms):";

struct Known {
  std::string_view key, column;  // no column: says nothing of the training
  double factor = 1;
};
constexpr Known kKnown[] = {
    {"consumed samples", column::kSamples},
    {"elapsed time per iteration (ms)", column::kStepTime, 1e6},
    {"throughput per GPU (TFLOP/s/GPU)", column::kCardFlops, 1e12},
    {"flop throughput (TFLOP/sec/GPU)", column::kCardFlops, 1e12},
    {"throughput (token/sec/GPU)", column::kCardThroughput},
    {"tokens per GPU (tokens/s/GPU)", column::kCardThroughput},
    {"learning rate", column::kLearningRate},
    {"global batch size", "batch_samples"},
    {"lm loss", column::kTrainLoss},
    {"loss", column::kTrainLoss},
    {"loss scale", "loss_scale"},
    {"grad norm", column::kGradNorm},
    {"iteration", ""},
};

bool is_iteration(std::string_view line) {
  return line.find(kTime) != line.npos && line.find("iteration ") < line.find(kTime) &&
         line.find('|') != line.npos;
}

// "lm loss: 2.49E+00", and before 2020 "lm loss 2.49E+00".
// False: a known key without a number.
bool put_part(CurveBuilder& curve, std::int64_t step, std::string_view part) {
  std::size_t split = part.rfind(':');
  if (split == part.npos) split = part.rfind(' ');
  if (split == part.npos) return true;
  const std::string_view key = trimmed(part.substr(0, split), " \t");
  const auto value = leading_number(part.substr(split + 1));
  for (const Known& known : kKnown)
    if (known.key == key) {
      if (value && !known.column.empty()) curve.put(step, known.column, *value * known.factor);
      return value.has_value();
    }
  if (value && !key.empty()) curve.put(step, key, *value);
  return true;
}

struct MegatronLogReading {
  CurveBuilder curve;
  std::int64_t last = -1, total = 0, restarts = 0;
  std::string_view damaged;  // the first part that is no number

  void iteration(std::string_view line) {
    const std::size_t at = line.find("iteration ") + 10;
    const auto step = leading_integer(line.substr(at));
    if (!step) return;
    if (*step < last) {
      curve.back_to(*step);
      ++restarts;
    }
    last = *step;
    if (const std::size_t slash = line.find('/', at); slash < line.find('|', at))
      total = leading_integer(line.substr(slash + 1)).value_or(total);
    for (std::string_view rest = line.substr(std::min(line.find('|'), line.size() - 1) + 1);
         !rest.empty();) {
      const std::size_t bar = rest.find('|');
      const std::string_view part = trimmed(rest.substr(0, bar), " \t");
      if (!put_part(curve, *step, part) && damaged.empty()) damaged = part;
      rest.remove_prefix(bar == rest.npos ? rest.size() : bar + 1);
    }
  }
  // " validation loss at iteration 1000 | lm loss value: 2.1E+00 | lm loss PPL: 8.3E+00 |"
  void validation(std::string_view line, std::size_t at) {
    const auto step = leading_integer(line.substr(at));
    const auto value = number_after(line, "loss value:");
    if (!step || !value) return;
    const bool is_test = line.find("on test set") != line.npos;
    curve.put(*step, is_test ? "test_loss" : column::kValLoss, *value);
  }
  // "[Rank 0] (after 2 iterations) memory (MB) | allocated: … | max allocated: … | reserved: …"
  void memory(std::string_view line) {
    const std::size_t after = line.find("after ");
    const auto step = leading_integer(line.substr(after + 6));
    const auto value = number_after(line, "max allocated:");
    if (step && value) curve.put(*step, column::kMemory, *value * kMiB);
  }
  void line(std::string_view text) {
    constexpr std::string_view kValidation = "validation loss at iteration ";
    constexpr std::string_view kAfter = "** validation after iteration ";  // MindSpeed's FSDP
    if (is_iteration(text)) return iteration(text);
    if (const std::size_t at = text.find(kValidation); at != text.npos)
      return validation(text, at + kValidation.size());
    if (const std::size_t at = text.find(kAfter); at != text.npos) {
      const auto step = leading_integer(text.substr(at + kAfter.size()));
      const auto value = number_after(text, "validation loss:");
      if (step && value) curve.put(*step, column::kValLoss, *value);
      return;
    }
    const std::size_t after = text.find("after "), megabytes = text.find("memory (MB) |");
    if (megabytes != text.npos && after < megabytes) memory(text);
  }
};

}  // namespace

bool is_megatron_log(std::string_view part, bool) {
  return part.find(kTime) != part.npos && !part.starts_with('{') && any_line(part, is_iteration);
}

Result<TrainingLog> read_megatron_log(const LogText& log) {
  MegatronLogReading reading;
  std::optional<Error> error;
  for_each_log_line(log, [&](std::string_view line, std::size_t number) {
    reading.line(line);
    if (!reading.damaged.empty() && !error)
      error = Error{ErrorCode::kBadInput,
                    fmt::format("{}:{}: \"{}\" holds no number; is the file whole?", log.where,
                                number, reading.damaged.substr(0, 60))};
  });
  if (error) return tl::unexpected(std::move(*error));
  TrainingLog result;
  Training training;
  if (reading.total > 0) training.stated["iterations"] = fmt::format("{}", reading.total);
  training.curve = reading.curve.finish();
  result.trainings.push_back(std::move(training));
  if (reading.restarts > 0) result.ignored.push_back(message("log.restarts", reading.restarts));
  return result;
}

}  // namespace nb
