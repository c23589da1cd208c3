// Soft-cap, softmax and cross-entropy over blocks of logits as the language-model head hands them
// over: vocabularies of the small and the full models. Bytes are those of the logits and their
// gradients; where exponentials cost more than memory, the share of a copy says so.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "harness/base/rng.hpp"
#include "harness/microbench/programs.hpp"
#include "harness/microbench/timing.hpp"
#include "model/device/device.hpp"
#include "model/kernels/cross_entropy.hpp"
#include "model/kernels/reference/cross_entropy.hpp"

namespace nb {
namespace {

struct LossCase {
  const char* name;
  std::int64_t rows, vocabulary;
  bool on_host;
};
constexpr LossCase kLossShapes[] = {
    {"v4096", 512, 4096, true}, {"v32768", 64, 32768, true}, {"v65536", 65536, 65536, false}};

struct LossWork {
  std::int64_t rows, vocabulary;
  kernels::CrossEntropySettings settings;
  std::vector<float> logits, dlogits, losses, row_max, row_sum;
  std::vector<int> targets;

  LossWork(const LossCase& s, const PointwisePolicy& policy)
      : rows(s.rows), vocabulary(s.vocabulary), settings{.softcap = 15, .pointwise = policy} {
    const Rng rng(1, "microbench loss");
    logits.resize(static_cast<std::size_t>(rows * vocabulary));
    for (std::size_t i = 0; i < logits.size(); ++i)
      logits[i] = round_to(policy.storage, static_cast<float>(16 * rng.uniform(i) - 8));
    dlogits.resize(logits.size());
    for (std::vector<float>* row : {&losses, &row_max, &row_sum})
      row->resize(static_cast<std::size_t>(rows));
    for (std::int64_t r = 0; r < rows; ++r)
      targets.push_back(static_cast<int>(
          rng.below(static_cast<std::uint64_t>(r), static_cast<std::uint64_t>(vocabulary))));
  }
  ConstMatrix input() const { return matrix(logits.data(), rows, vocabulary); }
  void forward() {
    kernels::softcap_cross_entropy(input(), targets, losses, {row_max, row_sum}, settings);
  }
  void backward() {
    kernels::softcap_cross_entropy_backward(input(), targets, row_max, row_sum, kScale,
                                            matrix(dlogits.data(), rows, vocabulary), settings);
  }
  // The first and the last rows.
  bool equals_reference() const {
    for (const std::int64_t r : {std::int64_t{0}, rows - 1}) {
      const auto at = static_cast<std::size_t>(r);
      std::vector<float> d(static_cast<std::size_t>(vocabulary));
      float loss = 0, max = 0, sum = 0;
      const std::span<const int> target(&targets[at], 1);
      kernels::reference::softcap_cross_entropy(row_block(input(), r, 1), target, {&loss, 1},
                                                {{&max, 1}, {&sum, 1}}, settings);
      kernels::reference::softcap_cross_entropy_backward(row_block(input(), r, 1), target,
                                                         {&max, 1}, {&sum, 1}, kScale,
                                                         matrix(d.data(), 1, vocabulary), settings);
      if (loss != losses[at] || max != row_max[at] || sum != row_sum[at] ||
          !std::equal(d.begin(), d.end(), dlogits.begin() + r * vocabulary))
        return false;
    }
    return true;
  }
  static constexpr float kScale = 1.0f / 2048;
};

void add_host(const LossCase& shape, bool backward, const MicrobenchRequest& request,
              const DeviceProfile& profile) {
  const auto work = std::make_shared<std::unique_ptr<LossWork>>();
  const HostBenchmark what{
      .name = std::string("loss/") + shape.name + (backward ? "/backward" : "/forward"),
      .min_time_s = request.min_time_s,
      .bytes = static_cast<double>(shape.rows * shape.vocabulary) *
               static_cast<double>(sizeof(float)) * (backward ? 2 : 1)};
  const PointwisePolicy policy = profile.numerics.pointwise_policy();
  register_host(what, [=](benchmark::State& state) -> std::function<void()> {
    if (*work == nullptr) {
      *work = std::make_unique<LossWork>(shape, policy);
      (*work)->forward();
      (*work)->backward();
      if (!(*work)->equals_reference()) {
        state.SkipWithError("the loss differs from its naive definition");
        work->reset();
        return {};
      }
    }
    return [work, backward] { backward ? (*work)->backward() : (*work)->forward(); };
  });
}

void add_simulated(const LossCase& shape, bool backward, const DeviceProfile& profile) {
  register_simulated(std::string("loss/") + shape.name + (backward ? "/backward" : "/forward"),
                     [shape, backward, &profile](benchmark::State&) {
                       Device device(profile, ExecutionMode::kDry, {.trace_steps = 0});
                       const std::int64_t start_ns = device.time_ns();
                       device.run({.kind = backward ? OpKind::kSoftcapCrossEntropyBackward
                                                    : OpKind::kSoftcapCrossEntropy,
                                   .label = "loss",
                                   .rows = shape.rows,
                                   .vocab = shape.vocabulary},
                                  [] {});
                       device.synchronize();
                       return device.time_ns() - start_ns;
                     });
}

}  // namespace

void register_loss(const MicrobenchRequest& request, const DeviceProfile& profile) {
  for (const LossCase& shape : kLossShapes) {
    for (const bool backward : {false, true}) {
      if (shape.on_host) add_host(shape, backward, request, profile);
      add_simulated(shape, backward, profile);
    }
  }
}

}  // namespace nb
