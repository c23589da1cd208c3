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

// Logits of `rows` rows: w has `padded` rows, the first `vocab` of them are tokens.
struct HeadSize {
  std::int64_t rows, vocab, padded, width;
};

HeadSize check_sizes(const Tensor& x, const Tensor& w, const HeadOptions& options) {
  NB_CHECK(w.shape().rank() == 2 && x.shape().last() == w.shape()[1], "[head] x {}, w (V,C) {}",
           x.shape().text(), w.shape().text());
  NB_CHECK(options.vocab >= 0 && options.vocab <= w.shape()[0], "[head] {} tokens, w (V,C) {}",
           options.vocab, w.shape().text());
  NB_CHECK(options.softcap >= 0, "[head] softcap {} is negative", options.softcap);
  const std::int64_t padded = w.shape()[0];
  return {x.shape().leading(), options.vocab == 0 ? padded : options.vocab, padded, w.shape()[1]};
}

HeadSize check_sizes(const Tensor& x, const Tensor& w, std::span<const int> targets,
                     const Device& device, const HeadOptions& options) {
  const HeadSize size = check_sizes(x, w, options);
  NB_CHECK(!device.executes() || std::ssize(targets) == size.rows, "[head] {} targets for {} rows",
           targets.size(), size.rows);
  return size;
}

std::int64_t block_rows(const HeadSize& size) {
  return std::min(std::max(kBlockValues / size.padded / 2 * 2, kMinBlockRows), size.rows);
}

std::span<float> sized(std::vector<float>& buffer, std::int64_t count) {
  if (std::ssize(buffer) < count) buffer.resize(static_cast<std::size_t>(count));
  return std::span(buffer).first(static_cast<std::size_t>(count));
}

kernels::CrossEntropySettings loss_settings(const Device& device, const HeadOptions& options) {
  return {.softcap = options.softcap,
          .pointwise = device.numerics().pointwise_policy(),
          .in_fp32 = options.caps_in_fp32};
}

kernels::LmHeadPolicy kernel_policy(const Device& device, const HeadOptions& options) {
  return {device.numerics().linear(), device.numerics().weight_gradient_matmul(),
          loss_settings(device, options)};
}

kernels::HeadWeight head_weight(const Device& device, const Tensor& w, const HeadSize& size) {
  const MatmulPolicy policy = device.numerics().linear();
  return {w.matrix(), host::packed_weight(*w.values(), policy, kernels::PackFor::kNt), nullptr,
          size.vocab};
}

OpDesc linear_desc(OpKind kind, const HeadSize& size, const Tensor& w, std::string_view label) {
  return {.kind = kind,
          .label = label,
          .rows = size.rows,
          .cols = size.padded,
          .inner = size.width,
          .dtype = w.dtype()};
}
OpDesc vocab_desc(OpKind kind, const HeadSize& size, const HeadOptions& options,
                  std::string_view label) {
  return {.kind = kind,
          .label = label,
          .rows = size.rows,
          .vocab = size.vocab,
          .padded_vocab = size.padded,
          .has_softcap = options.softcap > 0,
          .caps_in_fp32 = options.caps_in_fp32};
}

Tensor allocate_logits(Device& device, const HeadSize& size) {
  return device.allocate({size.rows, size.padded}, device.numerics().storage, "lm_head.logits");
}

// The device's logits: memory and time; the host's arithmetic is elsewhere.
Tensor simulated_logits(Device& device, const HeadSize& size, const Tensor& x, const Tensor& w) {
  Tensor logits = allocate_logits(device, size);
  OpDesc desc = linear_desc(OpKind::kLinear, size, w, "lm_head");
  desc.inputs = {&x, &w};
  desc.output = &logits;
  device.run(desc, [] {});
  return logits;
}

// And what a model without targets returns: the logits capped, upcast, or as they are.
class CappedLogits {
 public:
  // Runs all but last_op(), which is the caller's to run with its arithmetic.
  CappedLogits(Device& device, const HeadSize& size, const HeadOptions& options, const Tensor& x,
               const Tensor& w) {
    logits_ = allocate_logits(device, size);
    op_ = linear_desc(OpKind::kLinear, size, w, "lm_head");
    op_.inputs = {&x, &w};
    op_.output = &logits_;
    if (options.softcap <= 0 && !options.caps_in_fp32) return;
    device.run(op_, [] {});
    const DType type = options.caps_in_fp32 ? DType::kFp32 : device.numerics().storage;
    capped_ = device.allocate({size.rows, size.vocab}, type, "logits");
    op_ = vocab_desc(OpKind::kLogits, size, options, "logits");
    op_.inputs = {&logits_};
    op_.output = &capped_;
  }
  CappedLogits(const CappedLogits&) = delete;
  CappedLogits& operator=(const CappedLogits&) = delete;

