#include "model/predict/dense_validation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "harness/base/check.hpp"
#include "model/predict/megatron_step.hpp"

namespace nb {
namespace {

constexpr const char* kStack = "megatron_mindspeed";
constexpr const char* kFamily = "megatron_npu";
constexpr std::array kReferenceMachines = {"a100_sxm", "a800_sxm"};
constexpr const char* kReferenceStack = "megatron_cuda";

double value_in(const std::string& unit, const MegatronJob& job, double step_ns) {
  const double rate = job.tokens_per_step() / static_cast<double>(job.run.ranks) / step_ns * 1e9;
  if (unit == "tok/s/card") return rate;
  if (unit == "ms/step") return step_ns / 1e6;
  NB_CHECK(unit == "TFLOP/s/card", "[dense] unit {}", unit);
  return megatron_flops_per_token(job, FlopConvention::kFull) * rate / 1e12;
}

std::vector<const MeasuredJob*> fit_rows(const std::vector<MeasuredJob>& rows) {
  std::vector<const MeasuredJob*> chosen;
  for (const MeasuredJob& row : rows)
    if (row.use == RowUse::kFit) chosen.push_back(&row);
  return chosen;
}

std::vector<const MeasuredJob*> without(std::vector<const MeasuredJob*> rows, std::size_t index) {
  rows.erase(rows.begin() + static_cast<std::ptrdiff_t>(index));
  return rows;
}

double step_at(const DenseModel& model, const MeasuredJob& row, double utilisation) {
  return megatron_flops_per_token(row.job, FlopConvention::kFull) * row.job.tokens_per_step() /
         static_cast<double>(row.job.run.ranks) /
         model.peak_flop_per_ns(row.machines.front(), row.job.run.is_fp16) / utilisation;
}

Result<ValidationRow> predicted_row(const DenseModel& model, const MeasuredJob& measured,
                                    const std::string& machine) {
  NB_TRY(const double step_ns, model.step_ns(measured.job, machine));
  ValidationRow row;
  row.id = measured.job.name;
  row.machine = machine;
  row.unit = measured.unit;
  row.reason = measured.reason;
  row.use = measured.use;
  row.measured = measured.value;
  row.predicted = value_in(measured.unit, measured.job, step_ns);
  row.error = step_ns / measured.step_ns - 1;
  return row;
}

// What the rows that are left out say beside their reason.
void add_excluded(ValidationGroup& group, std::span<const CalibrationRow> rows) {
  for (const CalibrationRow& row : rows) {
    if (row.use == RowUse::kExclude) group.rows.push_back(measured_row(row));
  }
}

bool is_fitted(const Family& family, const FamilyConstant& constant) {
  return std::ranges::count(family.fitted, constant.pointer) > 0;
}

Result<void> add_left_out(DenseValidation& result, DenseModel& model,
                          const std::vector<const MeasuredJob*>& rows, const Family& family) {
  const double all = fitted_utilisation(model, rows);
  for (const FamilyConstant& c : family.constants)
    if (is_fitted(family, c))
      result.constants.push_back(
          {c.name, c.unit, c.value, c.value, c.value, c.min, c.max, c.value});
  NB_TRY(const auto on_all, fit_dense(model, rows, family));
  for (ConstantSpread& spread : result.constants)
    spread.refitted = std::ranges::find(on_all, spread.name, &FamilyConstant::name)->value;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto others = without(rows, i);
    NB_TRY(const auto refitted, fit_dense(model, others, family));
    for (ConstantSpread& spread : result.constants) {
      const double value = std::ranges::find(refitted, spread.name, &FamilyConstant::name)->value;
      spread.lowest = std::min(spread.lowest, value);
      spread.highest = std::max(spread.highest, value);
    }
    model.set(refitted);
    NB_TRY(const double step_ns, model.step_ns(rows[i]->job, rows[i]->machines.front()));
    ValidationRow& row = result.steps.rows[i];
    row.left_out = step_ns / rows[i]->step_ns - 1;
    row.baseline = step_at(model, *rows[i], all) / rows[i]->step_ns - 1;
    row.baseline_left_out =
        step_at(model, *rows[i], fitted_utilisation(model, others)) / rows[i]->step_ns - 1;
  }
  model.set(family.constants);
  return {};
}

// The same job on the machine that the reference column is taken for, without what Ascend's
// software alone has.
Result<double> reference_step_ns(const PricedMachine& gpu, MegatronJob job) {
  job.run.mc2 = false;
  NB_TRY(const MegatronStep step,
         megatron_step(job, megatron_machine(gpu.profile, gpu.between_nodes)));
  return step.step_ns;
}

// Steps of the reference column on one machine, and how far they are off.
struct Reference {
  std::string machine;
  std::vector<double> step_ns;  // of the rows that have one
  double error = 0;             // mean absolute
};
Result<Reference> reference_on(const std::string& machine,
                               const std::vector<const MeasuredJob*>& rows) {
  NB_TRY(const PricedMachine gpu, priced_machine(machine, kReferenceStack));
  Reference reference{machine, {}, 0};
  for (const MeasuredJob* row : rows) {
    NB_TRY(const double step_ns, reference_step_ns(gpu, row->job));
    reference.step_ns.push_back(step_ns);
    reference.error +=
        std::abs(step_ns / row->reference_step_ns - 1) / static_cast<double>(rows.size());
  }
  return reference;
}

// The column names no machine: of those that it may be, the one that comes nearest to it.
Result<void> add_sides(DenseValidation& result, const DenseModel& model,
                       std::vector<const MeasuredJob*> rows) {
  std::erase_if(rows, [](const MeasuredJob* row) { return row->reference_step_ns == 0; });
  if (rows.empty()) return {};
  std::vector<Reference> candidates;
  std::string errors;
  for (const char* machine : kReferenceMachines) {
    NB_TRY(Reference reference, reference_on(machine, rows));
    errors +=
        fmt::format("{}{} {:.1f} %", errors.empty() ? "" : ", ", machine, 100 * reference.error);
    candidates.push_back(std::move(reference));
  }
  const Reference& taken = *std::ranges::min_element(candidates, {}, &Reference::error);
  result.reference = fmt::format(
      "the column names no machine and reaches 37 to 69 % of 312 TFLOP/s. Taken for {} under {}, "
      "nothing fitted: of the two that it may be, the nearer one (mean |error| of its column: {})",
      taken.machine, kReferenceStack, errors);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const MeasuredJob& row = *rows[i];
    NB_TRY(const double own, model.step_ns(row.job, row.machines.front()));
    SideRow side{row.job.name, row.reference_step_ns / row.step_ns, taken.step_ns[i] / own,
                 Side::kTie};
    side.side = side_of(side.measured, side.predicted);
    result.sides.push_back(std::move(side));
  }
  return {};
}

}  // namespace

