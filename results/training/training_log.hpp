// What trainers write while they train, as curves: one reader a format, recognised by content. For
// audit (ReportedStage::curve) and, through it, for compare, gate and report. Files of any length
// are walked, not held; of a curve only its numbers stay.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.hpp"
#include "results/foreign/json_slices.hpp"
#include "results/messages/message.hpp"
#include "results/store/curve.hpp"

namespace nb {

// One training of a log.
struct Training {
  std::string name;   // as the source names the run: "d20" of a wandb export; empty: it does not
  std::string stage;  // of several trainings one after another in a file: "training 2"; else empty
  Curve curve;
  std::map<std::string, std::string> stated;  // settings that the log states: "iterations"
};

struct TrainingLog {
  std::vector<Training> trainings;  // at least one, each with a step
  std::vector<Sentence> ignored;    // what was seen and left out, a sentence each
};

// A log's bytes. file: the mapping that they lie in, given back as they are read; nullptr: memory.
struct LogText {
  std::string_view bytes;
  std::string where;  // the file, for messages and for what its name tells
  MappedText* file = nullptr;
};

struct TrainingFormat {
  const char* name;     // "Megatron-LM training log"
  const char* trainer;  // "Megatron-LM"
  const char* source;   // repository @ commit: file
  // Sure by the text alone. part: a piece of the file that ends with a line; the first one has
  // is_first.
  bool (*recognises)(std::string_view part, bool is_first);
  // Errors: one sentence that opens with file:line, or file: byte.
  Result<TrainingLog> (*read)(const LogText& log);
};
std::span<const TrainingFormat> training_formats();
// nullptr: none of them.
const TrainingFormat* training_format_of(const LogText& log);

// The formats, by file.
bool is_nanochat_log(std::string_view part, bool is_first);
Result<TrainingLog> read_nanochat_log(const LogText& log);
bool is_megatron_log(std::string_view part, bool is_first);
Result<TrainingLog> read_megatron_log(const LogText& log);
bool is_torchtitan_log(std::string_view part, bool is_first);
Result<TrainingLog> read_torchtitan_log(const LogText& log);
bool is_nanogpt_log(std::string_view part, bool is_first);
Result<TrainingLog> read_nanogpt_log(const LogText& log);
bool is_trainer_state(std::string_view part, bool is_first);
Result<TrainingLog> read_trainer_state(const LogText& log);
bool is_trainer_lines(std::string_view part, bool is_first);
Result<TrainingLog> read_trainer_lines(const LogText& log);
bool is_swift_lines(std::string_view part, bool is_first);
Result<TrainingLog> read_swift_lines(const LogText& log);
bool is_wandb_csv(std::string_view part, bool is_first);
Result<TrainingLog> read_wandb_csv(const LogText& log);
bool is_tensorboard_csv(std::string_view part, bool is_first);
Result<TrainingLog> read_tensorboard_csv(const LogText& log);
bool is_steps_csv(std::string_view part, bool is_first);
Result<TrainingLog> read_steps_csv(const LogText& log);
bool is_event_file(std::string_view part, bool is_first);
Result<TrainingLog> read_event_file(const LogText& log);

}  // namespace nb
