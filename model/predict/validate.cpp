#include "model/predict/validate.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "harness/base/check.hpp"
#include "model/predict/dense_validation.hpp"
#include "model/predict/kernel_validation.hpp"
#include "model/predict/memory_validation.hpp"
#include "model/predict/nanochat_validation.hpp"

namespace nb {
namespace {

const std::vector<CalibrationRow>& table(const CalibrationTables& tables, std::string_view file) {
  const auto found = tables.find(file);
  NB_CHECK(found != tables.end(), "[validate] no table {}", file);
  return found->second;
}

std::optional<double> mean_of(const ValidationGroup& group, RowError error) {
  return mean_absolute(errors_in(group, error, RowUse::kFit));
}
std::optional<double> worst_of(const ValidationGroup& group, std::optional<RowUse> use) {
  return largest_absolute(errors_in(group, &ValidationRow::error, use));
}

std::optional<double> error_of_row(const ValidationGroup& group, std::string_view prefix) {
  std::optional<double> worst;
  for (const ValidationRow& row : group.rows)
    if (row.error && row.id.starts_with(prefix))
      worst = std::max(worst.value_or(0), std::abs(*row.error));
  return worst;
}

// Longest over shortest step of the rows that begin with this, less 1; as predicted.
std::optional<double> spread_of(const ValidationGroup& group, std::string_view prefix) {
  std::vector<double> times;
  for (const ValidationRow& row : group.rows)
    if (row.predicted && row.error && row.id.starts_with(prefix))
      times.push_back(row.step_ms.value_or(0));
  if (times.size() < 2) return std::nullopt;
  const auto [low, high] = std::ranges::minmax(times);
  return high / low - 1;
}

// Of the ranges: how far the family stands from where its rows put it.
std::optional<double> furthest(const std::vector<ConstantSpread>& constants) {
  std::optional<double> most;
  for (const ConstantSpread& c : constants)
    most = std::max(most.value_or(0), std::abs(c.refitted - c.value) / (c.max - c.min));
  return most;
}

// The limits of the project's own promise; they stay where they are when a figure fails.
std::vector<ValidationFigure> figures_of(const Validation& v) {
  const auto group = [&](std::string_view name) -> const ValidationGroup& {
    const ValidationGroup* found = v.find(name);
    NB_CHECK(found != nullptr, "[validate] no group {}", name);
    return *found;
  };
  return {
      {"steps: mean absolute error of fit rows", mean_of(group("steps"), &ValidationRow::error),
       0.06},
      {"steps: the same, each row left out", mean_of(group("steps"), &ValidationRow::left_out),
       0.09},
      {"steps: a constant from what its rows give", furthest(v.constants), 0.01},
      {"gemm: worst fit row", worst_of(group("gemm"), RowUse::kFit), 0.08},
      {"skinny: worst row", worst_of(group("skinny"), {}), 0.20},
      {"vector: worst row", worst_of(group("vector"), {}), 0.20},
      {"static: worst plain row", worst_of(group("static"), RowUse::kFit), 0.05},
      {"peak: worst plain row", worst_of(group("peak"), RowUse::kFit), 0.10},
      {"nanochat: d20 on 8 H100, step", error_of_row(group("nanochat"), "h100-d20-royam"), 0.05},
      {"nanochat: d20 on 8 H100, peak", error_of_row(group("nanochat_memory"), "h100-d20-royam"),
       0.03},
      {"nanochat: V1 on 16 dies of 910C, step", error_of_row(group("nanochat"), "v1-"), 0.05},
      {"nanochat: V1, peak", error_of_row(group("nanochat_memory"), "v1-"), 0.03},
      {"nanochat: V6 on 1, 2, 4 cards, worst step", error_of_row(group("nanochat"), "v6-"), 0.20},
      {"nanochat: V6, longest over shortest step", spread_of(group("nanochat"), "v6-"), 0.15},
  };
}

Result<Validation> predicted(const CalibrationTables& tables, const OwnConstants& own) {
  NB_TRY(const Family family, load_family("megatron_npu"));
  const std::vector<CalibrationRow>& records = table(tables, "megatron_ci");
  NB_TRY(DenseValidation dense,
         validate_dense(table(tables, "megatron_readme"), records, family, own));
  NB_TRY(ProductValidation products, validate_products(table(tables, "gemm"), own));
  NB_TRY(ValidationGroup vector, validate_vector(table(tables, "vector"), own));
  NB_TRY(ValidationGroup attention, validate_attention(table(tables, "attention"), own));
  NB_TRY(ValidationGroup collectives, validate_collectives(table(tables, "collective"), own));
  NB_TRY(NanochatValidation nanochat, validate_nanochat(table(tables, "nanochat"), own));
  NB_TRY(MemoryValidation memory, validate_memory(records));
  Validation validation;
  for (ValidationGroup* group :
       {&dense.steps, &dense.records, &products.gemm, &products.skinny, &vector, &attention,
        &collectives, &nanochat.rates, &nanochat.memory, &memory.standing, &memory.peak})
    validation.groups.push_back(std::move(*group));
  validation.constants = std::move(dense.constants);
  validation.reference = std::move(dense.reference);
  validation.sides = std::move(dense.sides);
  return validation;
}

// Rows of the machine as its own constants have them, in place of the shipped ones'.
void take(Validation& shipped, Validation& own, std::string_view machine) {
  for (std::size_t g = 0; g < shipped.groups.size(); ++g)
    for (std::size_t i = 0; i < shipped.groups[g].rows.size(); ++i) {
      ValidationRow& row = shipped.groups[g].rows[i];
      const ValidationRow& other = own.groups[g].rows[i];
      if (row.machine != machine || !row.error) continue;
      row.shipped = row.error;
      row.predicted = other.predicted;
      row.error = other.error;
      row.step_ms = other.step_ms;
      row.note = other.note;
    }
  shipped.sides = std::move(own.sides);
}

}  // namespace

Result<Validation> validate(const CalibrationTables& tables, const OwnConstants& own) {
  NB_TRY(Validation validation, predicted(tables, {}));
  if (!own.machine.empty()) {
    NB_TRY(Validation other, predicted(tables, own));
    take(validation, other, own.machine);
  }
  validation.figures = figures_of(validation);
  return validation;
}

}  // namespace nb
