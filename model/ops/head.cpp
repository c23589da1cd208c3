#include "model/ops/head.hpp"

#include <algorithm>
#include <utility>

#include "harness/base/check.hpp"
#include "model/kernels/cross_entropy.hpp"
#include "model/kernels/lm_head.hpp"
#include "model/kernels/matmul.hpp"
#include "model/kernels/reduce.hpp"
#include "model/ops/weight.hpp"

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

// Both products where the gradient is wanted too, with weights that stay packed until they change.
kernels::HeadWeight head_weight(const Device& device, const Tensor& w, bool has_backward) {
  const MatmulPolicy policy = device.numerics().matmul();
  return {w.matrix(), packed_weight(w, policy, kernels::PackFor::kNt),
          has_backward ? packed_weight(w, policy, kernels::PackFor::kNn) : nullptr};
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
Tensor simulated_logits(Device& device, const HeadSize& size, const Tensor& x, const Tensor& w,
                        SavedBlocks* saved) {
  Tensor logits = device.allocate({size.rows, size.vocab}, device.numerics().storage,
                                  "lm_head.logits", HostBuffer::kNone);
  OpDesc desc = linear_desc(OpKind::kLinear, size, w, "lm_head");
  desc.inputs = {&x, &w};
  desc.output = &logits;
  desc.saves_for_backward = saved != nullptr;
  SavedBlocks blocks = device.run(desc, [] {});
  if (saved != nullptr) *saved = std::move(blocks);
  return logits;
}

}  // namespace

void head_losses(Device& device, const Tensor& x, const Tensor& w, std::span<const int> targets,
                 bool is_mean, std::span<float> losses) {
  const HeadSize size = check_sizes(x, w, targets, device);
  const Tensor logits = simulated_logits(device, size, x, w, nullptr);
  const Tensor loss = device.allocate(is_mean ? Shape{1} : Shape{size.rows}, DType::kFp32, "loss",
                                      HostBuffer::kNone);
  OpDesc desc = vocab_desc(OpKind::kSoftcapCrossEntropy, size, "loss");
  desc.inputs = {&logits};
  desc.output = &loss;
  device.run(desc, [&] {
    kernels::lm_head_losses(x.matrix(), head_weight(device, w, false), targets, losses,
                            kernel_policy(device));
  });
}

HeadResult head_loss_and_backward(Device& device, const Tensor& x, const Tensor& w,
                                  std::span<const int> targets, double scale, Tensor& dw,
                                  bool accumulate, HeadScratch& scratch) {
  const HeadSize size = check_sizes(x, w, targets, device);
  NB_CHECK(dw.shape() == w.shape(), "[head] dw {}, w {}", dw.shape().text(), w.shape().text());
  SavedBlocks linear_saved;
  SavedBlocks loss_saved;
  const Tensor loss = device.allocate({1}, DType::kFp32, "loss", HostBuffer::kNone);
  {
    const Tensor logits = simulated_logits(device, size, x, w, &linear_saved);
    OpDesc desc = vocab_desc(OpKind::kSoftcapCrossEntropy, size, "loss");
    desc.inputs = {&logits};
    desc.output = &loss;
    desc.saves_for_backward = true;
    loss_saved = device.run(desc, [] {});
  }
  const DType storage = device.numerics().storage;
  const Tensor dlogits =
      device.allocate({size.rows, size.vocab}, storage, "lm_head.dlogits", HostBuffer::kNone);
  OpDesc loss_desc = vocab_desc(OpKind::kSoftcapCrossEntropyBackward, size, "loss");
  loss_desc.inputs = {&loss};
  loss_desc.output = &dlogits;
  device.run_backward(loss_desc, std::move(loss_saved), [] {});

  HeadResult result;
  Tensor& dx = result.dx;
  dx = device.allocate({size.rows, size.width}, storage, "lm_head.dx");
  OpDesc input_desc = linear_desc(OpKind::kLinearBackwardInput, size, w, "lm_head");
  input_desc.inputs = {&dlogits, &w};
  input_desc.output = &dx;
  device.run_backward(input_desc, {}, [] {});

  OpDesc weight_desc = linear_desc(OpKind::kLinearBackwardWeight, size, w, "lm_head");
  weight_desc.dtype = dw.dtype();
  weight_desc.accumulate = accumulate;
  weight_desc.inputs = {&dlogits, &x};
  weight_desc.output = &dw;
  device.run_backward(weight_desc, std::move(linear_saved), [&] {
    const auto valid = static_cast<double>(
        std::count_if(targets.begin(), targets.end(), [](int target) { return target >= 0; }));
    const float row_scale = valid > 0 ? static_cast<float>(scale / valid) : 0.0F;
    const std::span<float> losses = sized(scratch.losses, size.rows);
    kernels::lm_head_loss_and_backward(x.matrix(), head_weight(device, w, true), targets, row_scale,
                                       losses, dx.matrix(), dw.matrix(), accumulate,
                                       kernel_policy(device));
    if (valid > 0) result.loss = static_cast<float>(kernels::sum_in_order(losses) / valid);
  });
  return result;
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
    multiply_weight_nt(rows, w, z, device.numerics().matmul(),
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
  const Tensor logits = simulated_logits(device, size, x, w, nullptr);
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
  const Tensor logits = simulated_logits(device, size, x, w, nullptr);
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
    kernels::lm_head_scores(x.matrix(), head_weight(device, w, false), targets, log_probs, argmax,
                            kernel_policy(device));
  });
}

}  // namespace nb::ops
