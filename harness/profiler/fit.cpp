#include "harness/profiler/fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <span>

#include "harness/base/rng.hpp"
#include "harness/profiler/tables.hpp"
#include "harness/profiler/work.hpp"
#include "model/device/cost_model.hpp"

namespace nb::profiler {
namespace {

constexpr std::size_t kMostConstants = 5;

struct ConstantRow {
  std::string_view name, unit;
  double limit;  // physical; 0: none
  Quantity& (*place)(DeviceProfile& device);
};
constexpr ConstantRow kConstants[] = {
    {"matrix_efficiency", "share", 1,
     [](DeviceProfile& device) -> Quantity& { return device.matrix.efficiency; }},
    {"memory_efficiency", "share", 1,
     [](DeviceProfile& device) -> Quantity& { return device.memory.main.efficiency; }},
    {"attention_efficiency", "share", 1,
     [](DeviceProfile& device) -> Quantity& { return device.matrix.attention_efficiency; }},
    {"host_dispatch", "ns", 0,
     [](DeviceProfile& device) -> Quantity& { return device.launch.host_dispatch; }},
    {"link_bandwidth", "GB/s", 0,
     [](DeviceProfile& device) -> Quantity& { return device.links.bandwidth; }},
    {"collective_dispatch", "ns", 0,
     [](DeviceProfile& device) -> Quantity& { return device.launch.collective_dispatch; }},
    // Absent in most profiles: apply_calibration() makes it.
    {"hidden_share", "share", 1,
     [](DeviceProfile& device) -> Quantity& {
       if (!device.links.hidden_share) device.links.hidden_share.emplace("share");
       return *device.links.hidden_share;
     }},
};
const ConstantRow* row_of(std::string_view name) {
  for (const ConstantRow& row : kConstants)
    if (row.name == name) return &row;
  return nullptr;
}

// One measured kernel: time, and what it would take at an efficiency of 1.
struct Sample {
  double time_ns = 0, ideal_ns = 0;
  bool is_odd = false;  // row of the file
  double efficiency() const { return ideal_ns / time_ns; }
};

// Sum over sum, as the rate of all of them together.
double efficiency_of(std::span<const Sample> samples) {
  double time_ns = 0, ideal_ns = 0;
  for (const Sample& one : samples) {
    time_ns += one.time_ns;
    ideal_ns += one.ideal_ns;
  }
  return time_ns > 0 ? ideal_ns / time_ns : 0;
}

struct Range {
  double low = 0, high = 0;
};
// Percentiles of a bootstrap over the kernels; the same file gives the same range.
Range bootstrap(std::span<const Sample> samples) {
  constexpr int kRounds = 1000;
  const Rng rng(17, "profiler/fit");
  std::vector<double> values;
  std::uint64_t at = 0;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<Sample> drawn;
    for (std::size_t i = 0; i < samples.size(); ++i)
      drawn.push_back(samples[rng.below(at++, samples.size())]);
    values.push_back(efficiency_of(drawn));
  }
  std::ranges::sort(values);
  return {values[kRounds / 40], values[kRounds - kRounds / 40 - 1]};
}

// Of sorted numbers.
double most_frequent(std::span<const double> sorted) {
  double value = 0;
  std::size_t most = 0;
  for (std::size_t i = 0; i < sorted.size();) {
    std::size_t end = i;
    while (end < sorted.size() && sorted[end] == sorted[i]) ++end;
    if (end - i > most) {
      most = end - i;
      value = sorted[i];
    }
    i = end;
  }
  return value;
}

class Fitter {
 public:
  Fitter(const Analysis& analysis, const DeviceProfile& device)
      : analysis_(analysis), device_(device), figures_(analysis.figures.front()) {}

  Calibration fit() {
    result_.family = device_.family;
    result_.device = device_.name();
    for (const RankFigures& one : analysis_.figures) result_.from.push_back(one.rank->source);
    gather();
    fit_efficiency("matrix_efficiency", products_, 20, "fit.few_products");
    fit_efficiency("memory_efficiency", streams_, 4, "fit.few_streams");
    fit_attention();
    fit_host();
    fit_links();
    fit_hidden();
    if (result_.constants.size() > kMostConstants) result_.constants.resize(kMostConstants);
    result_.check.error = errors_ > 0 ? error_sum_ / static_cast<double>(errors_) : 0;
    result_.check.shipped_error =
        errors_ > 0 ? shipped_error_sum_ / static_cast<double>(errors_) : 0;
    result_.check.kernels = errors_;
    return std::move(result_);
  }

