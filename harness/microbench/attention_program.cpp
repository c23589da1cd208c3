// Causal attention, forward and backward: d2 and d4 at 8 × 256 tokens on both clocks, d6 at
// 4 × 512 on the host's, d20 simulated. Rates count visible pairs alone; OpenBLAS does the two
// products of the forward over all of them, without the softmax between.
#include <bit>
#include <memory>
#include <vector>

#include "harness/base/parallel.hpp"
#include "harness/base/rng.hpp"
#include "harness/microbench/programs.hpp"
#include "harness/microbench/timing.hpp"
#include "model/autograd/tape.hpp"
#include "model/device/device.hpp"
#include "model/kernels/attention.hpp"
#include "model/kernels/openblas.hpp"
#include "model/kernels/reference/attention.hpp"
#include "model/ops/attention.hpp"

namespace nb {
namespace {

struct AttentionCase {
  const char* name;
  std::int64_t batch, time, heads, head_dim;
  bool on_host, simulated;
};
constexpr AttentionCase kAttentionCases[] = {{"d2", 8, 256, 1, 128, true, true},
                                             {"d4", 8, 256, 2, 128, true, true},
                                             {"d6", 4, 512, 3, 128, true, false},
                                             {"d20", 8, 2048, 10, 128, false, true}};

// Two products over the visible half of the scores; five in the backward.
double forward_flop(const AttentionCase& s) {
  return 2.0 * static_cast<double>(s.batch * s.heads * s.head_dim) *
         static_cast<double>(s.time * (s.time + 1));
}

struct AttentionWork {
  kernels::AttentionShape shape;
  std::vector<float> q, k, v, out, dout, dq, dk, dv, row_max, row_sum;

