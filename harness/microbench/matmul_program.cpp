// Matrix products at the shapes of a training step: d2 and d4 at 2048 tokens on both clocks, d20
// simulated.
#include <cmath>
#include <memory>
#include <vector>

#include "harness/base/rng.hpp"
#include "harness/microbench/programs.hpp"
#include "harness/microbench/timing.hpp"
#include "model/device/device.hpp"
#include "model/kernels/matmul.hpp"
#include "model/kernels/openblas.hpp"
#include "model/kernels/reference/matmul.hpp"
#include "model/ops/linear.hpp"

namespace nb {
namespace {

enum class Layout { kForward, kInputGradient, kWeightGradient };
struct LinearCase {
  const char* name;
  std::int64_t rows, out, inner;  // tokens, output and input features of the Linear
  Layout layout;
  bool on_host;
};
constexpr LinearCase kLinearShapes[] = {
    {"d2/attn", 2048, 128, 128, Layout::kForward, true},
    {"d2/mlp_up", 2048, 512, 128, Layout::kForward, true},
    {"d4/attn", 2048, 256, 256, Layout::kForward, true},
    {"d4/mlp_up", 2048, 1024, 256, Layout::kForward, true},
    {"d4/mlp_down", 2048, 256, 1024, Layout::kForward, true},
    {"d4/lm_head", 2048, 4096, 256, Layout::kForward, true},
    {"d4/mlp_up_dx", 2048, 1024, 256, Layout::kInputGradient, true},
    {"d4/mlp_up_dw", 2048, 1024, 256, Layout::kWeightGradient, true},
    {"d20/mlp_up", 65536, 5120, 1280, Layout::kForward, false},
    {"d20/mlp_up_dw", 65536, 5120, 1280, Layout::kWeightGradient, false},
};

double flop(const LinearCase& s) {
  return 2.0 * static_cast<double>(s.rows) * static_cast<double>(s.out) *
         static_cast<double>(s.inner);
}

std::vector<float> values(std::int64_t count, const char* purpose) {
  std::vector<float> result(static_cast<std::size_t>(count));
  const Rng rng(1, purpose);
  for (std::size_t i = 0; i < result.size(); ++i)
    result[i] = static_cast<float>(rng.uniform(i) - 0.5);
  return result;
}

// The product C = A·B of one shape, in the layout's terms.
struct Product {
  std::vector<float> a_values, b_values, c_values;
  ConstMatrix a, b;
  Matrix c;
  Layout layout;

  explicit Product(const LinearCase& s) : layout(s.layout) {
    const bool forward = layout == Layout::kForward, input = layout == Layout::kInputGradient;
    const std::int64_t a_cols = forward ? s.inner : s.out;          // x, or dy
    const std::int64_t b_rows = forward || input ? s.out : s.rows;  // w, or x
    const std::int64_t c_rows = forward || input ? s.rows : s.out;
    const std::int64_t c_cols = forward ? s.out : s.inner;
    a_values = values(s.rows * a_cols, "microbench a");
    b_values = values(b_rows * s.inner, "microbench b");
    c_values.resize(static_cast<std::size_t>(c_rows * c_cols));
    a = matrix(std::as_const(a_values).data(), s.rows, a_cols);
    b = matrix(std::as_const(b_values).data(), b_rows, s.inner);
    c = matrix(c_values.data(), c_rows, c_cols);
  }