 private:
  double shipped(std::string_view name) const {
    DeviceProfile copy = device_;
    return row_of(name)->place(copy).value;
  }
  void keep(std::string_view name, Said reason) {
    result_.kept.push_back({std::string(name), shipped(name), std::move(reason)});
  }
  void accept(std::string_view name, double value, Range range, std::int64_t n, std::string how) {
    const ConstantRow& row = *row_of(name);
    if (row.limit > 0 && value > row.limit)
      return keep(name, {"fit.over_limit",
                         {fmt::format("{:.3f}", value), fmt::format("{:.0f}", row.limit)}});
    result_.constants.push_back({std::string(name), value, range.low, range.high,
                                 std::string(row.unit), std::move(how), n, shipped(name)});
  }

  bool is_ours() const { return analysis_.profile->clock == Clock::kSim; }

  // Of a kernel of ours: at which efficiency the device model takes that long. Steps of 2^-40.
  double solved(const nb::Kernel& kernel, std::int64_t time_ns,
                const std::function<Quantity&(DeviceProfile&)>& place) const {
    DeviceProfile device = device_;
    double low = 1.0 / 1024, high = 1;
    for (int i = 0; i < 40; ++i) {
      const double middle = (low + high) / 2;
      place(device).value = middle;
      (kernel_cost(kernel, device).time_ns > time_ns ? low : high) = middle;
    }
    return (low + high) / 2;
  }

  void gather() {
    const Rank& rank = *figures_.rank;
    const double cache_bytes = device_.memory.cache.capacity.value * 1024 * 1024 * 1024;
    std::size_t number = 0;
    for (const std::size_t i : figures_.kernels) {
      const Kernel& kernel = rank.kernels[i];
      ++number;
      if (!computes(kernel.op_class) || kernel.duration_ns <= 0) continue;
      const Work work = work_of(kernel, analysis_.profile->texts);
      if (kernel.op_class == OpClass::kMatmul) ++product_count_;
      if (!work.model) continue;
      has_shapes_ = true;
      const nb::Kernel& model = *work.model;
      Sample sample{static_cast<double>(kernel.duration_ns), 0, number % 2 == 1};
      const auto& peak = device_.matrix.peak.of(model.dtype);
      if (model.unit == KernelUnit::kMatrix && peak && kernel.op_class == OpClass::kMatmul) {
        if (is_ours()) {
          if (kernel.duration_ns < 20'000 || !expected_of(work, device_) ||
              kernel_cost(model, device_).limiter != Limiter::kCompute)
            continue;
          sample.ideal_ns = sample.time_ns *
                            solved(model, kernel.duration_ns, row_of("matrix_efficiency")->place);
        } else {
          if (bound_of(kernel) != "compute") continue;
          sample.ideal_ns = model.flops / (peak->value * 1000);
        }
        products_.push_back(sample);
      } else if (model.unit == KernelUnit::kAttention && peak && !model.backward) {
        if (is_ours() && (!expected_of(work, device_) ||
                          kernel_cost(model, device_).limiter != Limiter::kCompute))
          continue;
        sample.ideal_ns = is_ours() ? sample.time_ns * solved(model, kernel.duration_ns,
                                                              row_of("attention_efficiency")->place)
                                    : model.flops / (peak->value * 1000);
        attention_.push_back(sample);
      } else if (model.unit == KernelUnit::kVector && work.bytes > 0) {
        const bool streams = kernel.op_class == OpClass::kElementwise ||
                             kernel.op_class == OpClass::kNorm ||
                             kernel.op_class == OpClass::kOptimizer || is_ours();
        const bool misses =
            kernel.l2_hit >= 0 && kernel.l2_hit < 0.5F && work.bytes > cache_bytes / 2;
        if (!streams || (work.bytes <= 2 * cache_bytes && !misses)) continue;
        if (is_ours()) {
          if (kernel_cost(model, device_).limiter != Limiter::kMemory) continue;
          sample.ideal_ns = sample.time_ns *
                            solved(model, kernel.duration_ns, row_of("memory_efficiency")->place);
        } else {
          sample.ideal_ns = work.bytes / device_.memory.main.bandwidth.value;
        }
        streams_.push_back(sample);
      }
    }
  }

  double share_of_compute(std::span<const Sample> samples) const {
    double time_ns = 0;
    for (const Sample& one : samples) time_ns += one.time_ns;
    return figures_.compute_sum_ns > 0 ? time_ns / static_cast<double>(figures_.compute_sum_ns) : 0;
  }

