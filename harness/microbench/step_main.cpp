// npubench_step --request JSON: whole training steps, or scoring forwards, of any size; one JSON
// line a round with the rate, the share of the level's peak (loops of the peak before and after
// each round, in this process), peak host memory and page faults. By hand:
//   npubench_step --request '{"step": {"depth": 4}, "device": {"profile": "ascend_910b3"}}'
// is_interactive: a round for each line read from stdin, so that another program can take turns.
// npubench_step --scaling JSON: tables of how a step's time grows (scaling.hpp).
#include <fmt/core.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string_view>

#include "harness/base/fields.hpp"
#include "harness/base/parallel.hpp"
#include "harness/microbench/peak_rate.hpp"
#include "harness/microbench/program_main.hpp"
#include "harness/microbench/scaling.hpp"
#include "harness/microbench/stopwatch.hpp"
#include "harness/microbench/whole_step.hpp"
#include "harness/suite/device_entry.hpp"
#include "model/kernels/simd_level.hpp"

namespace nb {
namespace {

struct StepRequest {
  WholeStepSettings step;
  DeviceEntry device;  // whose numerics the host computes
  std::int64_t rounds = 3;
  int threads = 0;
  bool is_interactive = false;
  bool is_profile = false;

  FieldList fields() {
    return {
        {"step", "model and batch", object(&step)},
        {"device", "emulated device", object(&device)},
        {"rounds", "timed steps", &rounds, {.min = 1}},
        {"threads", "of the host; 0: every core", &threads, {.min = 0, .hashed = false}},
        {"is_interactive", "a round for each line of stdin", &is_interactive},
        {"is_profile", "print where the host's time goes, to stderr", &is_profile},
    };
  }
};

constexpr const char* kUsage =
    "usage: npubench_step --request '{\"step\": {\"depth\": 4}, \"device\": {\"profile\": "
    "\"ascend_910b3\"}}'\n"
    "       npubench_step --scaling '{\"device\": {\"profile\": \"ascend_910b3\"}, "
    "\"thread_counts\": [1, 2]}'";
constexpr double kLoopTime = 0.05;  // s of the peak loop, before and after each round

void print_profile(const HostProfile& host) {
  std::vector<HostProfileEntry> kinds;
  for (const HostProfileEntry& entry : host.entries()) {
    const auto same = [&](const HostProfileEntry& k) { return k.kind == entry.kind; };
    auto at = std::find_if(kinds.begin(), kinds.end(), same);
    if (at == kinds.end()) {
      at = kinds.insert(kinds.end(), HostProfileEntry());
      at->kind = entry.kind;
    }
    at->calls += entry.calls;
    at->time_ns += entry.time_ns;
    at->flops += entry.flops;
  }
  std::sort(kinds.begin(), kinds.end(), [](const HostProfileEntry& a, const HostProfileEntry& b) {
    return a.time_ns > b.time_ns;
  });
  std::int64_t total = host.bookkeeping_ns();
  const auto elapsed = static_cast<double>(host.elapsed_ns());
  fmt::print(stderr, "{:<32}{:>8}{:>12}{:>8}{:>10}\n", "op", "calls", "ms", "share", "Gflop/s");
  for (const HostProfileEntry& k : kinds) {
    const auto ns = static_cast<double>(k.time_ns);
    total += k.time_ns;
    fmt::print(stderr, "{:<32}{:>8}{:>12.3f}{:>8.3f}{:>10.1f}\n", name(k.kind), k.calls, ns * 1e-6,
               ns / elapsed, ns > 0 ? k.flops / ns : 0.0);
  }
  for (const HostProfileEntry& e : host.entries()) {  // what stands out
    const auto ns = static_cast<double>(e.time_ns);
    if (ns > 0.03 * elapsed) {
      fmt::print(stderr, "  {:<38}{:>12.3f}{:>8.3f}{:>10.1f}\n",
                 fmt::format("{} {}", name(e.kind), e.label), ns * 1e-6, ns / elapsed,
                 e.flops / ns);
    }
  }
  const auto row = [&](std::string_view what, double ns) {
    fmt::print(stderr, "{:<40}{:>12.3f}{:>8.3f}\n", what, ns * 1e-6, ns / elapsed);
  };
  row("simulation", static_cast<double>(host.bookkeeping_ns()));
  row("outside of Device::run", elapsed - static_cast<double>(total));
  row("all", elapsed);
}

void run_round(const StepRequest& request, WholeStep& step, DType inputs) {
  rusage before{}, after{};
  const double peak_before = mean_peak_rate_gflop_s(inputs, kLoopTime);
  getrusage(RUSAGE_SELF, &before);
  const std::size_t mallocs = step.device().host_mallocs();
  double loss = 0;
  const double s = seconds_of([&] { loss = step.run(); });
  getrusage(RUSAGE_SELF, &after);
  const double peak = (peak_before + mean_peak_rate_gflop_s(inputs, kLoopTime)) / 2;
  const Json line = {
      {"depth", request.step.depth},
      {"vocabulary", request.step.vocabulary},
      {"length", request.step.length},
      {"rows", request.step.rows},
      {"mode", request.step.is_forward ? "forward" : "train"},
      {"stage", request.step.stage},
      {"simd", std::string(name(simd_level()))},
      {"threads", threads()},
      {"seconds", s},
      {"rate_tok_s", static_cast<double>(request.step.tokens) / s},
      {"share_of_peak", request.step.flop() * 1e-9 / s / peak},
      {"peak_gflop_s", peak},
      {"loss", loss},
      {"peak_rss_bytes", static_cast<std::int64_t>(after.ru_maxrss) * 1024},
      {"page_faults", after.ru_minflt - before.ru_minflt},
      {"host_buffers_made", step.device().host_mallocs() - mallocs},
  };
  std::cout << line.dump() << std::endl;
}

Result<void> run_request(const std::string& text) {
  NB_TRY(const Json json, parse_json(text, "--request"));
  NB_TRY(StepRequest request, parse_struct<StepRequest>(json, "--request"));
  NB_TRY_VOID(check_settings(request.step, "--request: /step"));
  NB_TRY(const ResolvedDevice device, resolve_device(request.device, "--request: /device"));
  NB_TRY([[maybe_unused]] const SimdLevel level, select_simd_level());
  set_threads(request.threads);
  const DType inputs = device.profile.numerics.matmul_inputs;
  WholeStep step(device.profile, request.step);
  const double fresh = step.run();
  // A fresh model's output projection is zero: every token costs ln V (nanochat's gpt.py).
  if (!(std::fabs(fresh - std::log(static_cast<double>(request.step.vocabulary))) < 1e-5))
    return run_error(fmt::format("the loss of a fresh model is {}, not ln V", fresh));
  step.run();
  if (request.is_profile) step.device().host_profile().start();
  std::string line;
  for (std::int64_t i = 0;
       request.is_interactive ? !!std::getline(std::cin, line) : i < request.rounds; ++i) {
    if (request.is_profile) {
      step.run();
    } else {
      run_round(request, step, inputs);
    }
  }
  if (request.is_profile) {
    step.device().host_profile().stop();
    print_profile(step.device().host_profile());
  }
  return {};
}

Result<void> run(const std::vector<std::string>& words) {
  if (words.size() == 3 && words[1] == "--request") return run_request(words[2]);
  if (words.size() != 3 || words[1] != "--scaling") return bad_input(kUsage);
  NB_TRY(const Json json, parse_json(words[2], "--scaling"));
  NB_TRY(const ScalingRequest request, parse_struct<ScalingRequest>(json, "--scaling"));
  return run_scaling(request);
}

}  // namespace
}  // namespace nb

int main(int argc, char** argv) { return nb::program_main(argc, argv, nb::run); }
