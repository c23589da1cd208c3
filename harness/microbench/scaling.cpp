#include "harness/microbench/scaling.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <memory>

#include "harness/base/check.hpp"
#include "harness/base/parallel.hpp"
#include "harness/base/table.hpp"
#include "harness/microbench/peak_rate.hpp"
#include "harness/microbench/stopwatch.hpp"
#include "harness/suite/device_entry.hpp"
#include "model/host/plan.hpp"
#include "model/host/program.hpp"
#include "model/kernels/simd_level.hpp"

namespace nb {
namespace {

constexpr double kLoopTime = 0.1;  // s, before and after each step

struct Axis {
  const char* name;
  std::vector<std::int64_t> ScalingRequest::*sizes;
  std::int64_t WholeStepSettings::*varied;
  bool over_flop;  // the width grows with the depth, so its line is over the flop
};
constexpr Axis kAxes[] = {{"layers", &ScalingRequest::layers, &WholeStepSettings::layers, false},
                          {"depth", &ScalingRequest::depths, &WholeStepSettings::depth, true},
                          {"tokens", &ScalingRequest::tokens, &WholeStepSettings::tokens, false}};

WholeStepSettings settings_of(const ScalingRequest& request, const Axis& axis, std::int64_t size) {
  WholeStepSettings settings = request.step;
  settings.*axis.varied = size;
  return settings;
}

TimedStep timed(WholeStep& step, DType inputs) {
  TimedStep result;
  const double before = mean_peak_rate_gflop_s(inputs, kLoopTime);
  result.time_s = seconds_of([&] { step.run(); });
  result.peak_gflop_s = (before + mean_peak_rate_gflop_s(inputs, kLoopTime)) / 2;
  return result;
}

double median_peak(const std::vector<ScalingPoint>& points) {
  std::vector<double> rates;
  for (const ScalingPoint& point : points)
    for (const TimedStep& round : point.rounds) rates.push_back(round.peak_gflop_s);
  return median(rates);
}

std::vector<ScalingPoint> measure(const ScalingRequest& request, const Axis& axis,
                                  const DeviceProfile& profile) {
  std::vector<std::unique_ptr<WholeStep>> steps;
  std::vector<ScalingPoint> points;
  for (const std::int64_t size : request.*axis.sizes) {
    const WholeStepSettings settings = settings_of(request, axis, size);
    steps.push_back(std::make_unique<WholeStep>(profile, settings));
    steps.back()->run();  // makes the buffers
    points.push_back({.size = size, .flop = settings.flop(), .rounds = {}});
  }
  for (std::int64_t round = 0; round < request.rounds; ++round)
    for (std::size_t i = 0; i < steps.size(); ++i)
      points[i].rounds.push_back(timed(*steps[i], profile.numerics.matmul_inputs));
  return points;
}

Turns measure_threads(const ScalingRequest& request, const DeviceProfile& profile) {
  Turns turns{.names = {}, .flop = request.step.flop(), .runs = {}};
  WholeStep step(profile, request.step);
  for (const int count : request.thread_counts) {
    turns.names.push_back(std::to_string(count));
    set_threads(count);
    step.run();
  }
  turns.runs.resize(turns.names.size());
  for (std::int64_t round = 0; round < request.rounds; ++round) {
    for (std::size_t i = 0; i < turns.runs.size(); ++i) {
      set_threads(request.thread_counts[i]);
      turns.runs[i].push_back(timed(step, profile.numerics.matmul_inputs));
    }
  }
  return turns;
}

Result<Turns> measure_devices(const ScalingRequest& request) {
  Turns turns{.names = {}, .flop = request.step.flop(), .runs = {}};
  std::vector<ResolvedDevice> devices;
  for (std::size_t i = 0; i < request.devices.size(); ++i) {
    const DeviceEntry& entry = request.devices[i];
    turns.names.push_back(entry.name.empty() ? entry.profile : entry.name);
    NB_TRY(ResolvedDevice device, resolve_device(entry, fmt::format("--scaling: /devices/{}", i)));
    devices.push_back(std::move(device));
  }
  std::vector<std::unique_ptr<WholeStep>> steps;
  for (const ResolvedDevice& device : devices) {
    steps.push_back(std::make_unique<WholeStep>(device.profile, request.step));
    steps.back()->run();
  }
  turns.runs.resize(steps.size());
  for (std::int64_t round = 0; round < request.rounds; ++round)
    for (std::size_t i = 0; i < steps.size(); ++i)
      turns.runs[i].push_back(timed(*steps[i], steps[i]->device().numerics().matmul_inputs));
  return turns;
}

Turns measure_patterns(const ScalingRequest& request, const DeviceProfile& profile) {
  Turns turns{.names = {"all patterns"}, .flop = request.step.flop(), .runs = {}};
  for (const host::Pattern& pattern : host::patterns())
    turns.names.push_back(std::string("without ") + pattern.name);
  turns.names.emplace_back("op by op, fp32");
  turns.runs.resize(turns.names.size());
  WholeStep step(profile, request.step);
  step.run();
  for (std::int64_t round = 0; round < request.rounds; ++round) {
    for (std::size_t i = 0; i < turns.runs.size(); ++i) {
      const bool is_one = i > 0 && i + 1 < turns.runs.size();
      host::set_pattern_off(is_one ? host::patterns()[i - 1].name : nullptr);
      host::set_fusion(i + 1 < turns.runs.size());
      turns.runs[i].push_back(timed(step, profile.numerics.matmul_inputs));
    }
  }
  host::set_pattern_off(nullptr);
  host::set_fusion(true);
  return turns;
}

std::string step_words(const WholeStepSettings& step) {
  return fmt::format("d{}, vocabulary {}, {} x {}, {} tokens, {}", step.depth, step.vocabulary,
                     step.rows, step.length, step.tokens, step.is_forward ? "forward" : "train");
}

}  // namespace

FieldList ScalingRequest::fields() {
  return {
      {"step", "what is not varied", object(&step)},
      {"device", "emulated device; default: the first of devices", object(&device)},
      {"layers", "numbers of layers of the step's width", &layers, {.min = 1, .max = 64}},
      {"depths", "depths; the width grows along", &depths, {.min = 1, .max = 64}},
      {"tokens",
       "tokens of a step, in micro-batches of one size",
       &tokens,
       {.unit = "tok", .min = 1}},
      {"thread_counts", "threads to compare; gains are from the first", &thread_counts, {.min = 1}},
      {"devices", "to compare with the first of them", list(&devices)},
      {"rank_counts",
       "cards to compare, which share the micro-batches; the first is the yardstick",
       &rank_counts,
       {.min = 1}},
      {"patterns", "a step without each of the host's patterns, and op by op", &patterns},
      {"rounds", "in which all take turns", &rounds, {.min = 1}},
      {"threads", "of the host for all but thread_counts; 0: every core", &threads, {.min = 0}},
  };
}

Result<void> check_settings(const ScalingRequest& request, const std::string& where) {
  NB_TRY_VOID(check_settings(request.step, where + ": /step"));
  bool asks = !request.thread_counts.empty() || !request.devices.empty() ||
              !request.rank_counts.empty() || request.patterns;
  if (request.rank_counts.size() == 1)
    return bad_input(where + ": /rank_counts: one number has nothing to be compared with");
  const std::int64_t micro_batches =
      request.step.tokens / (request.step.rows * request.step.length);
  for (const std::int64_t count : request.rank_counts)
    if (micro_batches % count != 0)
      return bad_input(fmt::format("{}: /rank_counts: {} micro-batches are not shared by {} cards",
                                   where, micro_batches, count));
  if (request.thread_counts.size() == 1)
    return bad_input(where + ": /thread_counts: one number has nothing to be compared with");
  if (request.devices.size() == 1)
    return bad_input(where + ": /devices: one device has nothing to be compared with");
  for (const Axis& axis : kAxes) {
    const std::vector<std::int64_t>& sizes = request.*axis.sizes;
    asks = asks || !sizes.empty();
    for (const std::int64_t size : sizes) {
      NB_TRY_VOID(check_settings(settings_of(request, axis, size),
                                 fmt::format("{}: {} {}", where, axis.name, size)));
    }
    if (!sizes.empty() && *std::ranges::min_element(sizes) == *std::ranges::max_element(sizes))
      return bad_input(fmt::format("{}: {}: a line needs two sizes", where, axis.name));
  }
  if (!asks)
    return bad_input(where +
                     ": nothing to vary; name layers, depths, tokens, thread_counts, devices, "
                     "rank_counts or patterns");
  return {};
}

double ScalingPoint::share_of_peak() const {
  std::vector<double> shares;
  for (const TimedStep& round : rounds)
    shares.push_back(flop * 1e-9 / round.time_s / round.peak_gflop_s);
  return median(shares);
}

double ScalingPoint::time_s(double peak_gflop_s) const {
  std::vector<double> times;
  for (const TimedStep& round : rounds)
    times.push_back(round.time_s * round.peak_gflop_s / peak_gflop_s);
  return median(times);
}

LineFit fit_line(const std::vector<double>& x, const std::vector<double>& y) {
  NB_CHECK(x.size() == y.size() && x.size() >= 2, "[fit_line] {} and {} values", x.size(),
           y.size());
  // Weights 1 / y²: the relative error counts.
  double sum = 0, sum_x = 0, sum_xx = 0, sum_y = 0, sum_xy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double weight = 1 / (y[i] * y[i]);
    sum += weight;
    sum_x += weight * x[i];
    sum_xx += weight * x[i] * x[i];
    sum_y += weight * y[i];
    sum_xy += weight * x[i] * y[i];
  }
  LineFit fit;
  fit.slope = (sum * sum_xy - sum_x * sum_y) / (sum * sum_xx - sum_x * sum_x);
  fit.start = (sum_y - fit.slope * sum_x) / sum;
  for (std::size_t i = 0; i < x.size(); ++i)
    fit.farthest = std::max(fit.farthest, std::fabs((fit.start + fit.slope * x[i]) / y[i] - 1));
  return fit;
}