  // Odd rows say an efficiency, even ones are priced with it.
  void check(std::span<const Sample> samples, double shipped_value) {
    std::vector<Sample> odd, even;
    for (const Sample& one : samples) (one.is_odd ? odd : even).push_back(one);
    const double value = efficiency_of(odd);
    if (value <= 0 || shipped_value <= 0) return;
    for (const Sample& one : even) {
      error_sum_ += std::abs(one.ideal_ns / value / one.time_ns - 1);
      shipped_error_sum_ += std::abs(one.ideal_ns / shipped_value / one.time_ns - 1);
      ++errors_;
    }
  }

  void fit_efficiency(std::string_view name, const std::vector<Sample>& samples, std::size_t least,
                      const char* reason) {
    const double share = share_of_compute(samples);
    if (!has_shapes_) return keep(name, {"fit.no_shapes"});
    if (samples.size() < least || share < 0.1) {
      std::string count = std::to_string(samples.size());
      if (name == "matrix_efficiency") count += fmt::format(" of {}", product_count_);
      return keep(name, {reason, {count, percent_text(share)}});
    }
    check(samples, shipped(name));
    accept(name, efficiency_of(samples), bootstrap(samples),
           static_cast<std::int64_t>(samples.size()),
           is_ours() ? "solved with the device model"
           : name == "matrix_efficiency"
               ? "FLOP / (time x peak) of products whose bound is compute"
               : fmt::format("bytes / (time x {:.0f} GB/s) of kernels that stream from memory: "
                             "{:.3f} TB/s",
                             device_.memory.main.bandwidth.value,
                             efficiency_of(samples) * device_.memory.main.bandwidth.value / 1000));
  }

  void fit_attention() {
    if (!has_shapes_) return keep("attention_efficiency", {"fit.no_shapes"});
    if (attention_.size() < 4)
      return keep("attention_efficiency",
                  {"fit.few_attention", {std::to_string(attention_.size())}});
    check(attention_, shipped("attention_efficiency"));
    accept("attention_efficiency", efficiency_of(attention_), bootstrap(attention_),
           static_cast<std::int64_t>(attention_.size()),
           is_ours() ? "solved with the device model" : "FLOP / (time x peak), forward");
  }

  // Times between two starts where the device had nothing to do before either: the host's pace.
  void fit_host() {
    const Rank& rank = *figures_.rank;
    const std::int64_t free_ns = figures_.from_kernels ? figures_.from_kernels->free_ns : 0;
    if (rank.with_stack.value_or(false) || rank.profile_memory.value_or(false))
      return keep("host_dispatch",
                  {"fit.with_stack",
                   {fmt::format("{:.1f}", figures_.compute_count > 0
                                              ? static_cast<double>(free_ns) / 1e3 /
                                                    static_cast<double>(figures_.compute_count)
                                              : 0)}});
    std::vector<double> paces;
    if (is_ours()) {
      // Launches stand in the trace themselves; those of the forward pass have this constant.
      std::vector<const Kernel*> kernels;
      for (const std::size_t i : figures_.kernels)
        if (rank.kernels[i].issued_ns >= 0) kernels.push_back(&rank.kernels[i]);
      std::ranges::stable_sort(kernels, {}, &Kernel::issued_ns);
      for (std::size_t i = 0; i + 1 < kernels.size(); ++i) {
        const std::string& op = analysis_.profile->texts[kernels[i]->type];
        if (op.find("backward") == op.npos && kernels[i]->op_class != OpClass::kCommunication &&
            kernels[i]->op_class != OpClass::kMemoryCopy)
          paces.push_back(static_cast<double>(kernels[i + 1]->issued_ns - kernels[i]->issued_ns));
      }
    } else {
      for (std::size_t i = 0; i + 1 < figures_.gaps.size(); ++i) {
        const Gap& one = figures_.gaps[i];
        const Gap& next = figures_.gaps[i + 1];
        if (one.after == next.before && one.cause != GapCause::kSynchronize &&
            next.cause != GapCause::kSynchronize)
          paces.push_back(static_cast<double>(next.end_ns - one.end_ns));
      }
    }
    if (paces.size() < 20)
      return keep("host_dispatch", {"fit.no_host_bound", {std::to_string(paces.size())}});
    std::ranges::sort(paces);
    const std::size_t n = paces.size();
    if (is_ours()) {  // exact; longer where a full queue held the host
      const double value = most_frequent(paces);
      return accept("host_dispatch", value, {value, value}, static_cast<std::int64_t>(n),
                    "most frequent time from one launch to the next");
    }
    // Order statistics of the median's 95 % interval.
    const auto off = static_cast<std::size_t>(0.98 * std::sqrt(static_cast<double>(n)));
    const std::size_t low = n / 2 > off ? n / 2 - off : 0;
    accept("host_dispatch", paces[n / 2], {paces[low], paces[std::min(n - 1, n / 2 + off)]},
           static_cast<std::int64_t>(n), "median time from one launch to the next");
  }

