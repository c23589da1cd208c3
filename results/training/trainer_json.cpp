// Hugging Face's trainer_state.json (its log_history), and the lines that trainers above it write:
// LLaMA-Factory's trainer_log.jsonl, ms-swift's logging.jsonl.
// Source: huggingface/transformers @ 55093b758: src/transformers/trainer_callback.py
// (TrainerState), trainer.py (log); hiyouga/LLaMA-Factory @ 0583d0667:
// src/llamafactory/train/callbacks.py (LogCallback.on_log; memory in GiB, throughput in tokens a
// second since the start); modelscope/ms-swift @ 3602360a: swift/trainers/patcher.py,
// swift/megatron/callbacks/print.py, swift/pipelines/train/sft.py.
#include <fmt/core.h>

#include "harness/base/ascii.hpp"
#include "results/messages/sentences.hpp"
#include "results/training/columns.hpp"
#include "results/training/curve_builder.hpp"
#include "results/training/log_lines.hpp"

namespace nb {
namespace {

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

// "5/100" of a line of ms-swift; empty: it has none.
std::string_view swift_step(std::string_view line) {
  for (const std::string_view key : {"\"global_step/max_steps\"", "\"iteration\""}) {
    const std::size_t at = line.find(key);
    if (at == line.npos) continue;
    const std::size_t open = line.find_first_not_of(": \t", at + key.size());
    if (open == line.npos || line[open] != '"') continue;
    return line.substr(open + 1, line.find('"', open + 1) - open - 1);
  }
  return {};
}

// Names that are its own.
std::string_view swift_column(std::string_view key) {
  if (key == "token_acc") return "token_accuracy";
  if (key == "eval_token_acc") return "val_token_accuracy";
  return key;
}

}  // namespace

bool is_trainer_state(std::string_view part, bool is_first) {
  if (is_swift_lines(part, is_first)) return false;  // whose last line holds a log_history too
  return is_first && first_line(part).starts_with('{') && contains(part, "\"log_history\"") &&
         contains(part, "\"global_step\"") &&
         (contains(part, "\"is_world_process_zero\"") || contains(part, "\"epoch\""));
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
  if (without_step > 0) result.ignored.push_back(message("log.without_step", without_step));
  if (curve.empty()) return bad_input(log.where + ": /log_history holds no step");
  result.trainings.emplace_back().curve = curve.finish();
  return result;
}

bool is_trainer_lines(std::string_view part, bool is_first) {
  const std::string_view line = first_line(part);
  return is_first && line.starts_with('{') && contains(line, "\"current_steps\"") &&
         contains(line, "\"total_steps\"");
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

// "global_step/max_steps": "5/100", of trainings with Megatron "iteration": "5/100".
bool is_swift_lines(std::string_view part, bool is_first) {
  const std::string_view line = first_line(part);
  return is_first && line.starts_with('{') && contains(line, "\"elapsed_time\"") &&
         contains(line, "\"train_speed(") && !swift_step(line).empty();
}

Result<TrainingLog> read_swift_lines(const LogText& log) {
  CurveBuilder curve;
  std::optional<Error> error;
  TrainingLog result;
  std::string total;
  for_each_log_line(log, [&](std::string_view line, std::size_t number) {
    if (error || line.find_first_not_of(" \t") == line.npos) return;
    // What ends the file: where the checkpoints lie, and all lines once more.
    if (contains(line, "\"last_model_checkpoint\"")) {
      result.ignored.push_back(message("log.summary", number));
      return;
    }
    const std::string_view step = swift_step(line);
    Row row;
    const bool is_object = for_each_json_number(line, [&](std::string_view key, double value) {
      // The mean since the start of the process, which is no step's.
      if (key == "memory(GiB)")
        row.values.emplace_back(column::kMemory, value * kGiB);
      else if (!is_total(key) && !key.starts_with("train_speed("))
        row.values.emplace_back(swift_column(key), value);
    });
    const std::size_t slash = step.find('/');
    if (const auto at = leading_integer(step); slash != step.npos && at)
      row.step = static_cast<double>(*at);
    if (!is_object || !row.step || !(*row.step < 1e15)) {
      error = Error{ErrorCode::kBadInput,
                    fmt::format("{}:{}: not a line of ms-swift's log with its step (\"5/100\"); is "
                                "the file whole?",
                                log.where, number)};
      return;
    }
    total = step.substr(slash + 1);
    // A training that was resumed adds to the file.
    if (static_cast<std::int64_t>(*row.step) < curve.last_step())
      curve.back_to(static_cast<std::int64_t>(*row.step));
    put_row(curve, row);
  });
  if (error) return tl::unexpected(std::move(*error));
  if (curve.empty()) return bad_input(log.where + ": a log of ms-swift without steps");
  Training& training = result.trainings.emplace_back();
  training.curve = curve.finish();
  if (leading_integer(total)) training.stated["iterations"] = total;
  return result;
}

}  // namespace nb
