// Every op alone: its kernel on its operands.
#include <algorithm>
#include <variant>

#include "harness/base/check.hpp"
#include "model/host/cached_attention.hpp"
#include "model/host/plan.hpp"
#include "model/host/views.hpp"
#include "model/host/weight.hpp"
#include "model/kernels/activation.hpp"
#include "model/kernels/broadcast.hpp"
#include "model/kernels/cross_entropy.hpp"
#include "model/kernels/dropout.hpp"
#include "model/kernels/elementwise.hpp"
#include "model/kernels/embedding.hpp"
#include "model/kernels/layer_norm.hpp"
#include "model/kernels/matmul.hpp"
#include "model/kernels/objectives.hpp"
#include "model/kernels/relu_squared.hpp"
#include "model/kernels/residual.hpp"
#include "model/kernels/rms_norm.hpp"
#include "model/kernels/slices.hpp"

namespace nb::host {
namespace {

const Op& only(const Plan& plan, const Step& step) { return plan.op(step.ops[0]); }

// Where rows that backward wants go; empty: nobody wants them.
std::span<float> rows_to_keep(Plan& plan, const Values& values, const Step& step) {
  if (!plan.is_wanted(values, step)) return {};
  const Matrix m = plan.make_fp32(values);
  return {m.data, static_cast<std::size_t>(m.rows * m.cols)};
}
void embedding(Plan& plan, const Step& step) {
  const Op& op = only(plan, step);
  kernels::embedding(op.in[0]->matrix(), *op.ids, plan.make_fp32(op.out[0]), op.numerics->storage);
}

void embedding_backward(Plan& plan, const Step& step) {
  const Op& op = only(plan, step);
  const Matrix table = plan.make_fp32(op.out[0]);
  if (!op.accumulate)
    kernels::fill({table.data, static_cast<std::size_t>(table.rows * table.cols)}, 0);
  kernels::embedding_backward(op.in[0]->matrix(), *op.ids, table, op.dtype);
}

void rms_norm(Plan& plan, const Step& step) {
  const Op& op = only(plan, step);
  kernels::rms_norm(rows_of(op.in[0]->any_matrix(), op.width),
                    rows_of(plan.make(op.out[0]), op.width), rows_to_keep(plan, op.out[1], step),
                    op.numerics->storage, op.epsilon, op.numerics->rsqrt());
}

void rms_norm_backward(Plan& plan, const Step& step) {
  const Op& op = only(plan, step);
  kernels::rms_norm_backward(rows_of(op.in[0]->any_matrix(), op.width),
                             rows_of(op.in[1]->any_matrix(), op.width), span_of(op.in[2]),
                             rows_of(plan.make(op.out[0]), op.width), op.numerics->storage);
}

// y = x wᵀ, or dx = dy w.
void linear(Plan& plan, const Step& step) {
  const Op& op = only(plan, step);
  const MatmulPolicy policy = op.numerics->linear();
  const bool is_nt = op.kind == OpKind::kLinear;
  const ConstAnyMatrix x = op.in[0]->any_matrix();
  const AnyMatrix y = plan.make(op.out[0]);
  if (y.fp32 != nullptr) {
    const Matrix out = matrix(y.fp32, y.rows, y.cols);
    return (is_nt ? multiply_weight_nt : multiply_weight_nn)(x, *op.in[1], out, policy, {});
  }
  const Bf16Matrix out = {y.bf16, y.rows, y.cols, y.stride};
  const kernels::PackFor use = is_nt ? kernels::PackFor::kNt : kernels::PackFor::kNn;
  (is_nt ? kernels::matmul_nt_blocks : kernels::matmul_nn_blocks)(
      x, *packed_weight(*op.in[1], policy, use), policy,
      [&](const kernels::ProductBlock& block) { kernels::keep_block(block, out); });
}

void linear_backward_weight(Plan& plan, const Step& step) {
  const Op& op = only(plan, step);
  kernels::matmul_tn(op.in[0]->any_matrix(), op.in[1]->any_matrix(), plan.make_fp32(op.out[0]),
                     op.numerics->weight_gradient_matmul(), op.accumulate);
}

void rotary(Plan& plan, const Step& step) {
  const Op& op = only(plan, step);
  const ConstMatrix x = op.in[0]->matrix(), cos = op.in[1]->matrix(), sin = op.in[2]->matrix();
  const Matrix y = plan.make_fp32(op.out[0]);
  const PointwisePolicy policy = op.numerics->pointwise_policy();
  if (op.kind == OpKind::kRotaryBackward)
    kernels::rotary_backward(x, y, cos, sin, op.rotary, policy);
  else if (op.positions.empty())
    kernels::rotary(x, y, cos, sin, op.rotary, policy);
  else
    kernels::rotary(x, op.positions, y, cos, sin, op.rotary.head_dim, policy, op.rotary.layout);
}

void attention(Plan& plan, const Step& step) {
  const Op& op = only(plan, step);
  const kernels::AttentionSaved saved = {rows_to_keep(plan, op.out[1], step),
                                         rows_to_keep(plan, op.out[2], step)};
  kernels::attention(op.in[0]->any_matrix(), op.in[1]->any_matrix(), op.in[2]->any_matrix(),
                     plan.make(op.out[0]), saved, op.attention, op.numerics->matmul());
}

void attention_backward(Plan& plan, const Step& step) {
  const Op& op = only(plan, step);
  kernels::attention_backward(op.in[0]->any_matrix(), op.in[1]->any_matrix(),
                              op.in[2]->any_matrix(), op.in[3]->any_matrix(),
                              op.in[4]->any_matrix(), span_of(op.in[5]), span_of(op.in[6]),
                              plan.make(op.out[0]), plan.make(op.out[1]), plan.make(op.out[2]),
                              op.attention, op.numerics->matmul());
}

void relu_squared(Plan& plan, const Step& step) {
  const Op& op = only(plan, step);
  kernels::relu_squared(op.in[0]->matrix(), plan.make_fp32(op.out[0]), op.numerics->storage);
}

void relu_squared_backward(Plan& plan, const Step& step) {
  const Op& op = only(plan, step);
  kernels::relu_squared_backward(op.in[0]->matrix(), op.in[1]->matrix(), plan.make_fp32(op.out[0]),
                                 op.numerics->storage);
}

void add(Plan& plan, const Step& step) {
  const Op& op = only(plan, step);
  const ConstMatrix b = op.in[1]->matrix();
  const auto [a, y] = plan.make_in_place(op.out[0], op.in[0]);
  kernels::add(a, b, y, op.numerics->storage);
}

// One kernel of x alone, of dy and x (or y), or of two operands.
using OfOne = void (*)(ConstMatrix, Matrix, DType);
using OfTwo = void (*)(ConstMatrix, ConstMatrix, Matrix, DType);
template <OfOne kKernel>
void of_one(Plan& plan, const Step& step) {
  const Op& op = only(plan, step);
  kKernel(op.in[0]->matrix(), plan.make_fp32(op.out[0]), op.numerics->storage);
}
template <OfTwo kKernel>
void of_two(Plan& plan, const Step& step) {
  const Op& op = only(plan, step);
  kKernel(op.in[0]->matrix(), op.in[1]->matrix(), plan.make_fp32(op.out[0]), op.numerics->storage);
}

// Where a parameter's gradient goes; nowhere where there are no values.
kernels::ParameterGradient gradient_of(Plan& plan, const Op& op, const Values& values) {
  if (values == nullptr) return {};
  const Matrix m = plan.make_fp32(values);
  return {{m.data, static_cast<std::size_t>(m.rows * m.cols)}, op.dtype, op.accumulate};
}

// x or dy times a constant, or a parameter, which eager software rounds to the storage dtype as it
// does x (a tensor of no dimension takes the other's dtype).
void scale(Plan& plan, const Step& step) {
  const Op& op = only(plan, step);
  auto factor = static_cast<float>(op.scale);
  if (op.in[1] != nullptr) {
    factor = span_of(op.in[1])[static_cast<std::size_t>(op.index)];
    if (op.numerics->pointwise_policy().eager) factor = round_to(op.numerics->storage, factor);
  }
  kernels::scale(op.in[0]->matrix(), factor, plan.make_fp32(op.out[0]), op.numerics->storage);
}

void scale_backward_factor(Plan& plan, const Step& step) {
  const Op& op = only(plan, step);
  kernels::ParameterGradient d = gradient_of(plan, op, op.out[0]);
  if (!d.accumulate) kernels::fill(d.values, 0);
  d.values = d.values.subspan(static_cast<std::size_t>(op.index), 1);
  kernels::factor_gradient(op.in[0]->matrix(), op.in[1]->matrix(), d,
                           op.numerics->pointwise_policy());
}

void apply_gain_backward_gain(Plan& plan, const Step& step) {
  const Op& op = only(plan, step);
  kernels::gain_gradient(op.in[0]->matrix(), op.in[1]->matrix(), gradient_of(plan, op, op.out[0]),
                         op.numerics->pointwise_policy());
}

void add_bias_backward(Plan& plan, const Step& step) {
  const Op& op = only(plan, step);
  kernels::bias_gradient(op.in[0]->matrix(), gradient_of(plan, op, op.out[0]),
                         op.numerics->pointwise_policy());
}

void layer_norm(Plan& plan, const Step& step) {
  const Op& op = only(plan, step);
  kernels::layer_norm(op.in[0]->matrix(), span_of(op.in[1]), span_of(op.in[2]),
                      plan.make_fp32(op.out[0]), rows_to_keep(plan, op.out[1], step),
                      rows_to_keep(plan, op.out[2], step), op.numerics->storage, op.epsilon,
                      op.numerics->rsqrt());
}

void layer_norm_backward_input(Plan& plan, const Step& step) {
  const Op& op = only(plan, step);
  kernels::layer_norm_backward(op.in[0]->matrix(), op.in[1]->matrix(), span_of(op.in[2]),
                               span_of(op.in[3]), span_of(op.in[4]), plan.make_fp32(op.out[0]),
                               op.numerics->storage);
}

void layer_norm_backward_weights(Plan& plan, const Step& step) {
  const Op& op = only(plan, step);
  kernels::layer_norm_weights_gradient(op.in[0]->matrix(), op.in[1]->matrix(), span_of(op.in[2]),
                                       span_of(op.in[3]), gradient_of(plan, op, op.out[0]),
                                       gradient_of(plan, op, op.out[1]));
}

void gate_heads_backward_gate(Plan& plan, const Step& step) {
  const Op& op = only(plan, step);
  kernels::gate_heads_gradient(op.in[0]->matrix(), op.in[1]->matrix(), plan.make_fp32(op.out[0]),
                               op.numerics->pointwise_policy());
}

void first_columns(Plan& plan, const Step& step) {
  const Op& op = only(plan, step);
  const bool is_forward = op.kind == OpKind::kFirstColumns;
  (is_forward ? kernels::first_columns : kernels::first_columns_backward)(
      op.in[0]->matrix(), plan.make_fp32(op.out[0]));
}

void previous_rows(Plan& plan, const Step& step) {
  const Op& op = only(plan, step);
  const bool is_forward = op.kind == OpKind::kPreviousRows;
  (is_forward ? kernels::previous_rows : kernels::previous_rows_backward)(
      op.in[0]->matrix(), op.time, plan.make_fp32(op.out[0]));
}

void dropout(Plan& plan, const Step& step) {
  const Op& op = only(plan, step);
  kernels::dropout(op.in[0]->matrix(), op.scale, *op.rng, plan.make_fp32(op.out[0]),
                   op.numerics->storage);
}

// Columns of the tokens; behind them are those of padding.
template <class View>
View tokens_of(const Op& op, View logits) {
  return op.width == 0 ? logits : column_block(logits, 0, op.width);
}

void softcap_cross_entropy(Plan& plan, const Step& step) {
  const Op& op = only(plan, step);
  std::vector<float> losses(op.ids->size());
  kernels::softcap_cross_entropy(
      tokens_of(op, op.in[0]->matrix()), *op.ids, losses,
      {rows_to_keep(plan, op.out[1], step), rows_to_keep(plan, op.out[2], step)},
      loss_settings(op));
  keep_loss(plan, op, losses);
}

void softcap_cross_entropy_backward(Plan& plan, const Step& step) {
  const Op& op = only(plan, step);
  const Matrix all = plan.make_fp32(op.out[0]), dlogits = tokens_of(op, all);
  kernels::softcap_cross_entropy_backward(tokens_of(op, op.in[0]->matrix()), *op.ids,
                                          span_of(op.in[1]), span_of(op.in[2]), loss_gradients(op),
                                          dlogits, loss_settings(op));
  for (std::int64_t i = 0; i < all.rows; ++i)
    std::fill(all.row(i) + dlogits.cols, all.row(i) + all.cols, 0.0F);
}

void objective(Plan& plan, const Step& step) {
  const Op& op = only(plan, step);
  const std::span<float> gradient = rows_to_keep(plan, op.out[1], step);
  plan.make_fp32(op.out[0]).data[0] = std::visit(
      [&](const auto& one) {
        return kernels::objective_loss(one, span_of(op.in[0]), op.scale, gradient);
      },
      *op.objective);
}

// Formats: what reads or writes fp32 alone.
void any(Plan&, const Step&) {}

void all_fp32(Plan& plan, const Step& step) {
  const Op& op = only(plan, step);
  for (const Values& in : op.in) plan.needs_fp32(in);
  for (const Values& out : op.out) plan.needs_fp32(out);
}

void sum(Plan& plan, const Step& step) {
  const Op& op = only(plan, step);
  plan.alike(op.in[0], op.out[0]);
  plan.needs_fp32(op.in[1]);
}

}  // namespace

void keep_loss(Plan& plan, const Op& loss, std::span<const float> losses) {
  if (loss.out[0] == nullptr) return;
  const Matrix out = plan.make_fp32(loss.out[0]);
  if (loss.per_row)
    std::ranges::copy(losses, out.data);
  else
    out.data[0] = mean_loss(loss, losses);
}

Step single(const Plan& plan, std::int32_t index) {
  switch (plan.op(index).kind) {
    case OpKind::kEmbedding:
      return {{index}, embedding, all_fp32};
    case OpKind::kEmbeddingBackward:
      return {{index}, embedding_backward, all_fp32};
    case OpKind::kRmsNorm:
      return {{index}, rms_norm, any};
    case OpKind::kRmsNormBackward:
      return {{index}, rms_norm_backward, any};
    case OpKind::kLinear:
    case OpKind::kLinearBackwardInput:
      return {{index}, linear, any};
    case OpKind::kLinearBackwardWeight:
      return {{index}, linear_backward_weight, any};
    case OpKind::kRotary:
    case OpKind::kRotaryBackward:
      return {{index}, rotary, all_fp32};
    case OpKind::kKvCacheAppend:
      return append_keys_values(index);
    case OpKind::kAttention:
      if (plan.op(index).cached_keys != nullptr) return attention_by_sequence(index);
      return {{index}, attention, any};
    case OpKind::kAttentionBackward:
      return {{index}, attention_backward, any};
    case OpKind::kReluSquared:
      return {{index}, relu_squared, all_fp32};
    case OpKind::kReluSquaredBackward:
      return {{index}, relu_squared_backward, all_fp32};
    case OpKind::kAdd:
    case OpKind::kAddBackward:
      return {{index}, add, sum};
    case OpKind::kSilu:
      return {{index}, of_one<kernels::silu>, all_fp32};
    case OpKind::kSiluBackward:
      return {{index}, of_two<kernels::silu_backward>, all_fp32};
    case OpKind::kGelu:
      return {{index}, of_one<kernels::gelu>, all_fp32};
    case OpKind::kGeluBackward:
      return {{index}, of_two<kernels::gelu_backward>, all_fp32};
    case OpKind::kSigmoid:
      return {{index}, of_one<kernels::sigmoid>, all_fp32};
    case OpKind::kSigmoidBackward:
      return {{index}, of_two<kernels::sigmoid_backward>, all_fp32};
    case OpKind::kMultiply:
    case OpKind::kMultiplyBackward:
    case OpKind::kApplyGain:
    case OpKind::kApplyGainBackwardInput:
      return {{index}, of_two<kernels::multiply>, all_fp32};
    case OpKind::kApplyGainBackwardGain:
      return {{index}, apply_gain_backward_gain, all_fp32};
    case OpKind::kScale:
    case OpKind::kScaleBackwardInput:
      return {{index}, scale, all_fp32};
    case OpKind::kScaleBackwardFactor:
      return {{index}, scale_backward_factor, all_fp32};
    case OpKind::kAddBias:
      return {{index}, of_two<kernels::add_bias>, all_fp32};
    case OpKind::kAddBiasBackward:
      return {{index}, add_bias_backward, all_fp32};
    case OpKind::kLayerNorm:
      return {{index}, layer_norm, all_fp32};
    case OpKind::kLayerNormBackwardInput:
      return {{index}, layer_norm_backward_input, all_fp32};
    case OpKind::kLayerNormBackwardWeights:
      return {{index}, layer_norm_backward_weights, all_fp32};
    case OpKind::kGateHeads:
    case OpKind::kGateHeadsBackwardInput:
      return {{index}, of_two<kernels::gate_heads>, all_fp32};
    case OpKind::kGateHeadsBackwardGate:
      return {{index}, gate_heads_backward_gate, all_fp32};
    case OpKind::kFirstColumns:
    case OpKind::kFirstColumnsBackward:
      return {{index}, first_columns, all_fp32};
    case OpKind::kPreviousRows:
    case OpKind::kPreviousRowsBackward:
      return {{index}, previous_rows, all_fp32};
    case OpKind::kDropout:
    case OpKind::kDropoutBackward:
      return {{index}, dropout, all_fp32};
    case OpKind::kSoftcapCrossEntropy:
      return {{index}, softcap_cross_entropy, all_fp32};
    case OpKind::kSoftcapCrossEntropyBackward:
      return {{index}, softcap_cross_entropy_backward, all_fp32};
    case OpKind::kWeightedSum:
    case OpKind::kPolicyLoss:
    case OpKind::kPreferenceLoss:
      return {{index}, objective, all_fp32};
    default:
      NB_CHECK(false, "[host] {} is not recorded: {}", name(plan.op(index).kind),
               plan.op(index).label);
      return {};
  }
}

}  // namespace nb::host
