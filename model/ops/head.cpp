#include "model/ops/head.hpp"

#include <algorithm>
#include <utility>

#include "harness/base/check.hpp"
#include "model/host/weight.hpp"
#include "model/kernels/cross_entropy.hpp"
#include "model/kernels/lm_head.hpp"
#include "model/kernels/matmul.hpp"
#include "model/ops/linear.hpp"
#include "model/ops/result.hpp"

namespace nb::ops {
namespace {

constexpr std::int64_t kBlockValues = 1 << 21;  // 8 MiB of logits at a time
constexpr std::int64_t kMinBlockRows = 64;      // below, packing w would cost more than the product

struct HeadSize {
  std::int64_t rows, vocab, width;
};

HeadSize check_sizes(const Tensor& x, const Tensor& w, std::span<const int> targets,
                     const Device& device) {
  NB_CHECK(w.shape().rank() == 2 && x.shape().last() == w.shape()[1], "[head] x {}, w (V,C) {}",
           x.shape().text(), w.shape().text());
  const std::int64_t rows = x.shape().leading();
  NB_CHECK(!device.executes() || std::ssize(targets) == rows, "[head] {} targets for {} rows",
           targets.size(), rows);
  return {rows, w.shape()[0], w.shape()[1]};
}

std::int64_t block_rows(const HeadSize& size) {
  return std::min(std::max(kBlockValues / size.vocab / 2 * 2, kMinBlockRows), size.rows);
}

std::span<float> sized(std::vector<float>& buffer, std::int64_t count) {
  if (std::ssize(buffer) < count) buffer.resize(static_cast<std::size_t>(count));
  return std::span(buffer).first(static_cast<std::size_t>(count));
}

kernels::CrossEntropySettings loss_settings(const Device& device) {
  return {.softcap = kSoftcap, .pointwise = device.numerics().pointwise_policy()};
}

kernels::LmHeadPolicy kernel_policy(const Device& device) {
  return {device.numerics().matmul(), device.numerics().weight_gradient_matmul(),
          loss_settings(device)};
}

kernels::HeadWeight head_weight(const Device& device, const Tensor& w) {
  const MatmulPolicy policy = device.numerics().matmul();
  return {w.matrix(), host::packed_weight(*w.values(), policy, kernels::PackFor::kNt), nullptr};
}

OpDesc linear_desc(OpKind kind, const HeadSize& size, const Tensor& w, std::string_view label) {
  return {.kind = kind,
          .label = label,
          .rows = size.rows,
          .cols = size.vocab,
          .inner = size.width,
          .dtype = w.dtype()};
}
OpDesc vocab_desc(OpKind kind, const HeadSize& size, std::string_view label) {
  return {.kind = kind, .label = label, .rows = size.rows, .vocab = size.vocab};
}

// The device's logits: memory and time; the host's arithmetic is elsewhere.
Tensor simulated_logits(Device& device, const HeadSize& size, const Tensor& x, const Tensor& w) {
  Tensor logits = device.allocate({size.rows, size.vocab}, device.numerics().storage,
                                  "lm_head.logits", HostBuffer::kNone);
  OpDesc desc = linear_desc(OpKind::kLinear, size, w, "lm_head");
  desc.inputs = {&x, &w};
  desc.output = &logits;
  device.run(desc, [] {});
  return logits;
}

}  // namespace

void head_losses(Device& device, const Tensor& x, const Tensor& w, std::span<const int> targets,
                 bool is_mean, std::span<float> losses) {
  const HeadSize size = check_sizes(x, w, targets, device);
  const Tensor logits = simulated_logits(device, size, x, w);
  const Tensor loss = device.allocate(is_mean ? Shape{1} : Shape{size.rows}, DType::kFp32, "loss",
                                      HostBuffer::kNone);
  OpDesc desc = vocab_desc(OpKind::kSoftcapCrossEntropy, size, "loss");
  desc.inputs = {&logits};
  desc.output = &loss;
  device.run(desc, [&] {
    kernels::lm_head_losses(x.matrix(), head_weight(device, w), targets, losses,
                            kernel_policy(device));
  });
}

namespace {

using Targets = std::shared_ptr<const std::vector<int>>;

// What a training step keeps of its head.
struct HeadSaved {
  Tensor x, logits;  // values alone
  host::Values row_max, row_sum;
  Targets targets;
  double scale = 1;
  bool trains_w = true;
  bool accumulates = false;  // w has a gradient already
  SavedBlocks of_logits, of_loss;
};

Tensor head_backward(const Tensor& loss, Parameter& w, HeadSaved& kept) {
  Device& device = loss.device();
  const Shape& shape = kept.logits.shape();
  const Tensor dlogits = result(device, shape, "lm_head.dlogits");
  host::run_backward(device,
                     {.kind = OpKind::kSoftcapCrossEntropyBackward,
                      .label = "loss",
                      .rows = shape.leading(),
                      .vocab = shape.last(),
                      .inputs = {&loss},
                      .output = &dlogits},
                     std::move(kept.of_loss),
                     {.in = {kept.logits.values(), kept.row_max, kept.row_sum},
                      .out = {dlogits.values()},
                      .ids = kept.targets,
                      .softcap = kSoftcap,
                      .scale = kept.scale});
  Tensor dx = linear_backward_input(dlogits, w.value, "lm_head");
  if (kept.trains_w)
    linear_backward_weight(dlogits, kept.x, GradientSlot{w.grad, kept.accumulates}, "lm_head",
                           std::move(kept.of_logits));
  return dx;
}

}  // namespace

Tensor head_loss(const Tensor& x, Parameter& w, std::span<const int> targets, double scale) {
  Device& device = x.device();
  const HeadSize size = check_sizes(x, w.value, targets, device);
  const bool saves = wants_backward({&x}, w.is_trained);
  const auto kept = std::make_shared<HeadSaved>();
  // Allocated before the logits.
  if (saves && w.is_trained) kept->accumulates = gradient_slot(w).accumulate;
  Tensor loss = device.allocate({1}, DType::kFp32, "loss", HostBuffer::kRecorded);
  kept->x = x.values_only();
  kept->row_max = host_rows(device, size.rows);
  kept->row_sum = host_rows(device, size.rows);
  kept->targets = std::make_shared<std::vector<int>>(targets.begin(), targets.end());
  kept->scale = scale;
  kept->trains_w = w.is_trained;
  {
    const Tensor logits = result(device, {size.rows, size.vocab}, "lm_head.logits");
    kept->logits = logits.values_only();
    OpDesc product = linear_desc(OpKind::kLinear, size, w.value, "lm_head");
    product.inputs = {w.is_trained ? &x : nullptr, &w.value};
    product.output = &logits;
    product.saves_for_backward = saves;
    kept->of_logits = host::run(device, product,
                                {.in = {x.values(), w.value.values()}, .out = {logits.values()}});
    OpDesc desc = vocab_desc(OpKind::kSoftcapCrossEntropy, size, "loss");
    desc.inputs = {&logits};
    desc.output = &loss;
    desc.saves_for_backward = saves;
    kept->of_loss = host::run(device, desc,
                              {.in = {logits.values()},
                               .out = {loss.values(), kept->row_max, kept->row_sum},
                               .ids = kept->targets,
                               .softcap = kSoftcap});
  }
  if (!saves) return loss;
  Tape::record(loss, {&x}, {}, [&] {
    return [kept, &w](const Tensor& dloss, const SavedBlocks&) {
      return Tape::Gradients{head_backward(dloss, w, *kept)};
    };
  });
  return loss;
}

namespace {

// Capped logits of the wanted rows, block by block: each(first, logits).
void each_logit_block(const Device& device, const HeadSize& size, const Tensor& x, const Tensor& w,
                      std::span<const std::int64_t> wanted, HeadScratch& scratch,
                      const LogitRows& each) {
  const auto total = wanted.empty() ? size.rows : static_cast<std::int64_t>(wanted.size());
  const std::int64_t block = block_rows(size);
  for (std::int64_t begin = 0; begin < total; begin += block) {
    const std::int64_t count = std::min(block, total - begin);
    ConstMatrix rows = x.matrix();
    if (wanted.empty()) {
      rows = row_block(rows, begin, count);
    } else {
      const Matrix gathered =
          matrix(sized(scratch.gathered, count * size.width).data(), count, size.width);
      for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t row = wanted[static_cast<std::size_t>(begin + i)];
        NB_CHECK(row >= 0 && row < size.rows, "[head] row {} of {}", row, size.rows);
        std::copy_n(rows.row(row), size.width, gathered.row(i));
      }
      rows = gathered;
    }
    const Matrix z = matrix(sized(scratch.logits, count * size.vocab).data(), count, size.vocab);
    host::multiply_weight_nt(rows, *w.values(), z, device.numerics().matmul(),
                             [&](const kernels::ProductBlock& part) {
                               kernels::softcap_block(z, z, part, loss_settings(device));
                             });
    each(begin, z);
  }
}

}  // namespace

