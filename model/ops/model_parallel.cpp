#include "model/ops/model_parallel.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "harness/base/check.hpp"
#include "model/autograd/tape.hpp"
#include "model/device/device.hpp"
#include "model/kernels/cross_entropy.hpp"
#include "model/kernels/vector_math.hpp"
#include "model/ops/linear.hpp"
#include "model/ops/result.hpp"

namespace nb::ops {
namespace {

Tensor part_of(const Tensor& x, const Communicator& ranks) {
  const std::int64_t rows = x.shape().leading();
  NB_CHECK(rows % ranks.size() == 0, "[sequence_rows] {}: {} rows on {} ranks", x.name(), rows,
           ranks.size());
  return x.device().allocate({rows / ranks.size(), x.shape().last()}, x.dtype(), x.name());
}

Tensor gathered(Tensor x, Communicator& ranks, std::string_view label) {
  Tensor whole = x.device().allocate({x.shape().leading() * ranks.size(), x.shape().last()},
                                     x.dtype(), x.name());
  ranks.all_gather(CollectiveBuffer(x), CollectiveBuffer(whole), label);
  return whole;
}

Tensor scattered(Tensor x, Communicator& ranks, std::string_view label) {
  Tensor own = part_of(x, ranks);
  ranks.reduce_scatter(CollectiveBuffer(x), CollectiveBuffer(own), Reduce::kSum, label);
  return own;
}

// y came from x, whose gradient `back` makes of y's.
void record(const Tensor& x, Tensor& y, Communicator& ranks,
            Tensor (*back)(Tensor, Communicator&, std::string_view)) {
  if (!Tape::wants_gradient(x)) return;
  Tape::record(y, {&x}, {}, [&] {
    return [&ranks, back, label = std::string(x.name())](const Tensor& dy, const SavedBlocks&) {
      return Tape::Gradients{back(dy, ranks, label)};
    };
  });
}

}  // namespace

Tensor all_rows(const Tensor& x, Communicator& ranks) {
  Tensor whole = gathered(x, ranks, x.name());
  record(x, whole, ranks, scattered);
  return whole;
}

Tensor own_rows_of_sum(const Tensor& y, Communicator& ranks) {
  Tensor own = scattered(y, ranks, y.name());
  record(y, own, ranks, gathered);
  return own;
}

Tensor own_rows(const Tensor& x, Communicator& ranks) {
  Tensor own = part_of(x, ranks);
  static_cast<void>(
      x.device().run({.kind = OpKind::kCast,
                      .label = x.name(),
                      .count = own.count(),
                      .dtype = x.dtype(),
                      .to_dtype = own.dtype(),
                      .inputs = {&x},
                      .output = &own},
                     [&] {
                       const auto count = static_cast<std::size_t>(own.count());
                       const auto from = static_cast<std::size_t>(ranks.rank()) * count;
                       std::ranges::copy(x.host().subspan(from, count), own.host().begin());
                     }));
  record(x, own, ranks, gathered);
  return own;
}

namespace {

// Sizes of both forms: rows of all columns, in pieces of `tokens` tokens × `columns` columns.
struct Pieces {
  std::int64_t ranks, batch, tokens, columns;