Result<DenseModel> DenseModel::make(const std::vector<MeasuredJob>& rows,
                                    const std::string& stack) {
  DenseModel model;
  for (const MeasuredJob& row : rows)
    for (const std::string& machine : row.machines) {
      if (model.machines_.contains(machine)) continue;
      NB_TRY(PricedMachine priced, priced_machine(machine, stack), row.job.name);
      model.machines_.emplace(machine, std::move(priced));
    }
  return model;
}

void DenseModel::set(std::span<const FamilyConstant> constants) {
  for (auto& [name, machine] : machines_) put_constants(machine.profile, constants);
}

Result<void> DenseModel::put(const OwnConstants& own) {
  for (auto& [name, machine] : machines_)
    if (own.are_of(name)) NB_TRY_VOID(own.put(machine.profile));
  return {};
}

Result<double> DenseModel::step_ns(const MegatronJob& job, const std::string& machine) const {
  const auto found = machines_.find(machine);
  NB_CHECK(found != machines_.end(), "[dense] no machine {}", machine);
  const PricedMachine& priced = found->second;
  NB_TRY(const MegatronStep step,
         megatron_step(job, megatron_machine(priced.profile, priced.between_nodes)), job.name);
  return step.step_ns;
}

double DenseModel::peak_flop_per_ns(const std::string& machine, bool is_fp16) const {
  const auto found = machines_.find(machine);
  NB_CHECK(found != machines_.end(), "[dense] no machine {}", machine);
  const auto& peak = found->second.profile.matrix.peak.of(is_fp16 ? DType::kFp16 : DType::kBf16);
  NB_CHECK(peak.has_value(), "[dense] {} has no 16-bit type", machine);
  return peak->value * 1000;
}