  const OpDesc& last_op() const { return op_; }
  const Tensor& last() const { return capped_.empty() ? logits_ : capped_; }

 private:
  Tensor logits_, capped_;
  OpDesc op_;  // refers to them
};

}  // namespace

void head_losses(Device& device, const Tensor& x, const Tensor& w, std::span<const int> targets,
                 bool is_mean, std::span<float> losses, const HeadOptions& options) {
  const HeadSize size = check_sizes(x, w, targets, device, options);
  const Tensor logits = simulated_logits(device, size, x, w);
  const Tensor loss = device.allocate(is_mean ? Shape{1} : Shape{size.rows}, DType::kFp32, "loss");
  OpDesc desc = vocab_desc(OpKind::kSoftcapCrossEntropy, size, options, "loss");
  desc.inputs = {&logits};
  desc.output = &loss;
  device.run(desc, [&] {
    kernels::lm_head_losses(x.matrix(), head_weight(device, w, size), targets, losses,
                            kernel_policy(device, options));
  });
}

namespace {

// What the device forms of the losses, and so what comes back as a gradient.
enum class LossForm { kMean, kRows };

// What a training step keeps of its head.
struct HeadSaved {
  Tensor x;  // values alone
  Shape shape;
  // Of a mean. Gradients of single losses are known too late to make those of the logits beside
  // them, so the host works the logits off twice instead of keeping them.
  host::Values logits, row_max, row_sum;
  host::Ids targets;
  double scale = 1;
  LossForm form = LossForm::kMean;
  bool trains_w = true;
  HeadOptions options;       // vocab: not 0
  bool accumulates = false;  // w has a gradient already
  SavedBlocks of_logits, of_loss;

  HeadSize size() const { return {shape.leading(), options.vocab, shape.last(), x.shape().last()}; }
};

host::Labels labels_of(const Device& device, const HeadSaved& kept) {
  return {kept.targets, kept.options.vocab, loss_settings(device, kept.options)};
}

host::CrossEntropy loss_op(const Device& device, const HeadSaved& kept, host::Values losses) {
  return {.logits = kept.logits,
          .losses = std::move(losses),
          .row_max = kept.row_max,
          .row_sum = kept.row_sum,
          .labels = labels_of(device, kept),
          .per_row = kept.form == LossForm::kRows};
}

// What the device kept and the host did not.
void make_logits_again(Device& device, const Tensor& w, HeadSaved& kept) {
  if (!device.executes()) return;
  const HeadSize size = kept.size();
  const auto rows = [&](std::int64_t cols) {
    return std::make_shared<HostValues>(device, size.rows, cols);
  };
  kept.logits = rows(size.padded);
  kept.row_max = rows(1);
  kept.row_sum = rows(1);
  host::recompute(device, linear_desc(OpKind::kLinear, size, w, "lm_head"),
                  host::Product{kept.x.values(), w.values(), kept.logits});
  host::recompute(device, vocab_desc(OpKind::kSoftcapCrossEntropy, size, kept.options, "loss"),
                  loss_op(device, kept, nullptr));
}

// dloss: of a mean it is the loss itself, and scale says the rest.
Tensor head_backward(const Tensor& dloss, Parameter& w, HeadSaved& kept) {
  Device& device = dloss.device();
  const bool has_rows = kept.form == LossForm::kRows;
  if (has_rows) make_logits_again(device, w.value, kept);
  const Tensor dlogits = result(device, kept.shape, "lm_head.dlogits");
  OpDesc desc = vocab_desc(OpKind::kSoftcapCrossEntropyBackward, kept.size(), kept.options, "loss");
  desc.inputs = {&dloss};
  desc.output = &dlogits;
  host::run_backward(device, desc, std::move(kept.of_loss),
                     host::CrossEntropyBackward{.logits = kept.logits,
                                                .row_max = kept.row_max,
                                                .row_sum = kept.row_sum,
                                                .dlosses = has_rows ? dloss.values() : nullptr,
                                                .dlogits = dlogits.values(),
                                                .labels = labels_of(device, kept),
                                                .scale = kept.scale});
  if (has_rows) kept.logits = nullptr;
  Tensor dx = linear_backward_input(dlogits, w.value, "lm_head");
  if (kept.trains_w)
    linear_backward_weight(dlogits, kept.x, GradientSlot{w.grad, kept.accumulates}, "lm_head",
                           std::move(kept.of_logits));
  return dx;
}

Tensor trained_head(const Tensor& x, Parameter& w, std::span<const int> targets, LossForm form,
                    double scale, const HeadOptions& options) {
  Device& device = x.device();
  const HeadSize size = check_sizes(x, w.value, targets, device, options);
  const bool saves = wants_backward({&x}, w.is_trained);
  const auto kept = std::make_shared<HeadSaved>();
  // Allocated before the logits.
  if (saves && w.is_trained) kept->accumulates = gradient_slot(w).accumulate;
  Tensor loss =
      device.allocate(form == LossForm::kMean ? Shape{1} : Shape{size.rows}, DType::kFp32, "loss");
  kept->x = x.values_only();
  kept->shape = {size.rows, size.padded};
  if (form == LossForm::kMean) {
    kept->row_max = host_rows(device, size.rows);
    kept->row_sum = host_rows(device, size.rows);
  }
  kept->targets = std::make_shared<std::vector<int>>(targets.begin(), targets.end());
  kept->scale = scale;
  kept->form = form;
  kept->trains_w = w.is_trained;
  kept->options = options;
  kept->options.vocab = size.vocab;
  {
    const Tensor logits = result(device, kept->shape, "lm_head.logits");
    kept->logits = logits.values();
    OpDesc product = linear_desc(OpKind::kLinear, size, w.value, "lm_head");
    product.inputs = {w.is_trained ? &x : nullptr, &w.value};
    product.output = &logits;
    product.saves_for_backward = saves;
    kept->of_logits =
        host::run(device, product, host::Product{x.values(), w.value.values(), logits.values()});
    OpDesc desc = vocab_desc(OpKind::kSoftcapCrossEntropy, size, options, "loss");
    desc.inputs = {&logits};
    desc.output = &loss;
    desc.saves_for_backward = saves;
    kept->of_loss = host::run(device, desc, loss_op(device, *kept, loss.values()));
  }
  if (form == LossForm::kRows) kept->logits = nullptr;
  if (!saves) return loss;
  Tape::record(loss, {&x}, {}, [&] {
    return [kept, &w](const Tensor& dloss, const SavedBlocks&) {
      return Tape::Gradients{head_backward(dloss, w, *kept)};
    };
  });
  return loss;
}

}  // namespace