std::string scaling_text(const std::string& what, const std::vector<ScalingPoint>& points,
                         bool over_flop) {
  const double peak = median_peak(points);
  TextTable table{{what, "time", "counted Gflop", "Gflop/s", "of peak"}, {}};
  std::vector<double> x, y;
  for (const ScalingPoint& point : points) {
    const double time_s = point.time_s(peak);
    table.rows.push_back({std::to_string(point.size), fmt::format("{:.4f} s", time_s),
                          fmt::format("{:.1f}", point.flop * 1e-9),
                          fmt::format("{:.1f}", point.flop / time_s * 1e-9),
                          fmt::format("{:.3f}", point.share_of_peak())});
    x.push_back(over_flop ? point.flop * 1e-12 : static_cast<double>(point.size));
    y.push_back(time_s);
  }
  const LineFit fit = fit_line(x, y);
  return fmt::format(
      "{}times at the median rate of the loop, {:.0f} Gflop/s; line: {:.4f} s + {:.6g} s for each "
      "{}; farthest point {:.1f} % off it\n",
      to_text(table), peak, fit.start, fit.slope,
      over_flop ? "counted Tflop" : (what == "layers" ? "layer" : "token"), 100 * fit.farthest);
}

namespace {

double share_of_peak(const Turns& turns, const TimedStep& step) {
  return turns.flop * 1e-9 / step.time_s / step.peak_gflop_s;
}

std::string median_and_range(const std::vector<double>& values) {
  return fmt::format("{:.3f} ({:.3f} to {:.3f})", median(values), *std::ranges::min_element(values),
                     *std::ranges::max_element(values));
}

// Name, time and share of names[i]; then what `more` says of it against names[0].
std::string turns_text(std::vector<std::string> header, const Turns& turns,
                       const std::function<std::vector<std::string>(std::size_t)>& more) {
  TextTable table{std::move(header), {}};
  for (std::size_t i = 0; i < turns.names.size(); ++i) {
    std::vector<double> times, shares;
    for (const TimedStep& step : turns.runs[i]) {
      times.push_back(step.time_s);
      shares.push_back(share_of_peak(turns, step));
    }
    std::vector<std::string> row{turns.names[i], fmt::format("{:.4f} s", median(times)),
                                 fmt::format("{:.3f}", median(shares))};
    if (i > 0) {
      const std::vector<std::string> cells = more(i);
      row.insert(row.end(), cells.begin(), cells.end());
    }
    table.rows.push_back(std::move(row));
  }
  return to_text(table);
}

}  // namespace