  explicit AttentionWork(const AttentionCase& s)
      : shape{.batch = s.batch,
              .queries = s.time,
              .keys = s.time,
              .heads = s.heads,
              .kv_heads = s.heads,
              .head_dim = s.head_dim} {
    const auto count = static_cast<std::size_t>(s.batch * s.time * s.heads * s.head_dim);
    std::uint64_t seed = 0;
    for (std::vector<float>* tensor : {&q, &k, &v, &dout}) {
      const Rng rng(++seed, "microbench attention");
      tensor->resize(count);
      for (std::size_t i = 0; i < count; ++i)
        (*tensor)[i] = static_cast<float>(2.0 * rng.uniform(i) - 1.0);
    }
    for (std::vector<float>* tensor : {&out, &dq, &dk, &dv}) tensor->resize(count);
    row_max.resize(static_cast<std::size_t>(s.batch * s.heads * s.time));
    row_sum = row_max;
  }
  template <class Vector>
  auto view(Vector& values) const {
    return matrix(values.data(), shape.batch * shape.queries, shape.heads * shape.head_dim);
  }
  void forward(const MatmulPolicy& policy) {
    kernels::attention(view(q), view(k), view(v), view(out), {row_max, row_sum}, shape, policy);
  }
  void backward(const MatmulPolicy& policy) {
    kernels::attention_backward(view(dout), view(q), view(k), view(v), view(out), row_max, row_sum,
                                view(dq), view(dk), view(dv), shape, policy);
  }
};

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  for (std::size_t i = 0; i < a.size(); ++i)
    if (std::bit_cast<std::uint32_t>(a[i]) != std::bit_cast<std::uint32_t>(b[i])) return false;
  return true;
}

// A short sequence by both: the naive definition of a whole one takes seconds.
bool equals_reference(const AttentionCase& shape, const MatmulPolicy& policy) {
  AttentionCase small = shape;
  small.batch = 1, small.time = 50, small.heads = 1;
  AttentionWork fast(small), naive(small);
  fast.forward(policy);
  fast.backward(policy);
  const kernels::AttentionShape& s = naive.shape;
  kernels::reference::attention(naive.view(naive.q), naive.view(naive.k), naive.view(naive.v),
                                naive.view(naive.out), {naive.row_max, naive.row_sum}, s, policy);
  kernels::reference::attention_backward(
      naive.view(naive.dout), naive.view(naive.q), naive.view(naive.k), naive.view(naive.v),
      naive.view(naive.out), naive.row_max, naive.row_sum, naive.view(naive.dq),
      naive.view(naive.dk), naive.view(naive.dv), s, policy);
  return same_bits(fast.out, naive.out) && same_bits(fast.dq, naive.dq) &&
         same_bits(fast.dk, naive.dk) && same_bits(fast.dv, naive.dv);
}

// Scores and their product with V by OpenBLAS, head by head over all threads, whole squares.
std::function<void()> blas_products(const AttentionCase& shape) {
  const std::int64_t heads = shape.batch * shape.heads, square = shape.time * shape.time;
  const auto work = std::make_shared<AttentionWork>(shape);
  const auto scores =
      std::make_shared<std::vector<float>>(static_cast<std::size_t>(heads * square));
  return [work, scores, shape, heads, square] {
    parallel_for(static_cast<std::size_t>(heads), 1, [&](std::size_t task) {
      const auto index = static_cast<std::int64_t>(task);
      const auto head = [&](auto m) {
        return column_block(row_block(m, index / shape.heads * shape.time, shape.time),
                            index % shape.heads * shape.head_dim, shape.head_dim);
      };
      const Matrix s = matrix(scores->data() + index * square, shape.time, shape.time);
      kernels::openblas_nt(head(work->view(work->q)), head(work->view(work->k)), s);
      kernels::openblas_nn(s, head(work->view(work->v)), head(work->view(work->out)));
    });
  };
}

void add_host(const AttentionCase& shape, bool backward, const MicrobenchRequest& request,
              const DeviceProfile& profile) {
  const MatmulPolicy policy = profile.numerics.matmul();
  const auto work = std::make_shared<std::unique_ptr<AttentionWork>>();
  const HostBenchmark what{
      .name = std::string("attention/") + shape.name + (backward ? "/backward" : "/forward"),
      .min_time_s = request.min_time_s,
      .flop = forward_flop(shape) * (backward ? 2.5 : 1.0),
      .inputs = policy.inputs,
      .blas = backward ? std::function<std::function<void()>(void)>()
                       : [shape] { return blas_products(shape); }};
  register_host(what,
                [shape, policy, backward, work](benchmark::State& state) -> std::function<void()> {
                  if (*work == nullptr) {
                    if (!equals_reference(shape, policy)) {
                      state.SkipWithError("attention differs from its naive definition");
                      return {};
                    }
                    *work = std::make_unique<AttentionWork>(shape);
                    (*work)->forward(policy);
                  }
                  return [work, policy, backward] {
                    backward ? (*work)->backward(policy) : (*work)->forward(policy);
                  };
                });
}

// Forward with what it saves, then backward; each is timed alone on the device's clock.
struct Times {
  std::int64_t forward_ns, backward_ns;
};
Times simulate(const AttentionCase& s, const DeviceProfile& profile) {
  Device device(profile, ExecutionMode::kDry, {.trace_steps = 0});
  const auto tensor = [&](const char* name) {
    return device.allocate({s.batch * s.time, s.heads * s.head_dim}, profile.numerics.storage,
                           name);
  };
  Tensor q = tensor("q");
  const Tensor k = tensor("k"), v = tensor("v"), dy = tensor("dy");
  const ops::HeadShape shape{.batch = s.batch,
                             .time = s.time,
                             .heads = s.heads,
                             .kv_heads = s.heads,
                             .head_dim = s.head_dim};
  Tape tape;
  Tape::record(q, {}, {}, [] {  // somebody wants its gradient
    return [](const Tensor&, const SavedBlocks&) { return Tape::Gradients{}; };
  });
  device.synchronize();
  const std::int64_t start_ns = device.time_ns();
  Tensor y = ops::attention(q, k, v, shape, "attention");
  device.synchronize();
  const std::int64_t middle_ns = device.time_ns();
  tape.backward(y, dy);
  device.synchronize();
  return {middle_ns - start_ns, device.time_ns() - middle_ns};
}

void add_simulated(const AttentionCase& shape, bool backward, const DeviceProfile& profile) {
  const std::string name =
      std::string("attention/") + shape.name + (backward ? "/backward" : "/forward");
  register_simulated(name, [shape, backward, &profile](benchmark::State& state) {
    const Times times = simulate(shape, profile);
    const std::int64_t time_ns = backward ? times.backward_ns : times.forward_ns;
    const double flop = forward_flop(shape) * (backward ? 2.5 : 1.0);
    state.counters["rate_gflop_s"] = flop / static_cast<double>(time_ns);
    return time_ns;
  });
}

}  // namespace

void register_attention(const MicrobenchRequest& request, const DeviceProfile& profile) {
  register_cached_attention(request, profile);
  for (const AttentionCase& shape : kAttentionCases) {
    for (const bool backward : {false, true}) {
      if (shape.on_host) add_host(shape, backward, request, profile);
      if (shape.simulated) add_simulated(shape, backward, profile);
    }
  }
}

}  // namespace nb
