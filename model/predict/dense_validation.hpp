// Training steps of dense decoders (megatron_step.hpp) beside measured ones: with the constants of
// a family, with each row left out of their fit, and beside the plainest model there is, one
// utilisation for all. Thread-safe: values.
#pragma once

#include <map>

#include "model/predict/dense_rows.hpp"
#include "model/predict/family_values.hpp"
#include "model/predict/fit.hpp"
#include "model/predict/validation.hpp"

namespace nb {

// Machines that rows name, under one stack; their constants can be changed between predictions.
class DenseModel {
 public:
  // Machines of all rows.
  static Result<DenseModel> make(const std::vector<MeasuredJob>& rows, const std::string& stack);
  void set(std::span<const FamilyConstant> constants);
  // Beyond what set() put: until it is called again.
  Result<void> put(const OwnConstants& own);
  Result<double> step_ns(const MegatronJob& job, const std::string& machine) const;
  double peak_flop_per_ns(const std::string& machine, bool is_fp16) const;

 private:
  std::map<std::string, PricedMachine, std::less<>> machines_;
};

// Those of the family's constants that are fitted (Family::fitted) fitted again on the rows, which
// have one machine each: least squares of the logarithm of predicted over measured. All of the
// constants, the others as they are. bad_input: fewer rows than constants; as megatron_step.
Result<std::vector<FamilyConstant>> fit_dense(DenseModel& model,
                                              const std::vector<const MeasuredJob*>& rows,
                                              const Family& family);

// One utilisation of the peak, by Megatron's own count of operations (all keys).
double fitted_utilisation(const DenseModel& model, const std::vector<const MeasuredJob*>& rows);

struct DenseValidation {
  ValidationGroup steps;    // "steps": fit rows, then reported ones
  ValidationGroup records;  // "records": of machines that the row does not tell apart
  std::vector<ConstantSpread> constants;
  std::string reference;
  std::vector<SideRow> sides;
};
// The rows of both files under the family's constants; with own ones no row is left out of a fit.
Result<DenseValidation> validate_dense(std::span<const CalibrationRow> readme,
                                       std::span<const CalibrationRow> records,
                                       const Family& family, const OwnConstants& own = {});

}  // namespace nb