Result<std::vector<FamilyConstant>> fit_dense(DenseModel& model,
                                              const std::vector<const MeasuredJob*>& rows,
                                              const Family& family) {
  std::vector<FamilyConstant> constants = family.constants;
  std::vector<FreeConstant> free;
  for (const FamilyConstant& c : constants)
    if (is_fitted(family, c)) free.push_back({c.name, c.value, c.min, c.max});
  // What is wrong with a job is wrong with any constants: said before the fit.
  for (const MeasuredJob* row : rows) NB_TRY_VOID(model.step_ns(row->job, row->machines.front()));
  const auto put = [&](std::span<const double> values) {
    for (std::size_t i = 0; i < free.size(); ++i)
      std::ranges::find(constants, free[i].name, &FamilyConstant::name)->value = values[i];
    model.set(constants);
  };
  NB_TRY(const Fit fit, fit_constants(free, [&](std::span<const double> values) {
           put(values);
           std::vector<double> residuals;
           for (const MeasuredJob* row : rows)
             residuals.push_back(
                 std::log(*model.step_ns(row->job, row->machines.front()) / row->step_ns));
           return residuals;
         }));
  put(fit.values);
  return constants;
}

double fitted_utilisation(const DenseModel& model, const std::vector<const MeasuredJob*>& rows) {
  double sum = 0;
  for (const MeasuredJob* row : rows) sum += std::log(step_at(model, *row, 1) / row->step_ns);
  return std::exp(sum / static_cast<double>(rows.size()));
}

Result<DenseValidation> validate_dense(std::span<const CalibrationRow> readme,
                                       std::span<const CalibrationRow> records,
                                       const Family& family, const OwnConstants& own) {
  NB_TRY(std::vector<MeasuredJob> steps, measured_jobs(readme));
  NB_TRY(const std::vector<MeasuredJob> ci, measured_jobs(records));
  std::ranges::stable_sort(steps, {}, &MeasuredJob::use);  // fitted ones first
  std::vector<MeasuredJob> all = steps;
  all.insert(all.end(), ci.begin(), ci.end());
  NB_TRY(DenseModel model, DenseModel::make(all, kStack));
  model.set(family.constants);
  NB_TRY_VOID(model.put(own));
  DenseValidation result;
  result.steps = {"steps", "training steps of dense decoders, known chip", kFamily, {}};
  for (const MeasuredJob& row : steps) {
    NB_TRY(ValidationRow predicted, predicted_row(model, row, row.machines.front()));
    result.steps.rows.push_back(std::move(predicted));
  }
  const std::vector<const MeasuredJob*> fitted = fit_rows(steps);
  if (own.machine.empty()) NB_TRY_VOID(add_left_out(result, model, fitted, family));
  add_excluded(result.steps, readme);
  result.records = {
      "records", "steps of a continuous integration, chip not stated: both bins", kFamily, {}};
  for (const MeasuredJob& row : ci)
    for (const std::string& machine : row.machines) {
      NB_TRY(ValidationRow predicted, predicted_row(model, row, machine));
      result.records.rows.push_back(std::move(predicted));
    }
  add_excluded(result.records, records);
  NB_TRY_VOID(add_sides(result, model, fitted));
  return result;
}

}  // namespace nb
