// Casts, activations, optimizers, functions of single values.
#include <cmath>

#include "model/kernels/self_test/cases.hpp"

namespace nb::kernels::self_test {
namespace {

using inner::Table;

// What a function writes over other values.
template <class Function>
std::vector<float> written(std::int64_t count, const Function& function) {
  static const std::vector<float> kBefore = mixed_values(kCount, 3);
  std::vector<float> out(kBefore.begin(), kBefore.begin() + count);
  function(out.data());
  return out;
}
template <class Function>
std::vector<float> written_bf16(std::int64_t count, const Function& function) {
  std::vector<std::uint16_t> out(static_cast<std::size_t>(count));
  function(out.data());
  return numbers(out);
}

void add_rounded(const Table& t, const float* x, const float* y, int rounding, Results& r) {
  const auto add = [&](const char* entry, const auto& function) {
    r.add(entry, written(kCount, function));
  };
  add("cast", [&](float* out) { t.cast(x, kCount, out, rounding); });
  add("scale", [&](float* out) { t.scale(x, kCount, 0.37f, out, rounding); });
  add("divide", [&](float* out) { t.divide(x, kCount, 0.37f, out, rounding); });
  add("add", [&](float* out) { t.add(x, y, kCount, out, rounding); });
  add("relu_squared", [&](float* out) { t.relu_squared(x, kCount, out, rounding); });
  add("relu_squared_backward",
      [&](float* out) { t.relu_squared_backward(y, x, kCount, out, rounding); });
  for (const bool flag : {false, true}) {
    add("finish", [&](float* out) { t.finish(x, kCount, out, rounding, flag); });
    add("scaled_plus", [&](float* out) { t.scaled_plus(x, y, kCount, 1.3f, out, rounding, flag); });
  }
}

void add_bf16(const Table& t, Results& r) {
  const std::vector<float> x = bf16_numbers(mixed_values(kCount, 1)), y = mixed_values(kCount, 2);
  const std::vector<std::uint16_t> h = bf16(x);
  r.add("from_bf16", written(kCount, [&](float* out) { t.from_bf16(h.data(), kCount, out); }));
  r.add("to_bf16", written_bf16(kCount, [&](auto* out) { t.to_bf16(x.data(), kCount, out); }));
  r.add("add_to_bf16",
        written_bf16(kCount, [&](auto* out) { t.add_to_bf16(h.data(), y.data(), kCount, out); }));
  r.add("relu_squared_to_bf16", written_bf16(2 * kCount, [&](auto* out) {
          t.relu_squared_to_bf16(x.data(), kCount, out, out + kCount);
        }));
  r.add("relu_squared_to_bf16", written_bf16(kCount, [&](auto* out) {
          t.relu_squared_to_bf16(x.data(), kCount, nullptr, out);
        }));
  r.add("relu_squared_backward_of_bf16", written_bf16(kCount, [&](auto* out) {
          t.relu_squared_backward_of_bf16(y.data(), h.data(), kCount, out);
        }));
}

// These take one group after the other.
constexpr std::int64_t kFew = 37;

void add_adamw(const Table& t, const inner::AdamWScalars& s, Results& r) {
  std::vector<float> p = finite_values(kFew, 4), m = ordinary_values(kFew, 5),
                     v = finite_values(kFew, 6);
  const std::vector<float> g = finite_values(kFew, 7);
  for (float& x : v) x = std::fabs(x);
  t.adamw(p.data(), g.data(), m.data(), v.data(), kFew, s);
  p.insert(p.end(), m.begin(), m.end());
  p.insert(p.end(), v.begin(), v.end());
  r.add("adamw", std::move(p));
}

void add_optimizers(const Table& t, Results& r) {
  constexpr int kPairs[][2] = {{inner::kRoundNone, inner::kRoundNone},
                               {inner::kRoundNone, inner::kRoundBf16},
                               {inner::kRoundBf16, inner::kRoundBf16},
                               {inner::kRoundFp16, inner::kRoundTf32}};
  inner::AdamWScalars s = {.decay = 1.0f,
                           .beta1 = 0.9f,
                           .one_minus_beta1 = 0.1f,
                           .beta2 = 0.95f,
                           .one_minus_beta2 = 0.05f,
                           .epsilon = 1e-8f,
                           .step_size = 0.3f,
                           .bias2 = 0.0f,
                           .round_state = 0,
                           .round_parameter = 0,
                           .eager = false};
  for (const auto& [state, parameter] : kPairs) {
    s.round_state = state;
    s.round_parameter = parameter;
    for (const float decay : {1.0f, 0.99f}) {
      s.decay = decay;
      s.bias2 = decay == 1.0f ? 0.0f : 0.0975f;
      for (const bool eager : {false, true}) {
        s.eager = eager;
        add_adamw(t, s, r);
      }
    }
  }
  const std::vector<float> g = hard_values(kFew, 8);
  for (const int rounding : kAllRoundings) {
    for (const bool nesterov : {false, true}) {
      std::vector<float> buffer = hard_values(kFew, 9), update(g.size());
      t.muon_momentum(g.data(), buffer.data(), update.data(), kFew, 0.95f, 0.05f, nesterov,
                      rounding);
      buffer.insert(buffer.end(), update.begin(), update.end());
      r.add("muon_momentum", std::move(buffer));
    }
  }
  r.add("add_scaled",
        written(kFew, [&](float* out) { t.add_scaled(g.data(), kFew, -0.02f, out); }));
}

void add_functions(const Table& t, Results& r) {
  std::vector<float> x = hard_values(203, 10);
  for (std::size_t i = 0; i < x.size(); i += 3) x[i] *= 25.0f;
  const auto count = static_cast<std::int64_t>(x.size());
  r.add("exp", written(count, [&](float* out) { t.exp(x.data(), count, out); }));
  r.add("log", written(count, [&](float* out) { t.log(x.data(), count, out); }));
}

}  // namespace

Results elementwise_results(const Table& table) {
  Results r;
  const std::vector<float> x = mixed_values(kCount, 1), y = mixed_values(kCount, 2);
  for (const int rounding : kAllRoundings) add_rounded(table, x.data(), y.data(), rounding, r);
  r.add("fill", written(kFew, [&](float* out) { table.fill(out, kFew, -0.0f); }));
  add_bf16(table, r);
  add_optimizers(table, r);
  add_functions(table, r);
  return r;
}

}  // namespace nb::kernels::self_test
