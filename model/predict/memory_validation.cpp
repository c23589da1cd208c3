#include "model/predict/memory_validation.hpp"

#include "model/predict/dense_rows.hpp"
#include "model/predict/megatron_memory.hpp"

namespace nb {
namespace {

ValidationRow memory_row(const MeasuredMemory& measured, double bytes, double predicted) {
  ValidationRow row;
  row.id = measured.job.name;
  row.machine = "any";
  row.unit = "MiB";
  row.use = measured.is_plain ? RowUse::kFit : RowUse::kReport;
  row.reason = measured.is_plain ? "plain" : "has what the closed form lacks";
  row.measured = bytes / kMiB;
  row.predicted = predicted / kMiB;
  row.error = predicted / bytes - 1;
  return row;
}

}  // namespace

Result<MemoryValidation> validate_memory(std::span<const CalibrationRow> records) {
  NB_TRY(const std::vector<MeasuredMemory> memories, measured_memories(records));
  MemoryValidation result;
  result.standing = {"static", "memory that stands between steps", "none", {}};
  result.peak = {"peak", "peak memory: of steady steps, or of the first one", "none", {}};
  for (const MeasuredMemory& measured : memories) {
    const MegatronMemory memory = megatron_memory(measured.job);
    result.standing.rows.push_back(
        memory_row(measured, measured.static_bytes, memory.static_bytes));
    result.peak.rows.push_back(
        memory_row(measured, measured.peak_bytes,
                   measured.is_first_peak ? memory.first_peak_bytes : memory.steady_peak_bytes));
    result.peak.rows.back().note = measured.is_first_peak ? "first step" : "steady";
  }
  return result;
}

}  // namespace nb
