// Measured training steps of dense decoders, as the closed form sees them: a job, the time that it
// took, and the machine it is taken for. Knows no constants. Plain values.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "harness/base/result.hpp"
#include "model/device/calibration.hpp"
#include "model/predict/megatron_job.hpp"

namespace nb {

struct MeasuredJob {
  MegatronJob job;
  RowUse use = RowUse::kExclude;
  std::string reason, unit;
  double value = 0;                   // as published, in `unit`
  double step_ns = 0;                 // the same as a time
  double reference_step_ns = 0;       // of the table's reference GPU; 0: not published
  std::vector<std::string> machines;  // more than one: the row does not say which
};

// Rows of "megatron_readme" or "megatron_ci" that are fitted or reported and have a time.
Result<std::vector<MeasuredJob>> measured_jobs(std::span<const CalibrationRow> rows);
Result<std::vector<MeasuredJob>> measured_jobs(std::string_view file);

// Rows of the same files whose memory is published. is_plain: nothing but what the closed form has.
struct MeasuredMemory {
  MegatronJob job;
  bool is_plain = false;
  bool is_first_peak = false;  // the record was printed after the first step
  double static_bytes = 0, peak_bytes = 0;
};
Result<std::vector<MeasuredMemory>> measured_memories(std::span<const CalibrationRow> rows);
Result<std::vector<MeasuredMemory>> measured_memories(std::string_view file);

}  // namespace nb
