#include "harness/microbench/measurement_table.hpp"

#include <fmt/format.h>

#include <cmath>

#include "harness/base/table.hpp"

namespace nb {
namespace {

struct TableColumn {
  const char* value;
  const char* header;
  bool is_mean;  // of shares and ratios a geometric mean says something
};
constexpr TableColumn kTableColumns[] = {
    {"time_ns", "time", false},
    {"rate_gflop_s", "Gflop/s", false},
    {"share_of_peak", "of peak", true},
    {"ratio_to_openblas", "× OpenBLAS", true},
    {"rate_gb_s", "GB/s", false},
    {"share_of_bandwidth", "of a copy", true},
    {"rate_tok_s", "tok/s", false},
    {"ratio_to_prefill", "× prefill", true},
    {"ratio_to_unshared", "× unshared", true},
    {"bus_bandwidth_gb_s", "bus GB/s", false},
    {"peak_memory_bytes", "peak memory", false},
    {"loss_difference", "Δ loss", false},
    {"log_prob_difference", "Δ log p", false},
};

std::string cell(const TableColumn& column, double value) {
  const std::string name = column.value;
  if (name == "time_ns") return human_time_ns(value);
  if (name == "peak_memory_bytes") return human_bytes(value);
  if (column.is_mean) return fmt::format("{:.3f}", value);
  if (name.ends_with("_difference")) return fmt::format("{:.2g}", value);
  return value < 1 ? fmt::format("{:.4f}", value) : fmt::format("{:.1f}", value);
}

bool has(const std::vector<Measurement>& measurements, const TableColumn& column) {
  for (const Measurement& measurement : measurements)
    if (measurement.values.contains(column.value)) return true;
  return false;
}

// Of the host's measurements that have the value; empty without any.
std::string mean_cell(const std::vector<Measurement>& measurements, const TableColumn& column) {
  double sum = 0;
  int count = 0;
  for (const Measurement& measurement : measurements) {
    const auto found = measurement.values.find(column.value);
    if (measurement.is_simulated || found == measurement.values.end()) continue;
    sum += std::log(found->second);
    ++count;
  }
  return count == 0 ? "" : cell(column, std::exp(sum / count));
}

}  // namespace

std::string measurement_text(const std::vector<Measurement>& measurements) {
  std::vector<TableColumn> columns;
  for (const TableColumn& column : kTableColumns)
    if (has(measurements, column)) columns.push_back(column);
  TextTable table{{"benchmark", "clock"}, {}};
  std::vector<std::string> means{"geometric mean", "host"};
  bool has_mean = false;
  for (const TableColumn& column : columns) {
    table.header.emplace_back(column.header);
    means.push_back(column.is_mean ? mean_cell(measurements, column) : "");
    has_mean = has_mean || !means.back().empty();
  }
  for (const Measurement& measurement : measurements) {
    std::vector<std::string> row{measurement.name, measurement.is_simulated ? "sim" : "host"};
    for (const TableColumn& column : columns) {
      const auto found = measurement.values.find(column.value);
      row.push_back(found == measurement.values.end() ? "" : cell(column, found->second));
    }
    if (!measurement.unmeasured.empty()) row.push_back(measurement.unmeasured);
    table.rows.push_back(std::move(row));
  }
  if (has_mean) table.rows.push_back(std::move(means));
  return to_text(table);
}

}  // namespace nb