std::string thread_gains_text(const Turns& turns) {
  return turns_text(
      {"threads", "time", "of peak", "gain of step", "gain of loop", "step over loop"}, turns,
      [&](std::size_t i) -> std::vector<std::string> {
        std::vector<double> steps, loops, ratios;
        for (std::size_t round = 0; round < turns.runs[i].size(); ++round) {
          const TimedStep &first = turns.runs[0][round], &now = turns.runs[i][round];
          steps.push_back(first.time_s / now.time_s);
          loops.push_back(now.peak_gflop_s / first.peak_gflop_s);
          ratios.push_back(steps.back() / loops.back());
        }
        return {fmt::format("{:.3f}", median(steps)), fmt::format("{:.3f}", median(loops)),
                median_and_range(ratios)};
      });
}

std::string devices_text(const Turns& turns) {
  return turns_text({"device", "time", "of peak", "over the first"}, turns,
                    [&](std::size_t i) -> std::vector<std::string> {
                      std::vector<double> ratios;
                      for (std::size_t round = 0; round < turns.runs[i].size(); ++round)
                        ratios.push_back(share_of_peak(turns, turns.runs[i][round]) /
                                         share_of_peak(turns, turns.runs[0][round]));
                      return {median_and_range(ratios)};
                    });
}

std::string patterns_text(const Turns& turns) {
  return turns_text({"", "time", "of peak", "time over the first"}, turns,
                    [&](std::size_t i) -> std::vector<std::string> {
                      std::vector<double> ratios;
                      for (std::size_t round = 0; round < turns.runs[i].size(); ++round)
                        ratios.push_back(turns.runs[i][round].time_s / turns.runs[0][round].time_s);
                      return {median_and_range(ratios)};
                    });
}

