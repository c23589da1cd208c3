#include "model/predict/nanochat_validation.hpp"

#include <fmt/format.h>

namespace nb {
namespace {

Result<std::int64_t> run_size(const CalibrationRow& row, std::string_view column) {
  NB_TRY(const auto value, row.whole(column));
  if (!value)
    return bad_input(
        fmt::format("{}: {} has no {}: its run cannot be predicted", row.where, row.id, column));
  return *value;
}

// What decides: a host that costs nothing would halve the time, or it would not.
Result<bool> is_host_bound(const NanochatRun& run, PricedMachine machine, double step_ns) {
  LaunchProfile& launch = machine.profile.launch;
  for (Quantity* cost : {&launch.host_dispatch, &launch.host_dispatch_backward,
                         &launch.collective_dispatch, &launch.submit, &launch.synchronize})
    cost->value = 0;
  NB_TRY(const Prediction free, predict(run.settings, machine.profile, machine.between_nodes));
  return free.step_time_ns < step_ns / 2;
}

}  // namespace

Result<NanochatRun> nanochat_run(const CalibrationRow& row) {
  NanochatRun run;
  run.id = row.id;
  run.machine = row.text("machine");
  run.stack = row.text("stack");
  PredictSettings& s = run.settings;
  if (const std::string_view model = row.text("model"); model != "nanochat") s.model = model;
  NB_TRY(s.depth, run_size(row, "depth"));
  NB_TRY(s.vocab_size, run_size(row, "vocab"));
  NB_TRY(s.sequence_len, run_size(row, "seq"));
  NB_TRY(s.device_batch_size, run_size(row, "device_batch"));
  NB_TRY(s.total_batch_tokens, run_size(row, "total_tokens"));
  NB_TRY(s.cards, run_size(row, "ranks"));
  const std::string_view exchange = row.text("exchange");
  if (exchange != "none" && exchange != "sharded")
    return bad_input(fmt::format("{}: exchange \"{}\": none or sharded", row.where, exchange));
  if (exchange == "none" && s.cards > 1) {
    run.replicas = s.cards;
    run.note = "replicas exchange nothing";
    s.total_batch_tokens /= s.cards;
    s.cards = 1;
  }
  if (s.cards > 0 && s.vocab_size % s.cards != 0) {
    const std::int64_t whole = (s.vocab_size + s.cards - 1) / s.cards * s.cards;
    run.note = fmt::format("vocabulary {} taken as {}", s.vocab_size, whole);
    s.vocab_size = whole;
  }
  return run;
}

Result<NanochatValidation> validate_nanochat(std::span<const CalibrationRow> rows,
                                             const OwnConstants& own) {
  NanochatValidation result;
  result.rates = {"nanochat", "whole runs of nanochat", "nanochat_gpu, nanochat_npu", {}};
  result.memory = {"nanochat_memory", "their peaks, allocated; nothing fitted", "none", {}};
  for (const CalibrationRow& row : rows) {
    ValidationRow validated = measured_row(row);
    if (row.use == RowUse::kExclude) {
      result.rates.rows.push_back(std::move(validated));
      continue;
    }
    NB_TRY(const NanochatRun run, nanochat_run(row));
    NB_TRY(const PricedMachine machine, priced_machine(run.machine, run.stack, own), row.where);
    NB_TRY(const Prediction prediction,
           predict(run.settings, machine.profile, machine.between_nodes), row.where);
    validated.note = run.note;
    if (row.unit == "fits") {
      validated.predicted = prediction.fits ? 1 : 0;
    } else if (row.unit == "tok/s" && prediction.fits) {
      validated.predicted = static_cast<double>(run.replicas) * prediction.throughput_tok_s;
      validated.error = error_of(*validated.predicted, *row.value, row.unit);
      validated.step_ms = prediction.step_time_ns / 1e6;
      NB_TRY(const bool is_host, is_host_bound(run, machine, prediction.step_time_ns));
      validated.note += fmt::format("{}{:.1f} ms a step, limiter {}", run.note.empty() ? "" : "; ",
                                    prediction.step_time_ns / 1e6, is_host ? "host" : "device");
    } else if (row.unit != "tok/s") {
      return bad_input(fmt::format("{}: unit {}: tok/s or fits", row.where, row.unit));
    }
    NB_TRY(const auto peak, row.number("peak_mib"));
    if (peak && prediction.fits) {
      ValidationRow memory = validated;
      memory.unit = "MiB";
      memory.measured = *peak;
      memory.predicted = static_cast<double>(prediction.peak_allocated_bytes) / kMiB;
      memory.error = error_of(*memory.predicted, *peak, memory.unit);
      memory.note = run.note;
      result.memory.rows.push_back(std::move(memory));
    }
    result.rates.rows.push_back(std::move(validated));
  }
  return result;
}

}  // namespace nb
