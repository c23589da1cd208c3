// Logs of modded-nanogpt and its descendants: "step:50/9536 train_loss:6.1 train_time:1234ms …",
// the first ones "s:50 trl:6.1" and "s:50 tel:6.2", after a listing of the program.
// Source: KellerJordan/modded-nanogpt @ f411b3d34: records/track_1_short;
// openai/parameter-golf @ 4908dc46f: records/track_10min_16mb.
#include "results/training/columns.hpp"
#include "results/training/curve_builder.hpp"
#include "results/training/log_lines.hpp"

namespace nb {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_new(std::string_view line) {
  return line.starts_with("step:") && line.size() > 5 && is_digit(line[5]) &&
         (line.find(" train_loss:") != line.npos || line.find(" val_loss:") != line.npos);
}
bool is_old(std::string_view line) {
  return line.starts_with("s:") && line.size() > 2 && is_digit(line[2]) &&
         (line.find(" trl:") != line.npos || line.find(" tel:") != line.npos);
}
bool is_nanogpt_step(std::string_view line) { return is_new(line) || is_old(line); }

struct NanogptLogReading {
  CurveBuilder curve;
  std::int64_t last_step = -1;
  double last_time_ms = 0;

  std::optional<Error> error;

  void step(std::string_view line, const std::string& where, std::size_t number) {
    const auto step = leading_integer(line.substr(line.find(':') + 1));
    if (!step) return;
    const auto put = [&](std::string_view key, std::string_view column) {
      if (const auto value = number_after(line, key, where, number, error))
        curve.put(*step, column, *value);
    };
    put(is_new(line) ? " train_loss:" : " trl:", column::kTrainLoss);
    put(is_new(line) ? " val_loss:" : " tel:", column::kValLoss);
    put(" val_bpb:", column::kValBpb);
    // Time of training without validation, so far.
    const auto time_ms = number_after(line, " train_time:");
    if (!time_ms) return;
    if (last_step >= 0 && *step > last_step && *time_ms > last_time_ms)
      curve.put(*step, column::kStepTime,
                1e6 * (*time_ms - last_time_ms) / static_cast<double>(*step - last_step));
    last_step = *step;
    last_time_ms = *time_ms;
  }
};

}  // namespace

bool is_nanogpt_log(std::string_view part, bool) { return any_line(part, is_nanogpt_step); }

Result<TrainingLog> read_nanogpt_log(const LogText& log) {
  NanogptLogReading reading;
  for_each_log_line(log, [&](std::string_view line, std::size_t number) {
    if (is_nanogpt_step(line)) return reading.step(line, log.where, number);
    for (const std::string_view key : {"peak memory allocated:", "peak memory consumption:"})
      if (line.starts_with(key) && !reading.curve.empty())
        if (const auto memory = number_after(line, key))
          reading.curve.put(reading.curve.last_step(), column::kMemory, *memory * kMiB);
  });
  if (reading.error) return tl::unexpected(std::move(*reading.error));
  TrainingLog result;
  result.trainings.emplace_back().curve = reading.curve.finish();
  return result;
}

}  // namespace nb
