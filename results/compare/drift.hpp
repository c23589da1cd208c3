// How far the devices of one run drift from one of them: the training loss step by step, and the
// answers to the same items. Where the devices differ in arithmetic alone, this is what arithmetic
// alone can explain (suites/arithmetic.json). Reads records, curves and items; decides nothing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/base/json_io.hpp"
#include "harness/base/result.hpp"
#include "results/store/store.hpp"

namespace nb {

// Of one training on one device beside the same training on the reference; absolute differences of
// the loss in nat, the mean over seeds.
struct CurveDrift {
  std::string training, device;
  std::int64_t seeds = 0, steps = 0;
  std::vector<double> at;  // after the steps of Drift::shown_steps; fewer in a shorter curve
  double largest = 0;      // over all steps
  std::int64_t largest_step = 0;
  double last = 0;         // mean |difference| over the last tenth of the steps
  double last_signed = 0;  // mean difference there: above 0, the reference learned more
};

// Of one task on one device beside the reference's answers; sums over seeds.
struct AnswerDrift {
  std::string evaluation, task, device;
  std::int64_t items = 0, lost = 0, won = 0;
  std::int64_t hard = 0;  // flips beyond a near tie (margin_shift.hpp)
  double typical = 0;     // median |margin change|, nat; the largest over seeds
  double divergence = 0;  // mean KL of the choices, nat; the mean over seeds
  std::int64_t flips() const { return lost + won; }
};

struct Drift {
  std::string reference;
  std::vector<std::int64_t> shown_steps;  // 1, 10, 50, 100 and the last one
  std::vector<CurveDrift> curves;
  std::vector<AnswerDrift> same_weights;  // the reference's weights, scored on each device
  std::vector<AnswerDrift> own_weights;   // each device's own training, scored on it
  // Settings other than numerics that the devices' trainings differ in, one sentence each: then the
  // drift is not arithmetic's alone.
  std::vector<std::string> confounders;
  std::vector<std::string> damaged;  // records and items that cannot be read, failed nodes
};

// bad_input: no such device in the run, with those that there are; a run of one device.
Result<Drift> drift_from(const RunRecords& run, const std::string& reference);

std::string drift_headline(const Drift& drift);
std::string drift_text(const Drift& drift);  // terminal, 80 columns
Json drift_json(const Drift& drift);

}  // namespace nb