  void fit_links() {
    struct Point {
      double bytes = 0, time_ns = 0;
    };
    std::vector<Point> points;
    std::vector<double> parallel;
    for (const Collective& one : figures_.rank->collectives)
      for (const LinkUse& use : one.links)
        if (use.link == "HCCS" && use.megabytes > 0 && one.transfer_ns > 0) {
          points.push_back({use.megabytes * 1e6, static_cast<double>(one.transfer_ns)});
          parallel.push_back(static_cast<double>(use.time_ns) /
                             static_cast<double>(one.transfer_ns));
        }
    const auto keep_both = [&](const Said& reason) {
      keep("link_bandwidth", reason);
      keep("collective_dispatch", reason);
    };
    if (points.empty()) return keep_both({"fit.no_collectives"});
    std::ranges::sort(points, {}, &Point::bytes);
    std::size_t sizes = 1;
    for (std::size_t i = 1; i < points.size(); ++i)
      if (points[i].bytes > points[i - 1].bytes * 1.01) ++sizes;
    const double factor = points.back().bytes / points.front().bytes;
    if (sizes < 3 || factor < 8)
      return keep_both({"fit.few_sizes", {std::to_string(sizes), fmt::format("{:.1f}", factor)}});
    // Each link carries its share at the same time.
    std::ranges::sort(parallel);
    const double links = std::max(1.0, std::round(parallel[parallel.size() / 2]));
    const auto line = [&](std::span<const Point> some) {
      double x = 0, y = 0, xx = 0, xy = 0;
      const auto n = static_cast<double>(some.size());
      for (const Point& one : some) {
        x += one.bytes / links;
        y += one.time_ns;
        xx += one.bytes / links * one.bytes / links;
        xy += one.bytes / links * one.time_ns;
      }
      const double slope = (n * xy - x * y) / (n * xx - x * x);
      return std::pair(slope, (y - slope * x) / n);
    };
    const auto [slope, intercept] = line(points);
    if (!(slope > 0) || !std::isfinite(slope)) return keep_both({"fit.bad_line"});
    // Leave one out: few points have no other honest range.
    Range rate{1 / slope, 1 / slope}, start{intercept, intercept};
    for (std::size_t skip = 0; skip < points.size(); ++skip) {
      std::vector<Point> rest = points;
      rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(skip));
      const auto [one, other] = line(rest);
      if (!(one > 0)) continue;
      rate = {std::min(rate.low, 1 / one), std::max(rate.high, 1 / one)};
      start = {std::min(start.low, other), std::max(start.high, other)};
    }
    const auto n = static_cast<std::int64_t>(points.size());
    accept("link_bandwidth", 1 / slope, rate, n,
           fmt::format("slope of transfer time over bytes, {:.0f} links; range: leave one out",
                       links));
    if (intercept < 0) return keep("collective_dispatch", {"fit.bad_line"});
    accept("collective_dispatch", intercept, start, n,
           "intercept of the same line; range: leave one out");
  }

  void fit_hidden() {
    std::vector<Sample> ranks;
    for (const RankFigures& one : analysis_.figures) {
      if (!one.has_parts()) continue;
      const std::int64_t moving =
          one.parts().communication_ns() - one.collective.wait_ns - one.collective.idle_ns;
      if (moving > 0)
        ranks.push_back(
            {static_cast<double>(moving), static_cast<double>(one.parts().overlapped_ns), false});
    }
    if (ranks.size() < 2) return keep("hidden_share", {"fit.few_ranks"});
    accept("hidden_share", efficiency_of(ranks), bootstrap(ranks),
           static_cast<std::int64_t>(ranks.size()),
           "overlapped / communication without wait and idle");
  }

  const Analysis& analysis_;
  const DeviceProfile& device_;
  const RankFigures& figures_;
  Calibration result_;
  std::vector<Sample> products_, streams_, attention_;
  std::int64_t product_count_ = 0, errors_ = 0;
  double error_sum_ = 0, shipped_error_sum_ = 0;
  bool has_shapes_ = false;
};

}  // namespace

