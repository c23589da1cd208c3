#include "harness/profiler/expectation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "model/collectives/cost.hpp"
#include "model/device/cost_model.hpp"

namespace nb::profiler {
namespace {

std::optional<OpKind> collective_named(std::string_view op) {
  for (const OpKind kind : {OpKind::kAllReduce, OpKind::kReduceScatter, OpKind::kAllGather,
                            OpKind::kBroadcast, OpKind::kBarrier})
    if (nb::name(kind) == op) return kind;
  return std::nullopt;
}

// The sizes of foreign files go into doubles and divisions of the model: what no card computes is
// no expectation.
bool is_sane(const nb::Kernel& kernel) {
  constexpr std::int64_t kLargest = std::int64_t{1} << 40;
  const bool is_product =
      kernel.unit == KernelUnit::kMatrix || kernel.unit == KernelUnit::kAttention;
  for (const std::int64_t side : {kernel.batch, kernel.m, kernel.n, kernel.k})
    if (side > kLargest || (is_product && side <= 0)) return false;
  const double tiles = static_cast<double>(kernel.batch) * static_cast<double>(kernel.m) *
                       static_cast<double>(kernel.n) * static_cast<double>(kernel.k);
  return tiles < 1e18 && kernel.flops >= 0 && kernel.flops < 1e24 && kernel.burst_bytes >= 0;
}

double bound_ns(const nb::Kernel& kernel, const DeviceProfile& device) {
  double peak = device.vector.peak.value;
  if (kernel.unit != KernelUnit::kVector) {
    const auto& of_type = device.matrix.peak.of(kernel.dtype);
    peak = of_type ? of_type->value : 0;
  }
  const double bytes =
      static_cast<double>(kernel.read_bytes) + static_cast<double>(kernel.write_bytes);
  const double compute_ns = peak > 0 ? kernel.flops / (peak * 1000) : 0;
  return std::max(compute_ns, bytes / device.memory.main.bandwidth.value);
}

}  // namespace

double Expectation::explained_share() const {
  return measured_ns > 0 ? static_cast<double>(explained_ns) / static_cast<double>(measured_ns) : 0;
}
double Expectation::ratio() const {
  return expected_ns > 0 ? static_cast<double>(explained_ns) / static_cast<double>(expected_ns) : 0;
}

std::optional<Expected> expected_of(const Work& work, const DeviceProfile& device) {
  if (!work.model || !is_sane(*work.model)) return std::nullopt;
  const nb::Kernel& kernel = *work.model;
  if (kernel.unit == KernelUnit::kLink) {
    const auto kind = collective_named(kernel.name);
    if (!kind || work.ranks < 1 || work.ranks > device.links.devices.whole()) return std::nullopt;
    const std::int64_t time_ns = collective_time_ns(
        *kind, link_model(device.links), kernel.read_bytes, static_cast<int>(work.ranks));
    return Expected{time_ns, time_ns};
  }
  if (kernel.unit == KernelUnit::kHostLink)
    return Expected{kernel_cost(kernel, device).time_ns, kernel_cost(kernel, device).time_ns};
  const bool is_product =
      kernel.unit == KernelUnit::kMatrix || kernel.unit == KernelUnit::kAttention;
  if (is_product && !device.matrix.peak.of(kernel.dtype)) return std::nullopt;
  return Expected{round_ns(bound_ns(kernel, device)), kernel_cost(kernel, device).time_ns};
}

ExpectationTable expectation_table(const Profile& profile, const RankFigures& figures,
                                   const DeviceProfile& device, std::size_t top) {
  ExpectationTable result;
  Table& table = result.table;
  table = {"expectation",
           {{"name", Unit::kText},
            {"class", Unit::kWord},
            {"count", Unit::kCount},
            {"measured", Unit::kTime},
            {"bound", Unit::kTime},
            {"expected", Unit::kTime},
            {"ratio", Unit::kRatio}},
           {},
           {},
           top};
  struct Group {
    std::size_t example = 0;
    std::int64_t count = 0, total_ns = 0;
  };
  std::map<std::array<TextId, 5>, Group> groups;
  std::map<std::string, std::int64_t> unknown_ns;
  const Rank& rank = *figures.rank;
  for (const std::size_t i : figures.kernels) {
    const Kernel& kernel = rank.kernels[i];
    Group& group = groups[{kernel.name, kernel.input_shapes, kernel.output_shapes,
                           kernel.data_types, kernel.label}];
    if (group.count++ == 0) group.example = i;
    group.total_ns += kernel.duration_ns;
  }
  std::vector<Group> order;
  for (const auto& [key, group] : groups) order.push_back(group);
  std::ranges::stable_sort(order, [](const Group& a, const Group& b) {
    return std::pair(-a.total_ns, a.example) < std::pair(-b.total_ns, b.example);
  });
  for (const Group& group : order) {
    const Kernel& kernel = rank.kernels[group.example];
    const auto expected = expected_of(work_of(kernel, profile.texts), device);
    if (expected || computes(kernel.op_class)) result.sum.measured_ns += group.total_ns;
    if (!expected) {
      unknown_ns[std::string(name(kernel.op_class))] += group.total_ns;
      continue;
    }
    const std::int64_t expected_ns = expected->time_ns * group.count;
    result.sum.explained_ns += group.total_ns;
    result.sum.expected_ns += expected_ns;
    table.rows.push_back(
        {profile.texts[kernel.name], std::string(name(kernel.op_class)), group.count,
         group.total_ns, expected->bound_ns * group.count, expected_ns,
         expected_ns > 0
             ? Cell(static_cast<double>(group.total_ns) / static_cast<double>(expected_ns))
             : Cell()});
  }
  table.notes.push_back(
      {"note.explained",
       {device.name(), percent_text(result.sum.explained_share()),
        microseconds_text(result.sum.explained_ns), microseconds_text(result.sum.expected_ns),
        fmt::format("{:.2f}", result.sum.ratio())}});
  for (const auto& [op_class, time_ns] : unknown_ns)
    table.notes.push_back({"note.no_expectation", {op_class, microseconds_text(time_ns)}});
  return result;
}

}  // namespace nb::profiler
