#include "harness/microbench/scaling.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>

#include "harness/base/check.hpp"
#include "harness/base/parallel.hpp"
#include "harness/base/table.hpp"
#include "harness/microbench/peak_rate.hpp"
#include "harness/microbench/stopwatch.hpp"
#include "harness/suite/device_entry.hpp"
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

ThreadGains measure_threads(const ScalingRequest& request, const DeviceProfile& profile) {
  ThreadGains gains{.counts = request.thread_counts, .flop = request.step.flop(), .runs = {}};
  gains.runs.resize(gains.counts.size());
  WholeStep step(profile, request.step);
  for (const int count : gains.counts) {
    set_threads(count);
    step.run();
  }
  for (std::int64_t round = 0; round < request.rounds; ++round) {
    for (std::size_t i = 0; i < gains.counts.size(); ++i) {
      set_threads(gains.counts[i]);
      gains.runs[i].push_back(timed(step, profile.numerics.matmul_inputs));
    }
  }
  return gains;
}

std::string step_words(const WholeStepSettings& step) {
  return fmt::format("d{}, vocabulary {}, {} x {}, {} tokens, {}", step.depth, step.vocabulary,
                     step.rows, step.length, step.tokens, step.is_forward ? "forward" : "train");
}

}  // namespace

FieldList ScalingRequest::fields() {
  return {
      {"step", "what is not varied", object(&step)},
      {"device", "emulated device", object(&device)},
      {"layers", "numbers of layers of the step's width", &layers, {.min = 1, .max = 64}},
      {"depths", "depths; the width grows along", &depths, {.min = 1, .max = 64}},
      {"tokens",
       "tokens of a step, in micro-batches of one size",
       &tokens,
       {.unit = "tok", .min = 1}},
      {"thread_counts", "threads to compare; gains are from the first", &thread_counts, {.min = 1}},
      {"rounds", "in which all take turns", &rounds, {.min = 1}},
      {"threads", "for layers, depths and tokens; 0: every core", &threads, {.min = 0}},
  };
}

Result<void> check_settings(const ScalingRequest& request, const std::string& where) {
  NB_TRY_VOID(check_settings(request.step, where + ": /step"));
  bool asks = !request.thread_counts.empty();
  if (request.thread_counts.size() == 1)
    return bad_input(where + ": /thread_counts: one number has nothing to be compared with");
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
    return bad_input(where + ": nothing to vary; name layers, depths, tokens or thread_counts");
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

std::string thread_gains_text(const ThreadGains& gains) {
  TextTable table{{"threads", "time", "of peak", "gain of step", "gain of loop", "step over loop"},
                  {}};
  for (std::size_t i = 0; i < gains.counts.size(); ++i) {
    std::vector<double> times, shares, steps, loops, ratios;
    for (std::size_t round = 0; round < gains.runs[i].size(); ++round) {
      const TimedStep& first = gains.runs[0][round];
      const TimedStep& now = gains.runs[i][round];
      times.push_back(now.time_s);
      shares.push_back(gains.flop * 1e-9 / now.time_s / now.peak_gflop_s);
      steps.push_back(first.time_s / now.time_s);
      loops.push_back(now.peak_gflop_s / first.peak_gflop_s);
      ratios.push_back(steps.back() / loops.back());
    }
    std::vector<std::string> row{std::to_string(gains.counts[i]),
                                 fmt::format("{:.4f} s", median(times)),
                                 fmt::format("{:.3f}", median(shares))};
    if (i > 0) {
      row.push_back(fmt::format("{:.3f}", median(steps)));
      row.push_back(fmt::format("{:.3f}", median(loops)));
      row.push_back(fmt::format("{:.3f} ({:.3f} to {:.3f})", median(ratios),
                                *std::ranges::min_element(ratios),
                                *std::ranges::max_element(ratios)));
    }
    table.rows.push_back(std::move(row));
  }
  return to_text(table);
}

Result<void> run_scaling(const ScalingRequest& request) {
  NB_TRY_VOID(check_settings(request, "--scaling"));
  NB_TRY(const ResolvedDevice device, resolve_device(request.device, "--scaling: /device"));
  NB_TRY([[maybe_unused]] const SimdLevel level, select_simd_level());
  const auto print = [&](const std::string& what, const std::string& table) {
    fmt::print("{} ({}, {}, medians of {} rounds)\n{}\n", what, step_words(request.step),
               name(simd_level()), request.rounds, table);
    std::fflush(stdout);
  };
  for (const Axis& axis : kAxes) {
    if ((request.*axis.sizes).empty()) continue;
    set_threads(request.threads);
    const std::vector<ScalingPoint> points = measure(request, axis, device.profile);
    print(fmt::format("{}, {} thread{}", axis.name, threads(), threads() == 1 ? "" : "s"),
          scaling_text(axis.name, points, axis.over_flop));
  }
  if (!request.thread_counts.empty())
    print("threads", thread_gains_text(measure_threads(request, device.profile)));
  return {};
}

}  // namespace nb
