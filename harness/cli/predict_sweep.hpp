// `npubench predict sweep FIELD=a,b,c`: predictions over the values of a field, or the grid of
// several, as a table, CSV, JSON and a plot. Dry steps and closed forms may stand in one table.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/base/json_io.hpp"
#include "harness/base/result.hpp"
#include "harness/cli/predict_ask.hpp"
#include "harness/cli/predict_megatron.hpp"
#include "report/plot.hpp"

namespace nb::cli {

struct SweepPoint {
  std::vector<std::string> values;  // of the swept fields, in their order
  PredictQuestion question;
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
Result<Sweep> run_sweep(const PredictQuestion& question, const std::vector<std::string>& specs,
                        const MegatronFlags& flags = {});

std::string sweep_text(const Sweep& sweep);
std::string sweep_csv(const Sweep& sweep);
Json sweep_json(const Sweep& sweep);
// Throughput over the last field, a line for each value of the others; bars where its values are no
// numbers. bad_input: nothing fits, more lines than can be told apart.
Result<Plot> sweep_plot(const Sweep& sweep);

}  // namespace nb::cli
