// Hugging Face's trainer_state.json (its log_history) and LLaMA-Factory's trainer_log.jsonl.
// Source: huggingface/transformers @ 55093b758: src/transformers/trainer_callback.py
// (TrainerState), trainer.py (log); hiyouga/LLaMA-Factory @ 0583d0667:
// src/llamafactory/train/callbacks.py (LogCallback.on_log; memory in GiB, throughput in tokens a
// second since the start).
#include <fmt/core.h>

#include "results/training/columns.hpp"
#include "results/training/curve_builder.hpp"
#include "results/training/log_lines.hpp"

namespace nb {
namespace {

constexpr double kGiB = 1024. * 1024 * 1024;

bool has(std::string_view text, std::string_view what) { return text.find(what) != text.npos; }

std::string_view first_line(std::string_view part) {
  const std::size_t begin = part.find_first_not_of(" \t\r\n");
  if (begin == part.npos) return {};
  return part.substr(begin, part.find('\n', begin) - begin);
}

// Totals of a whole training or evaluation, which stand in the entry of its last step.
bool is_total(std::string_view key) {
  return key == "train_loss" || key == "total_flos" || key == "train_runtime" ||
         key == "train_samples_per_second" || key == "train_steps_per_second" ||
         key == "eval_runtime" || key == "eval_samples_per_second" ||
         key == "eval_steps_per_second";
}

struct Row {
  std::optional<double> step;
  std::vector<std::pair<std::string, double>> values;  // source's names
};

void put_row(CurveBuilder& curve, const Row& row) {
  const auto step = static_cast<std::int64_t>(*row.step);
  for (const auto& [key, value] : row.values) {
    const SourceColumn column = source_column(key);
    curve.put(step, column.name, value * column.factor);
  }
}

}  // namespace

bool is_trainer_state(std::string_view part, bool is_first) {
  return is_first && first_line(part).starts_with('{') && has(part, "\"log_history\"") &&
         has(part, "\"global_step\"") &&
         (has(part, "\"is_world_process_zero\"") || has(part, "\"epoch\""));
}

Result<TrainingLog> read_trainer_state(const LogText& log) {
  std::string_view history;
  NB_TRY_VOID(for_each_slice(log.bytes, log.where, [&](const JsonSlice& member) -> Result<void> {
    if (member.key == "log_history") history = member.text;
    return {};
  }));
  if (history.empty()) return bad_input(log.where + ": /log_history is missing");
  CurveBuilder curve;
  std::size_t without_step = 0;
  NB_TRY_VOID(for_each_slice(
      history, log.where + ": /log_history",
      [&](const JsonSlice& entry) -> Result<void> {
        Row row;
        const bool is_object =
            for_each_json_number(entry.text, [&](std::string_view key, double value) {
              if (key == "step")
                row.step = value;
              else if (!is_total(key))
                row.values.emplace_back(key, value);
            });
        if (!is_object)
          return bad_input(
              fmt::format("{}: /log_history/{} is not an object of numbers", log.where, entry.key));
        if (!row.step || !(*row.step >= 0 && *row.step < 1e15))
          ++without_step;
        else
          put_row(curve, row);
        return {};
      },
      log.file));
  TrainingLog result;
  if (without_step > 0)
    result.ignored.push_back(fmt::format("{} entries of log_history without a step", without_step));
  if (curve.empty()) return bad_input(log.where + ": /log_history holds no step");
  result.trainings.emplace_back().curve = curve.finish();
  return result;
}

bool is_trainer_lines(std::string_view part, bool is_first) {
  const std::string_view line = first_line(part);
  return is_first && line.starts_with('{') && has(line, "\"current_steps\"") &&
         has(line, "\"total_steps\"");
}

Result<TrainingLog> read_trainer_lines(const LogText& log) {
  CurveBuilder curve;
  std::optional<Error> error;
  double total = 0;
  for_each_log_line(log, [&](std::string_view line, std::size_t number) {
    if (error || line.find_first_not_of(" \t") == line.npos) return;
    Row row;
    const bool is_object = for_each_json_number(line, [&](std::string_view key, double value) {
      if (key == "current_steps")
        row.step = value;
      else if (key == "total_steps")
        total = value;
      else if (key == "throughput")
        row.values.emplace_back(column::kThroughput, value);
      else if (key == "total_tokens")
        row.values.emplace_back(column::kTokens, value);
      else if (key == "vram_allocated")
        row.values.emplace_back(column::kMemory, value * kGiB);
      else if (key == "accuracy")
        row.values.emplace_back("reward_accuracy", value);
      else if (key != "percentage" && key != "vram_reserved")
        row.values.emplace_back(key, value);
    });
    if (!is_object || !row.step || !(*row.step >= 0 && *row.step < 1e15)) {
      error = Error{ErrorCode::kBadInput,
                    fmt::format("{}:{}: not a line of a trainer's log with \"current_steps\"; is "
                                "the file whole?",
                                log.where, number)};
      return;
    }
    put_row(curve, row);
  });
  if (error) return tl::unexpected(std::move(*error));
  if (curve.empty()) return bad_input(log.where + ": a trainer's log without steps");
  TrainingLog result;
  Training& training = result.trainings.emplace_back();
  training.curve = curve.finish();
  if (total > 0) training.stated["iterations"] = fmt::format("{:.0f}", total);
  return result;
}

}  // namespace nb
