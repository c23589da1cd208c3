// One optimizer step on single tensors: AdamW and Muon's momentum, bound by memory; Newton-Schulz,
// bound by products (counted as the definition computes them, 4·R²·C + 2·R³ an iteration).
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "harness/base/rng.hpp"
#include "harness/microbench/programs.hpp"
#include "harness/microbench/timing.hpp"
#include "model/device/device.hpp"
#include "model/kernels/adamw.hpp"
#include "model/kernels/muon.hpp"
#include "model/kernels/reference/elementwise.hpp"
#include "model/kernels/reference/muon.hpp"

namespace nb {
namespace {

struct VectorCase {
  const char* name;
  std::size_t count;
};
constexpr VectorCase kVectors[] = {{"d4_wte", 4096 * 256}, {"d12_wte", 32768 * 768}};
struct MatrixCase {
  const char* name;
  std::int64_t rows, cols;
};
constexpr MatrixCase kMatrices[] = {
    {"d4_attn", 256, 256}, {"d4_mlp", 1024, 256}, {"d6_mlp", 1536, 384}, {"d12_mlp", 3072, 768}};

std::vector<float> drawn_values(std::size_t count, std::uint64_t seed) {
  std::vector<float> values(count);
  const Rng rng(seed, "microbench optimizer");
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>(rng.uniform(i) - 0.5);
  return values;
}

struct State {
  std::vector<float> parameter, gradient, first, second;
  explicit State(std::size_t count)
      : parameter(drawn_values(count, 1)),
        gradient(drawn_values(count, 2)),
        first(drawn_values(count, 3)),
        second(count, 0.01f) {}
};

void adamw(State& s, bool naive) {
  const kernels::AdamWSettings settings{.learning_rate = 1e-3, .step = 10};
  (naive ? kernels::reference::adamw : kernels::adamw)(s.parameter, s.gradient, s.first, s.second,
                                                       settings);
}
// `second` becomes the update.
void momentum(State& s, bool naive) {
  (naive ? kernels::reference::muon_momentum : kernels::muon_momentum)(
      s.gradient, s.first, s.second, 0.95, DType::kFp32, true);
}

void add_vector(const VectorCase& c, const char* kind, void (*step)(State&, bool), double moved,
                const MicrobenchRequest& request) {
  const auto state_of = std::make_shared<std::unique_ptr<State>>();
  const HostBenchmark what{.name = std::string("optimizer/") + kind + "/" + c.name,
                           .min_time_s = request.min_time_s,
                           .bytes = moved * static_cast<double>(c.count * sizeof(float))};
  register_host(what, [=](benchmark::State& state) -> std::function<void()> {
    if (*state_of == nullptr) {
      State fast(100'003), naive(100'003);
      step(fast, false);
      step(naive, true);
      if (fast.parameter != naive.parameter || fast.first != naive.first ||
          fast.second != naive.second) {
        state.SkipWithError("the step differs from its naive definition");
        return {};
      }
      *state_of = std::make_unique<State>(c.count);
    }
    return [state_of, step] { step(**state_of, false); };
  });
}

kernels::NewtonSchulzSettings newton_schulz_settings(const DeviceProfile& profile) {
  kernels::NewtonSchulzSettings settings{.matmul = profile.numerics.muon(),
                                         .pointwise = profile.numerics.pointwise_policy()};
  settings.pointwise.storage = profile.numerics.muon_matmul;
  return settings;
}

// A small matrix: the naive definition of a large one takes seconds.
bool newton_schulz_equals_reference(const kernels::NewtonSchulzSettings& settings) {
  const std::vector<float> x = drawn_values(96 * 40, 5);
  std::vector<float> fast(x.size()), naive(x.size());
  kernels::newton_schulz(matrix(x.data(), 96, 40), matrix(fast.data(), 96, 40), settings);
  kernels::reference::newton_schulz(matrix(x.data(), 96, 40), matrix(naive.data(), 96, 40),
                                    settings);
  return fast == naive;
}

double newton_schulz_flop(const MatrixCase& c) {
  const auto small = static_cast<double>(std::min(c.rows, c.cols));
  const auto large = static_cast<double>(std::max(c.rows, c.cols));
  return 5 * (4 * small * small * large + 2 * small * small * small);
}

void add_newton_schulz(const MatrixCase& c, const MicrobenchRequest& request,
                       const DeviceProfile& profile) {
  const kernels::NewtonSchulzSettings settings = newton_schulz_settings(profile);
  const auto x = std::make_shared<std::vector<float>>(),
             out = std::make_shared<std::vector<float>>();
  const HostBenchmark what{.name = std::string("optimizer/newton_schulz/") + c.name,
                           .min_time_s = request.min_time_s,
                           .flop = newton_schulz_flop(c),
                           .inputs = settings.matmul.inputs};
  register_host(what, [=](benchmark::State& state) -> std::function<void()> {
    if (x->empty()) {
      if (!newton_schulz_equals_reference(settings)) {
        state.SkipWithError("Newton-Schulz differs from its naive definition");
        return {};
      }
      *x = drawn_values(static_cast<std::size_t>(c.rows * c.cols), 6);
      out->resize(x->size());
    }
    return [=] {
      kernels::newton_schulz(matrix(std::as_const(*x).data(), c.rows, c.cols),
                             matrix(out->data(), c.rows, c.cols), settings);
    };
  });
}

void add_simulated(const std::string& name, const OpDesc& desc, const DeviceProfile& profile) {
  register_simulated(name, [desc, &profile](benchmark::State&) {
    Device device(profile, ExecutionMode::kDry, {.trace_steps = 0});
    const std::int64_t start_ns = device.time_ns();
    device.run(desc, [] {});
    device.synchronize();
    return device.time_ns() - start_ns;
  });
}

}  // namespace

void register_optimizer(const MicrobenchRequest& request, const DeviceProfile& profile) {
  for (const VectorCase& c : kVectors) {
    // p, m, v read and written, g read; m read and written, g read, the update written.
    add_vector(c, "adamw", adamw, 7, request);
    add_vector(c, "muon_momentum", momentum, 4, request);
    add_simulated(
        std::string("optimizer/adamw/") + c.name,
        {.kind = OpKind::kAdamW, .label = "adamw", .count = static_cast<std::int64_t>(c.count)},
        profile);
  }
  for (const MatrixCase& c : kMatrices) {
    add_newton_schulz(c, request, profile);
    add_simulated(std::string("optimizer/newton_schulz/") + c.name,
                  {.kind = OpKind::kNewtonSchulz, .label = "muon", .rows = c.rows, .cols = c.cols},
                  profile);
  }
}

}  // namespace nb
