// torchtitan's lines: "step:  1  loss: 12.2  grad_norm: 3.4  memory: 1.2GiB(1.3%)  tps: 1,234  …".
// Source: pytorch/torchtitan @ 00fbaafa6: torchtitan/components/metrics.py (log, log_validation).
// tps and tflops are of one card, memory is the reserved peak since the last line. Ranks without
// the pipeline's last stage print a loss of -1.
#include <fmt/core.h>

#include "results/messages/sentences.hpp"
#include "results/training/columns.hpp"
#include "results/training/curve_builder.hpp"
#include "results/training/log_lines.hpp"

namespace nb {
namespace {

// Without colours, which stand between a key and its number.
std::string plain(std::string_view line) {
  std::string text;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] != '\x1b') {
      text += line[i];
      continue;
    }
    while (i < line.size() && line[i] != 'm') ++i;
  }
  return text;
}

bool is_torchtitan_step(std::string_view line) {
  return line.find("step:") != line.npos && line.find("loss:") != line.npos &&
         line.find("memory:") != line.npos && line.find("GiB(") != line.npos &&
         line.find("tps:") != line.npos;
}

}  // namespace

bool is_torchtitan_log(std::string_view part, bool) {
  return part.find("tps:") != part.npos && any_line(part, is_torchtitan_step);
}

Result<TrainingLog> read_torchtitan_log(const LogText& log) {
  CurveBuilder curve;
  std::int64_t last = -1, restarts = 0;
  std::optional<Error> error;
  for_each_log_line(log, [&](std::string_view raw, std::size_t number) {
    if (!is_torchtitan_step(raw)) return;
    const std::string line = plain(raw);
    const std::size_t at = line.find("step:");
    const auto step = leading_integer(std::string_view(line).substr(at + 5));
    const auto loss = number_after(line, "loss:", log.where, number, error);
    if (!step || !loss || *loss < 0) return;
    if (line.find("validate step:") != line.npos) return curve.put(*step, column::kValLoss, *loss);
    if (*step < last) {
      curve.back_to(*step);
      ++restarts;
    }
    last = *step;
    curve.put(*step, column::kTrainLoss, *loss);
    const auto put = [&](std::string_view key, std::string_view column, double factor) {
      if (const auto value = number_after(line, key, log.where, number, error))
        curve.put(*step, column, *value * factor);
    };
    put("grad_norm:", column::kGradNorm, 1);
    put("memory:", column::kMemory, kGiB);
    put("tps:", column::kCardThroughput, 1);
    put("tflops:", column::kCardFlops, 1e12);
    put("mfu:", column::kMfu, .01);
  });
  if (error) return tl::unexpected(std::move(*error));
  TrainingLog result;
  result.trainings.emplace_back().curve = curve.finish();
  if (restarts > 0) result.ignored.push_back(message("log.restarts", restarts));
  return result;
}

}  // namespace nb