Tensor head_loss(const Tensor& x, Parameter& w, std::span<const int> targets, double scale,
                 const HeadOptions& options) {
  return trained_head(x, w, targets, LossForm::kMean, scale, options);
}

Tensor head_losses(const Tensor& x, Parameter& w, std::span<const int> targets,
                   const HeadOptions& options) {
  return trained_head(x, w, targets, LossForm::kRows, 1, options);
}

namespace {

// Capped logits of the wanted rows, block by block: each(first, logits).
void each_logit_block(const Device& device, const HeadSize& size, const HeadOptions& options,
                      const Tensor& x, const Tensor& w, std::span<const std::int64_t> wanted,
                      HeadScratch& scratch, const LogitRows& each) {
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
    const Matrix z = matrix(sized(scratch.logits, count * size.padded).data(), count, size.padded);
    host::multiply_weight_nt(rows, *w.values(), z, device.numerics().linear(),
                             [&](const kernels::ProductBlock& part) {
                               kernels::softcap_block(z, z, part, loss_settings(device, options));
                             });
    each(begin, column_block(z, 0, size.vocab));
  }
}

}  // namespace

void head_logits(Device& device, const Tensor& x, const Tensor& w,
                 std::span<const std::int64_t> wanted, const LogitRows& sink, HeadScratch& scratch,
                 const HeadOptions& options) {
  const HeadSize size = check_sizes(x, w, options);
  const CappedLogits logits(device, size, options, x, w);
  device.run(logits.last_op(),
             [&] { each_logit_block(device, size, options, x, w, wanted, scratch, sink); });
}

void head_scores(Device& device, const Tensor& x, const Tensor& w, std::span<const int> targets,
                 std::span<float> log_probs, std::span<int> argmax, const HeadOptions& options) {
  const HeadSize size = check_sizes(x, w, targets, device, options);
  NB_CHECK(!device.executes() || (log_probs.size() == targets.size() &&
                                  (argmax.empty() || argmax.size() == targets.size())),
           "[head] {} targets, {} log_probs, {} argmax", targets.size(), log_probs.size(),
           argmax.size());
  const CappedLogits logits(device, size, options, x, w);
  device.run(logits.last_op(), [] {});
  const Tensor scores = device.allocate({size.rows}, DType::kFp32, "log_probs");
  OpDesc desc = vocab_desc(OpKind::kLogProbabilities, size, options, "log_probs");
  desc.inputs = {&logits.last()};
  desc.output = &scores;
  device.run(desc, [&] {
    kernels::lm_head_scores(x.matrix(), head_weight(device, w, size), targets, log_probs, argmax,
                            kernel_policy(device, options));
  });
}

}  // namespace nb::ops
