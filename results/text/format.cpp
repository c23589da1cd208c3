#include "results/text/format.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "harness/base/table.hpp"

namespace nb {
namespace {

std::string with_sign(double value, std::string text_of_magnitude) {
  if (value == 0) return text_of_magnitude;
  return (value < 0 ? "−" : "+") + std::move(text_of_magnitude);
}

// Things that are counted: "1 item", "512 tokens".
bool is_counted(std::string_view unit) {
  constexpr std::array<std::string_view, 8> kThings = {"item",     "token", "row",    "step",
                                                       "document", "seed",  "device", "core"};
  return std::find(kThings.begin(), kThings.end(), unit) != kThings.end();
}

}  // namespace

std::string value_text(double value, const std::string& unit) {
  if (value < 0) return "−" + value_text(-value, unit);
  if (unit == "ns") return human_time_ns(value);
  if (unit == "byte") return human_bytes(value);
  if (unit == "bit/byte" || unit == "nat") return fmt::format("{:.5f} {}", value, unit);
  // "Gflop/s", "GB/s" carry a prefix already: 685000 Gflop/s reads 685 Tflop/s.
  if (unit.starts_with('G') && unit.ends_with("/s")) return human_rate(value * 1e9, unit.substr(1));
  if (unit == "1/s") return fmt::format("{:.4g}/s", value);
  if (unit.ends_with("/s")) return human_rate(value, unit);
  const bool whole = value == std::floor(value) && value < 1e15;
  if (unit == "1") {  // shares with four decimals, counts as counts
    if (whole && value >= 2) return with_commas(static_cast<long long>(value));
    return value < 2 ? fmt::format("{:.4f}", value) : fmt::format("{:.6g}", value);
  }
  const std::string number =
      whole ? with_commas(static_cast<long long>(value)) : fmt::format("{:.6g}", value);
  if (unit.empty()) return number;
  const bool is_one = whole && value == 1;
  return number + " " + unit + (is_counted(unit) && !is_one ? "s" : "");
}

std::string value_text(const Metric& metric) {
  if (!metric.value) return fmt::format("— ({})", metric.reason_if_null);
  return value_text(*metric.value, metric.unit);
}

std::string signed_text(double value, const std::string& unit) {
  return with_sign(value, value_text(std::fabs(value), unit));
}

bool has_plain_unit(const std::string& unit) {
  return !unit.empty() && unit != "1" && unit != "ns" && unit != "byte" && !unit.ends_with("/s");
}

std::string plain_value(double value, const std::string& unit) {
  std::string text = value_text(value, unit);
  if (has_plain_unit(unit)) text.resize(text.find(' '));  // units may be two words
  return text;
}

std::string plain_signed(double value, const std::string& unit) {
  return with_sign(value, plain_value(std::fabs(value), unit));
}

std::string rounded_value(double value, const std::string& unit) {
  if (unit == "ns" || unit == "byte" || unit.ends_with("/s")) return value_text(value, unit);
  return fmt::format("{:.2g}", value);
}

Json interval_json(const std::optional<Interval>& interval) {
  return interval ? Json{interval->low, interval->high} : Json();
}
std::string interval_text(const Interval& interval, const std::string& unit) {
  return fmt::format("[{}, {}]", plain_signed(interval.low, unit),
                     plain_signed(interval.high, unit));
}

std::string percent_text(double share) {
  return with_sign(share, fmt::format("{:.3g} %", std::fabs(share) * 100));
}

std::string p_text(double p) { return p < 0.0001 ? "< 0.0001" : fmt::format("{:.4f}", p); }

}  // namespace nb
