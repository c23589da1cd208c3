#include "model/predict/validation.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace nb {

namespace {
constexpr double kTieShare = 0.10;
}  // namespace

ValidationRow measured_row(const CalibrationRow& row) {
  ValidationRow measured;
  measured.id = row.id;
  measured.machine = row.text("machine");
  measured.unit = row.unit;
  measured.reason = row.reason;
  measured.use = row.use;
  measured.measured = row.value;
  return measured;
}

bool is_rate(const std::string& unit) {
  static const std::array<std::string, 6> kRates = {"tok/s",   "tok/s/card", "TFLOP/s/card",
                                                    "TFLOP/s", "GB/s",       "GB/s busbw"};
  return std::ranges::count(kRates, unit) > 0;
}

double error_of(double predicted, double measured, const std::string& unit) {
  return is_rate(unit) ? measured / predicted - 1 : predicted / measured - 1;
}

std::vector<double> errors_in(const ValidationGroup& group, RowError error,
                              std::optional<RowUse> use) {
  std::vector<double> errors;
  for (const ValidationRow& row : group.rows)
    if (row.*error && (!use || row.use == *use)) errors.push_back(*(row.*error));
  return errors;
}

std::optional<double> mean_absolute(const std::vector<double>& errors) {
  if (errors.empty()) return std::nullopt;
  double sum = 0;
  for (const double e : errors) sum += std::abs(e);
  return sum / static_cast<double>(errors.size());
}

std::optional<double> largest_absolute(const std::vector<double>& errors) {
  if (errors.empty()) return std::nullopt;
  double largest = 0;
  for (const double e : errors) largest = std::max(largest, std::abs(e));
  return largest;
}

std::string_view name(Side side) {
  constexpr std::array<std::string_view, 3> kNames = {"right", "WRONG", "tie"};
  return kNames[static_cast<std::size_t>(side)];
}

Side side_of(double measured, double predicted) {
  if (std::abs(measured - 1) <= kTieShare) return Side::kTie;
  return (measured > 1) == (predicted > 1) ? Side::kRight : Side::kWrong;
}

const ValidationGroup* Validation::find(std::string_view group) const {
  for (const ValidationGroup& g : groups)
    if (g.name == group) return &g;
  return nullptr;
}

bool Validation::holds() const {
  return std::ranges::all_of(figures, &ValidationFigure::holds) &&
         std::ranges::none_of(sides, [](const SideRow& s) { return s.side == Side::kWrong; });
}

}  // namespace nb