  void run(const MatmulPolicy& policy) const {
    switch (layout) {
      case Layout::kForward:
        return kernels::matmul_nt(a, b, c, policy);
      case Layout::kInputGradient:
        return kernels::matmul_nn(a, b, c, policy);
      case Layout::kWeightGradient:
        return kernels::matmul_tn(a, b, c, policy);
    }
  }
  void run_blas() const {
    switch (layout) {
      case Layout::kForward:
        return kernels::openblas_nt(a, b, c);
      case Layout::kInputGradient:
        return kernels::openblas_nn(a, b, c);
      case Layout::kWeightGradient:
        return kernels::openblas_tn(a, b, c);
    }
  }
  // Some rows of C by the naive definition.
  bool equals_reference(const MatmulPolicy& policy) const {
    const bool exact = policy.accumulation != Accumulation::kHostBlas;
    MatmulPolicy naive = policy;
    if (!exact) naive.accumulation = Accumulation::kChain;
    std::vector<float> row(static_cast<std::size_t>(c.cols));
    const Matrix one = matrix(row.data(), 1, c.cols);
    for (const std::int64_t i : {std::int64_t{0}, c.rows / 2 + 1, c.rows - 1}) {
      if (layout == Layout::kForward)
        kernels::reference::matmul_nt(row_block(a, i, 1), b, one, naive);
      if (layout == Layout::kInputGradient)
        kernels::reference::matmul_nn(row_block(a, i, 1), b, one, naive);
      if (layout == Layout::kWeightGradient)
        kernels::reference::matmul_tn(column_block(a, i, 1), b, one, naive);
      for (std::int64_t j = 0; j < c.cols; ++j) {
        const float difference = std::fabs(c.row(i)[j] - row[static_cast<std::size_t>(j)]);
        // BLAS: another order of at most 65536 products below 1/4 each.
        if (!(difference <= (exact ? 0.0f : 1e-2f))) return false;
      }
    }
    return true;
  }
};

void add_host(const LinearCase& shape, const MicrobenchRequest& request,
              const DeviceProfile& profile) {
  const MatmulPolicy policy = shape.layout == Layout::kWeightGradient
                                  ? profile.numerics.weight_gradient_matmul()
                                  : profile.numerics.matmul();
  const auto product = std::make_shared<std::unique_ptr<Product>>();
  HostBenchmark what{.name = std::string("matmul/") + shape.name,
                     .min_time_s = request.min_time_s,
                     .flop = flop(shape),
                     .inputs = policy.inputs};
  what.blas = [product] { return [product] { (*product)->run_blas(); }; };
  register_host(what, [shape, policy, product](benchmark::State& state) -> std::function<void()> {
    if (*product == nullptr) {
      *product = std::make_unique<Product>(shape);
      (*product)->run(policy);
      if (!(*product)->equals_reference(policy)) {
        state.SkipWithError("the product differs from its naive definition");
        product->reset();
        return {};
      }
    }
    return [product, policy] { (*product)->run(policy); };
  });
}

void add_simulated(const LinearCase& shape, const DeviceProfile& profile) {
  register_simulated(
      std::string("matmul/") + shape.name, [shape, &profile](benchmark::State& state) {
        Device device(profile, ExecutionMode::kDry, {.trace_steps = 0});
        const DType storage = profile.numerics.storage;
        const Tensor x = device.allocate({shape.rows, shape.inner}, storage, "x");
        const Tensor dy = device.allocate({shape.rows, shape.out}, storage, "dy");
        Parameter w = {.name = "linear",
                       .value = device.allocate({shape.out, shape.inner}, DType::kFp32, "w")};
        device.synchronize();
        const std::int64_t start_ns = device.time_ns();
        if (shape.layout == Layout::kForward) ops::linear(x, w);
        if (shape.layout == Layout::kInputGradient)
          ops::linear_backward_input(dy, w.value, "linear");
        if (shape.layout == Layout::kWeightGradient) ops::linear_backward_weight(dy, x, w, {});
        device.synchronize();
        const std::int64_t time_ns = device.time_ns() - start_ns;
        if (device.counters().flops < flop(shape))
          state.SkipWithError("the device was charged for less than 2·M·N·K operations");
        state.counters["rate_gflop_s"] = flop(shape) / static_cast<double>(time_ns);
        return time_ns;
      });
}

}  // namespace

void register_matmul(const MicrobenchRequest& request, const DeviceProfile& profile) {
  for (const LinearCase& shape : kLinearShapes) {
    if (shape.on_host) add_host(shape, request, profile);
    add_simulated(shape, profile);
  }
}

}  // namespace nb
