#include "model/predict/dense_rows.hpp"

#include <fmt/format.h>

#include "model/predict/validation.hpp"

namespace nb {
namespace {

std::vector<std::string> split(std::string_view text, char at) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(at, begin), text.size());
    parts.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

double step_ns_of_rate(const MegatronJob& job, double rate_tok_s_card) {
  return job.tokens_per_step() / static_cast<double>(job.run.ranks) / rate_tok_s_card * 1e9;
}

// TFLOP/s as Megatron logs them: all keys count, recomputation does not.
Result<double> step_ns_of(const CalibrationRow& row, const MegatronJob& job) {
  if (row.unit == "tok/s/card") return step_ns_of_rate(job, *row.value);
  if (row.unit == "ms/step") return *row.value * 1e6;
  if (row.unit == "TFLOP/s/card")
    return megatron_flops_per_token(job, FlopConvention::kFull) * job.tokens_per_step() /
           static_cast<double>(job.run.ranks) / *row.value * 1e-3;
  return bad_input(
      fmt::format("{}: unit {}: a step is measured in tok/s/card, ms/step or "
                  "TFLOP/s/card",
                  row.where, row.unit));
}

}  // namespace

Result<std::vector<MeasuredJob>> measured_jobs(std::span<const CalibrationRow> rows) {
  std::vector<MeasuredJob> jobs;
  for (const CalibrationRow& row : rows) {
    if (row.use == RowUse::kExclude || !row.value) continue;
    MeasuredJob measured;
    NB_TRY(measured.job, job_of(row));
    NB_TRY(measured.step_ns, step_ns_of(row, measured.job));
    NB_TRY(const auto reference, row.number("reference_tok_s"));
    if (reference) measured.reference_step_ns = step_ns_of_rate(measured.job, *reference);
    measured.use = row.use;
    measured.reason = row.reason;
    measured.unit = row.unit;
    measured.value = *row.value;
    measured.machines = split(row.text("machine"), '|');
    jobs.push_back(std::move(measured));
  }
  return jobs;
}

Result<std::vector<MeasuredJob>> measured_jobs(std::string_view file) {
  NB_TRY(const std::vector<CalibrationRow> rows, calibration_rows(file));
  return measured_jobs(rows);
}

Result<std::vector<MeasuredMemory>> measured_memories(std::span<const CalibrationRow> rows) {
  std::vector<MeasuredMemory> memories;
  for (const CalibrationRow& row : rows) {
    const std::string_view use = row.text("memory_use");
    if (use != "plain" && use != "report") continue;
    MeasuredMemory memory;
    NB_TRY(memory.job, job_of(row));
    NB_TRY(const auto standing, row.number("static_mib"));
    NB_TRY(const auto peak, row.number("peak_mib"));
    if (!standing || !peak)
      return bad_input(
          fmt::format("{}: static_mib and peak_mib are needed for memory_use {}", row.where, use));
    memory.is_plain = use == "plain";
    memory.is_first_peak = row.text("peak_of") == "first";
    memory.job.run.reuse_fp32_param = row.text("reuse_fp32_param") == "1";
    memory.job.run.adam_copies_gradient = row.text("adam") == "npu_apply_adam_w";
    memory.static_bytes = *standing * kMiB;
    memory.peak_bytes = *peak * kMiB;
    memories.push_back(std::move(memory));
  }
  return memories;
}

Result<std::vector<MeasuredMemory>> measured_memories(std::string_view file) {
  NB_TRY(const std::vector<CalibrationRow> rows, calibration_rows(file));
  return measured_memories(rows);
}

}  // namespace nb
