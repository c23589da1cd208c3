#include "model/ops/vocab_head.hpp"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "harness/base/check.hpp"
#include "model/kernels/cross_entropy.hpp"
#include "model/kernels/vector_math.hpp"
#include "model/ops/linear.hpp"
#include "model/ops/result.hpp"

namespace nb::ops {
namespace {

// What the loss leaves to its backward.
struct PartSaved {
  Tensor logits;  // values alone
  std::vector<int> targets;
  std::int64_t first = 0;
  float dloss = 0;  // of every valid row
  std::vector<float> row_max, row_sum;
  kernels::CrossEntropySettings settings;
  std::int64_t vocab = 0;
};

OpDesc describe(OpKind kind, const PartSaved& kept, const HeadOptions& options) {
  return {.kind = kind,
          .label = "loss",
          .rows = kept.logits.shape().leading(),
          .vocab = kept.vocab,
          .padded_vocab = kept.logits.shape().last(),
          .has_softcap = options.softcap > 0,
          .caps_in_fp32 = options.caps_in_fp32};
}

ConstMatrix tokens_of(const PartSaved& kept) {
  return column_block(std::as_const(kept.logits).matrix(), 0, kept.vocab);
}

void reduce_rows(std::span<float> rows, std::int64_t count, Reduce op, std::string_view label,
                 Communicator& ranks) {
  if (rows.empty())
    ranks.all_reduce({count, DType::kFp32}, op, label);
  else
    ranks.all_reduce({rows, DType::kFp32}, op, label);
}

// Sum in double in row order over the valid rows; their number.
std::pair<double, std::int64_t> sum_losses(const PartSaved& kept,
                                           std::span<const float> at_target) {
  double sum = 0;
  std::int64_t valid = 0;
  for (std::size_t row = 0; row < kept.targets.size(); ++row) {
    if (kept.targets[row] == kernels::kIgnoreTarget) continue;
    ++valid;
    sum +=
        static_cast<double>(kernels::log(kept.row_sum[row]) - (at_target[row] - kept.row_max[row]));
  }
  return {sum, valid};
}

Tensor part_backward(const Tensor& dloss, PartSaved& kept, const HeadOptions& options,
                     SavedBlocks saved) {
  Device& device = dloss.device();
  Tensor dlogits = result(device, kept.logits.shape(), "lm_head.dlogits");
  OpDesc desc = describe(OpKind::kSoftcapCrossEntropyBackward, kept, options);
  desc.inputs = {&dloss};
  desc.output = &dlogits;
  device.run_backward(desc, std::move(saved), [&] {
    const Matrix all = dlogits.matrix();
    for (std::int64_t i = 0; i < all.rows; ++i)
      std::fill(all.row(i) + kept.vocab, all.row(i) + all.cols, 0.0F);
    kernels::softcap_part_backward(tokens_of(kept), kept.targets, kept.first, kept.row_max,
                                   kept.row_sum, kept.dloss, column_block(all, 0, kept.vocab),
                                   kept.settings);
  });
  kept.logits = {};
  return dlogits;
}

}  // namespace

Tensor vocab_head_loss(const Tensor& x, Parameter& w, std::span<const int> targets,
                       std::int64_t first, double scale, const HeadOptions& options,
                       Communicator& ranks) {
  Device& device = x.device();
  const std::int64_t rows = x.shape().leading();
  NB_CHECK(!device.executes() || std::ssize(targets) == rows, "[vocab_head] {} targets for {} rows",
           targets.size(), rows);
  NB_CHECK(options.vocab > 0 && options.vocab <= w.value.shape()[0],
           "[vocab_head] {} tokens, w (V,C) {}", options.vocab, w.value.shape().text());
  Tensor loss = device.allocate({1}, DType::kFp32, "loss");
  const Tensor logits = linear(x, w);
  const auto kept = std::make_shared<PartSaved>();
  kept->logits = logits.values_only();
  kept->targets.assign(targets.begin(), targets.end());
  kept->first = first;
  kept->vocab = options.vocab;
  kept->settings = {.softcap = options.softcap,
                    .pointwise = device.numerics().pointwise_policy(),
                    .in_fp32 = options.caps_in_fp32};
  const auto numbers = static_cast<std::size_t>(device.executes() ? rows : 0);
  std::vector<float> at_target(numbers);
  kept->row_max.resize(numbers);
  kept->row_sum.resize(numbers);
  // The time of passes over the logits is the first op's; the others have that of numbers a row.
  OpDesc desc = describe(OpKind::kSoftcapCrossEntropy, *kept, options);
  desc.inputs = {&logits};
  desc.output = &loss;
  desc.saves_for_backward = wants_backward({&logits}, false);
  SavedBlocks saved = device.run(desc, [&] {
    kernels::softcap_part_max(tokens_of(*kept), targets, first, kept->row_max, at_target,
                              kept->settings);
  });
  reduce_rows(kept->row_max, rows, Reduce::kMax, "loss.max", ranks);
  reduce_rows(at_target, rows, Reduce::kSum, "loss.target", ranks);
  static_cast<void>(
      device.run({.kind = OpKind::kAdd, .label = "loss.sum", .rows = rows, .cols = 1}, [&] {
        kernels::softcap_part_sum(tokens_of(*kept), kept->row_max, kept->row_sum, kept->settings);
      }));
  reduce_rows(kept->row_sum, rows, Reduce::kSum, "loss.sum", ranks);
  static_cast<void>(
      device.run({.kind = OpKind::kWeightedSum, .label = "loss.mean", .rows = rows}, [&] {
        const auto [sum, valid] = sum_losses(*kept, at_target);
        const double divisor = valid == 0 ? 1 : static_cast<double>(valid);
        loss.host()[0] = static_cast<float>(sum / divisor);
        kept->dloss = static_cast<float>(scale / divisor);
      }));
  if (!desc.saves_for_backward) return loss;
  Tape::record(loss, {&logits}, std::move(saved), [&] {
    return [kept, options](const Tensor& dloss, SavedBlocks blocks) {
      return Tape::Gradients{part_backward(dloss, *kept, options, std::move(blocks))};
    };
  });
  return loss;
}

}  // namespace nb::ops