void head_logits(Device& device, const Tensor& x, const Tensor& w,
                 std::span<const std::int64_t> wanted, const LogitRows& sink,
                 HeadScratch& scratch) {
  NB_CHECK(w.shape().rank() == 2 && x.shape().last() == w.shape()[1], "[head] x {}, w (V,C) {}",
           x.shape().text(), w.shape().text());
  const HeadSize size = {x.shape().leading(), w.shape()[0], w.shape()[1]};
  const Tensor logits = simulated_logits(device, size, x, w);
  const Tensor capped = device.allocate({size.rows, size.vocab}, device.numerics().storage,
                                        "logits", HostBuffer::kNone);
  OpDesc desc = vocab_desc(OpKind::kLogits, size, "logits");
  desc.inputs = {&logits};
  desc.output = &capped;
  device.run(desc, [&] { each_logit_block(device, size, x, w, wanted, scratch, sink); });
}

void head_scores(Device& device, const Tensor& x, const Tensor& w, std::span<const int> targets,
                 std::span<float> log_probs, std::span<int> argmax) {
  const HeadSize size = check_sizes(x, w, targets, device);
  NB_CHECK(!device.executes() || (log_probs.size() == targets.size() &&
                                  (argmax.empty() || argmax.size() == targets.size())),
           "[head] {} targets, {} log_probs, {} argmax", targets.size(), log_probs.size(),
           argmax.size());
  const Tensor logits = simulated_logits(device, size, x, w);
  const Tensor capped = device.allocate({size.rows, size.vocab}, device.numerics().storage,
                                        "logits", HostBuffer::kNone);
  OpDesc cap_desc = vocab_desc(OpKind::kLogits, size, "logits");
  cap_desc.inputs = {&logits};
  cap_desc.output = &capped;
  device.run(cap_desc, [] {});
  const Tensor scores = device.allocate({size.rows}, DType::kFp32, "log_probs", HostBuffer::kNone);
  OpDesc desc = vocab_desc(OpKind::kLogProbabilities, size, "log_probs");
  desc.inputs = {&capped};
  desc.output = &scores;
  device.run(desc, [&] {
    kernels::lm_head_scores(x.matrix(), head_weight(device, w), targets, log_probs, argmax,
                            kernel_policy(device));
  });
}

}  // namespace nb::ops