Result<void> run_scaling(const ScalingRequest& request) {
  NB_TRY_VOID(check_settings(request, "--scaling"));
  // Devices that are compared need no other.
  const DeviceEntry& entry = request.device.profile.empty() && !request.devices.empty()
                                 ? request.devices.front()
                                 : request.device;
  NB_TRY(const ResolvedDevice device, resolve_device(entry, "--scaling: /device"));
  NB_TRY([[maybe_unused]] const SimdLevel level, select_simd_level());
  set_threads(request.threads);
  const std::string on_threads = fmt::format("{} thread{}", threads(), threads() == 1 ? "" : "s");
  const auto print = [&](const std::string& what, const std::string& table) {
    fmt::print("{} ({}, {}, medians of {} rounds)\n{}\n", what, step_words(request.step),
               name(simd_level()), request.rounds, table);
    std::fflush(stdout);
  };
  for (const Axis& axis : kAxes) {
    if ((request.*axis.sizes).empty()) continue;
    const std::vector<ScalingPoint> points = measure(request, axis, device.profile);
    print(fmt::format("{}, {}", axis.name, on_threads),
          scaling_text(axis.name, points, axis.over_flop));
  }
  if (!request.devices.empty()) {
    NB_TRY(const Turns turns, measure_devices(request));
    print("devices, " + on_threads, devices_text(turns));
  }
  if (request.patterns)
    print("patterns, " + on_threads, patterns_text(measure_patterns(request, device.profile)));
  if (!request.rank_counts.empty())
    print("cards, " + on_threads, ranks_text(measure_ranks(request, device.profile)));
  if (!request.thread_counts.empty())
    print("threads", thread_gains_text(measure_threads(request, device.profile)));
  return {};
}

}  // namespace nb
