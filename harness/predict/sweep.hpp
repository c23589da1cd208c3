// Predictions over the values of a field, or the grid of several. Dry steps and closed forms may
// stand in one table.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/base/result.hpp"
#include "harness/predict/megatron_request.hpp"
#include "harness/predict/request.hpp"

namespace nb {

struct SweepPoint {
  std::vector<std::string> values;  // of the swept fields, in their order
  PredictRequest request;
  MegatronFlags megatron_flags;
  PredictSubject subject;  // of a dry step
  Prediction prediction;
  std::optional<MegatronAnswer> megatron;  // of a closed form, instead of these two
  std::string error;                       // why there is no answer; empty: there is one

  bool fits() const { return error.empty() && (megatron ? megatron->fits() : prediction.fits); }
  double throughput_tok_s() const;
};
struct Sweep {
  std::vector<std::string> fields;
  std::vector<SweepPoint> points;  // the last field runs fastest
};

// specs: "cards=1,2,4"; of Megatron's models also its own flags. A value that cannot be is a point
// that says why. bad_input: a spec without values, an unknown field, no point that can be, more
// than 1,000 points.
Result<Sweep> run_sweep(const PredictRequest& request, const std::vector<std::string>& specs,
                        const MegatronFlags& flags = {});

// "depth=12, cards=8": the first `count` of a point's values.
std::string point_text(const Sweep& sweep, const std::vector<std::string>& values,
                       std::size_t count);

}  // namespace nb
