// `npubench predict --sweep FIELD=a,b,c`: predictions over the values of a field, or the grid of
// several, as a table, CSV, JSON and a plot.
#pragma once

#include <string>
#include <vector>

#include "harness/base/json_io.hpp"
#include "harness/base/result.hpp"
#include "harness/cli/predict_ask.hpp"
#include "report/plot.hpp"

namespace nb::cli {

struct SweepPoint {
  std::vector<std::string> values;  // of the swept fields, in their order
  PredictQuestion question;
  PredictSubject subject;
  Prediction prediction;
};
struct Sweep {
  std::vector<std::string> fields;
  std::vector<SweepPoint> points;  // the last field runs fastest
};

// specs: "cards=1,2,4". bad_input: a spec without values, an unknown field, a value that cannot be
// (with its point), more than 1,000 points.
Result<Sweep> run_sweep(const PredictQuestion& question, const std::vector<std::string>& specs);

std::string sweep_text(const Sweep& sweep);
std::string sweep_csv(const Sweep& sweep);
Json sweep_json(const Sweep& sweep);
// Throughput over the last field, a line for each value of the others; bars where its values are no
// numbers. bad_input: nothing fits, more lines than can be told apart.
Result<Plot> sweep_plot(const Sweep& sweep);

}  // namespace nb::cli
