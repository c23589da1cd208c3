#include "harness/microbench/timing.hpp"

#include <algorithm>
#include <vector>

#include "harness/base/parallel.hpp"
#include "harness/microbench/copy_loop.hpp"
#include "harness/microbench/stopwatch.hpp"
#include "model/device/memory.hpp"
#include "model/kernels/peak.hpp"

namespace nb {
namespace {

constexpr int kTurns = 7;

// Ours and a plain copy of as many bytes in turn.
void measure_bandwidth(benchmark::State& state, const HostBenchmark& what,
                       const std::function<void()>& body) {
  CopyLoop copy(what.bytes);
  copy.run();
  std::vector<double> shares;
  for (int turn = 0; turn < kTurns; ++turn) {
    const double ours = seconds_of(body);
    const double copying = seconds_of([&] { copy.run(); });
    shares.push_back(what.bytes / ours / (copy.bytes() / copying));
  }
  state.counters["share_of_bandwidth"] = median(shares);
}

// Ours, the peak loop and OpenBLAS in turn: whatever slows the host slows all three.
void measure_ratios(benchmark::State& state, const HostBenchmark& what,
                    const std::function<void()>& body) {
  const std::function<void()> blas = what.blas ? what.blas() : std::function<void()>();
  if (blas) blas();
  std::vector<double> shares, ratios;
  for (int turn = 0; turn < kTurns; ++turn) {
    const double ours = seconds_of(body);
    double peak_flop = 0;
    const double peak = seconds_of([&] {
      peak_flop = kernels::run_peak_loop(what.inputs, std::min(what.flop, 1e9) / threads());
    });
    shares.push_back(what.flop / ours / (peak_flop / peak));
    if (blas) ratios.push_back(seconds_of(blas) / ours);
  }
  state.counters["share_of_peak"] = median(shares);
  if (blas) state.counters["ratio_to_openblas"] = median(ratios);
}

}  // namespace

void register_host(const HostBenchmark& what, const Prepare& prepare) {
  const std::string name = "host/" + what.name;
  benchmark::RegisterBenchmark(name.c_str(),
                               [what, prepare](benchmark::State& state) {
                                 const std::function<void()> body = prepare(state);
                                 if (!body) return;
                                 double total_s = 0;
                                 for ([[maybe_unused]] const auto _ : state)
                                   total_s += seconds_of(body);
                                 const double one_s =
                                     total_s / static_cast<double>(state.iterations());
                                 state.counters["time_ns"] = one_s * 1e9;
                                 if (what.tokens > 0)
                                   state.counters["rate_tok_s"] = what.tokens / one_s;
                                 if (what.bytes > 0) {
                                   state.counters["rate_gb_s"] = what.bytes / one_s * 1e-9;
                                   measure_bandwidth(state, what, body);
                                 }
                                 if (what.flop <= 0) return;
                                 state.counters["rate_gflop_s"] = what.flop / one_s * 1e-9;
                                 measure_ratios(state, what, body);
                               })
      ->MinTime(what.min_time_s)
      ->UseRealTime()
      ->Unit(benchmark::kNanosecond);
}

void register_simulated(const std::string& name,
                        const std::function<std::int64_t(benchmark::State&)>& body) {
  benchmark::RegisterBenchmark(
      ("sim/" + name).c_str(),
      [body](benchmark::State& state) {
        for ([[maybe_unused]] const auto _ : state) {
          std::int64_t time_ns = 0;
          try {
            time_ns = body(state);
          } catch (const OutOfMemory& error) {
            state.SkipWithError((std::string(kUnmeasured) + error.what()).c_str());
          }
          state.SetIterationTime(static_cast<double>(time_ns) * 1e-9);
          state.counters["time_ns"] = static_cast<double>(time_ns);  // exact, unlike real_time
        }
      })
      ->UseManualTime()
      ->Iterations(1)
      ->Unit(benchmark::kNanosecond);
}

}  // namespace nb
