#include <fmt/format.h>

#include "model/collectives/cost.hpp"
#include "model/predict/kernel_validation.hpp"
#include "model/predict/validated_row.hpp"

namespace nb {
namespace {

struct Call {
  std::int64_t ranks = 0, size_bytes = 0;
};
Result<Call> call_of(const CalibrationRow& row) {
  NB_TRY(const auto ranks, row.whole("ranks"));
  NB_TRY(const auto size, row.whole("size_bytes"));
  if (!ranks || !size || *ranks < 2 || *size < 1)
    return bad_input(
        fmt::format("{}: {} needs ranks, at least 2, and size_bytes", row.where, row.id));
  return Call{*ranks, *size};
}

// In the row's unit: us, GB/s of the caller's bytes, or bus bandwidth as nccl-tests counts it.
Result<double> predicted_in_unit(const CalibrationRow& row, const DeviceProfile& profile) {
  NB_TRY(const Call call, call_of(row));
  const auto bytes = static_cast<std::uint64_t>(call.size_bytes);
  const auto ranks = static_cast<int>(call.ranks);
  const std::string_view operation = row.text("operation");
  double time_ns = 0;
  if (operation == "copy") {
    time_ns = profile.links.latency.value +
              static_cast<double>(call.size_bytes) / profile.links.bandwidth.value;
  } else if (operation == "all_reduce") {
    time_ns = static_cast<double>(
        collective_time_ns(OpKind::kAllReduce, link_model(profile.links), bytes, ranks));
  } else {
    return bad_input(fmt::format("{}: operation {}: copy or all_reduce", row.where, operation));
  }
  if (row.unit == "us") return time_ns / 1000;
  if (row.unit == "GB/s") return static_cast<double>(call.size_bytes) / time_ns;
  if (row.unit == "GB/s busbw")
    return bus_bandwidth_gb_s(OpKind::kAllReduce, bytes, ranks, static_cast<std::int64_t>(time_ns));
  return bad_input(fmt::format("{}: unit {}: us, GB/s or GB/s busbw", row.where, row.unit));
}

}  // namespace

Result<ValidationGroup> validate_collectives(std::span<const CalibrationRow> rows,
                                             const OwnConstants& own) {
  ValidationGroup group{"collective", "collectives and copies between cards", "machine", {}};
  PricedMachines machines(own);
  for (const CalibrationRow& row : rows) {
    NB_TRY(ValidationRow validated, validated_row(row, machines, predicted_in_unit));
    group.rows.push_back(std::move(validated));
  }
  return group;
}

}  // namespace nb