Calibration fit(const Analysis& analysis, const DeviceProfile& device) {
  return Fitter(analysis, device).fit();
}

std::string text_of(const Calibration& calibration, Language language) {
  Table table{"constants",
              {{"name", Unit::kText},
               {"value", Unit::kText},
               {"low", Unit::kText},
               {"high", Unit::kText},
               {"n", Unit::kCount},
               {"shipped", Unit::kText}},
              {},
              {}};
  const auto shown = [](double value) {
    return value < 10 ? fmt::format("{:.3f}", value) : fmt::format("{:.1f}", value);
  };
  for (const FittedConstant& one : calibration.constants)
    table.rows.push_back(
        {one.name, shown(one.value), shown(one.low), shown(one.high), one.n, shown(one.shipped)});
  for (const KeptConstant& one : calibration.kept)
    table.notes.push_back(
        {"fit.kept", {one.name, text_of(one.reason, language), shown(one.shipped)}});
  const FitCheck& check = calibration.check;
  table.notes.push_back(check.kernels == 0
                            ? Said{"fit.no_check"}
                            : Said{"fit.check",
                                   {std::to_string(check.kernels), percent_text(check.error),
                                    percent_text(check.shipped_error)}});
  return text_of(table, language);
}

Json json_of(const Calibration& calibration, Language language) {
  Json constants = Json::array(), kept = Json::array();
  for (const FittedConstant& one : calibration.constants)
    constants.push_back({{"name", one.name},
                         {"value", one.value},
                         {"range", {one.low, one.high}},
                         {"unit", one.unit},
                         {"n", one.n},
                         {"how", one.how},
                         {"shipped", one.shipped}});
  for (const KeptConstant& one : calibration.kept)
    kept.push_back(
        {{"name", one.name}, {"shipped", one.shipped}, {"reason", text_of(one.reason, language)}});
  return {{"schema", "npubench.calibration/1"},
          {"family", calibration.family},
          {"device", calibration.device},
          {"from", calibration.from},
          {"constants", constants},
          {"kept", kept},
          {"check",
           {{"kernels", calibration.check.kernels},
            {"mean_relative_error", calibration.check.error},
            {"shipped_mean_relative_error", calibration.check.shipped_error}}}};
}

Result<Calibration> parse_calibration(const Json& json, const std::string& where) {
  if (!json.is_object() || json.value("schema", Json()) != "npubench.calibration/1")
    return bad_input(fmt::format(
        "{}: /schema: not npubench.calibration/1; npubench profile A --fit FILE writes one",
        where));
  Calibration calibration;
  const auto text = [&](const char* key) {
    const auto found = json.find(key);
    return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  calibration.family = text("family");
  calibration.device = text("device");
  const auto constants = json.find("constants");
  if (constants == json.end() || !constants->is_array())
    return bad_input(fmt::format("{}: /constants: not a list", where));
  for (std::size_t i = 0; i < constants->size(); ++i) {
    const Json& one = (*constants)[i];
    const std::string place = fmt::format("{}: /constants/{}", where, i);
    if (!one.is_object() || !one.contains("name") || !one["name"].is_string() ||
        !one.contains("value") || !one["value"].is_number())
      return bad_input(place + ": needs a name and a value");
    FittedConstant constant;
    constant.name = one["name"].get<std::string>();
    constant.value = one["value"].get<double>();
    const ConstantRow* row = row_of(constant.name);
    if (row == nullptr)
      return bad_input(fmt::format("{}: no constant \"{}\"", place, constant.name));
    if (!(constant.value > 0) || !std::isfinite(constant.value) ||
        (row->limit > 0 && constant.value > row->limit))
      return bad_input(fmt::format("{}: {} is {}: beyond what is physical", place, constant.name,
                                   constant.value));
    calibration.constants.push_back(std::move(constant));
  }
  return calibration;
}

Result<void> apply_calibration(DeviceProfile& device, const Calibration& calibration,
                               const std::string& where) {
  if (calibration.device != device.name())
    return bad_input(
        fmt::format("{}: is of {}, not of {}", where, calibration.device, device.name()));
  for (const FittedConstant& one : calibration.constants) {
    Quantity& place = row_of(one.name)->place(device);
    place.value = one.value;
    place.source = "fit: " + where;
  }
  return {};
}

}  // namespace nb::profiler