  std::int64_t count() const { return ranks * batch * tokens * columns; }
  // Where row `token` of sequence `b` of rank r's piece begins: pieces one after the other, as they
  // travel; rows of a rank's tokens, the pieces side by side; rows of all tokens of some columns.
  std::int64_t travelling(std::int64_t r, std::int64_t b, std::int64_t token) const {
    return ((r * batch + b) * tokens + token) * columns;
  }
  std::int64_t side_by_side(std::int64_t r, std::int64_t b, std::int64_t token) const {
    return ((b * tokens + token) * ranks + r) * columns;
  }
  std::int64_t whole_sequence(std::int64_t r, std::int64_t b, std::int64_t token) const {
    return ((b * ranks + r) * tokens + token) * columns;
  }
};
using Place = std::int64_t (Pieces::*)(std::int64_t, std::int64_t, std::int64_t) const;

// x, whose pieces lie at `from`, with them at `to`.
Tensor laid_out(const Tensor& x, const Shape& shape, const Pieces& pieces, Place from, Place to,
                std::string_view label) {
  Device& device = x.device();
  Tensor y = result(device, shape, label);
  static_cast<void>(device.run({.kind = OpKind::kCast,
                                .label = label,
                                .count = pieces.count(),
                                .dtype = x.dtype(),
                                .to_dtype = y.dtype(),
                                .inputs = {&x},
                                .output = &y},
                               [&] {
                                 const float* in = x.host().data();
                                 float* out = y.host().data();
                                 for (std::int64_t r = 0; r < pieces.ranks; ++r)
                                   for (std::int64_t b = 0; b < pieces.batch; ++b)
                                     for (std::int64_t t = 0; t < pieces.tokens; ++t)
                                       std::copy_n(in + std::invoke(from, pieces, r, b, t),
                                                   pieces.columns,
                                                   out + std::invoke(to, pieces, r, b, t));
                               }));
  return y;
}

// Both ways: pieces are put one after the other, exchanged, and put in place.
Tensor exchanged(const Tensor& x, const Shape& shape, const Pieces& pieces, Place from, Place to,
                 std::string_view label, Communicator& ranks) {
  const Shape flat = {pieces.ranks * pieces.batch * pieces.tokens, pieces.columns};
  // Of one sequence, pieces of all tokens lie as they travel.
  const auto lies = [&](Place place) {
    return place == &Pieces::whole_sequence && pieces.batch == 1;
  };
  Tensor sent = lies(from) ? x : laid_out(x, flat, pieces, from, &Pieces::travelling, label);
  Tensor received = result(x.device(), lies(to) ? shape : flat, label);
  ranks.all_to_all(CollectiveBuffer(sent), CollectiveBuffer(received), label);
  sent = {};
  return lies(to) ? received : laid_out(received, shape, pieces, &Pieces::travelling, to, label);
}

enum class Way { kToColumns, kToTokens };

Tensor exchange(const Tensor& x, std::int64_t batch, Way way, std::string_view label,
                Communicator& ranks) {
  const std::int64_t p = ranks.size(), rows = x.shape().leading(), cols = x.shape().last();
  const bool to_columns = way == Way::kToColumns;
  NB_CHECK(
      batch > 0 && rows % (to_columns ? batch : batch * p) == 0 && (!to_columns || cols % p == 0),
      "[sequence_exchange] {}: x {}, {} sequences, {} ranks", label, x.shape().text(), batch, p);
  if (to_columns)
    return exchanged(x, {rows * p, cols / p}, {p, batch, rows / batch, cols / p},
                     &Pieces::side_by_side, &Pieces::whole_sequence, label, ranks);
  return exchanged(x, {rows / p, cols * p}, {p, batch, rows / batch / p, cols},
                   &Pieces::whole_sequence, &Pieces::side_by_side, label, ranks);
}

Tensor recorded(const Tensor& x, std::int64_t batch, Way way, std::string_view label,
                Communicator& ranks) {
  Tensor y = exchange(x, batch, way, label, ranks);
  if (!Tape::wants_gradient(x)) return y;
  Tape::record(y, {&x}, {}, [&] {
    return [batch, way, &ranks, label = std::string(label)](const Tensor& dy, const SavedBlocks&) {
      const Way back = way == Way::kToColumns ? Way::kToTokens : Way::kToColumns;
      return Tape::Gradients{exchange(dy, batch, back, label, ranks)};
    };
  });
  return y;
}

}  // namespace

Tensor tokens_to_columns(const Tensor& x, std::int64_t batch, std::string_view label,
                         Communicator& ranks) {
  return recorded(x, batch, Way::kToColumns, label, ranks);
}

Tensor columns_to_tokens(const Tensor& x, std::int64_t batch, std::string_view label,
                         Communicator& ranks) {
  return recorded(x, batch, Way::kToTokens, label, ranks);
}

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
  // The time of passes over the logits is the first op's; the others have that of numbers per row.
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
