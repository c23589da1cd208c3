// Every op alone: its kernel on its operands.
#include "harness/base/check.hpp"
#include "model/host/plan.hpp"
#include "model/host/views.hpp"
#include "model/host/weight.hpp"
#include "model/kernels/cross_entropy.hpp"
#include "model/kernels/elementwise.hpp"
#include "model/kernels/embedding.hpp"
#include "model/kernels/matmul.hpp"
#include "model/kernels/relu_squared.hpp"
#include "model/kernels/residual.hpp"
#include "model/kernels/rms_norm.hpp"

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
  kernels::rms_norm(rows_of(op.in[0]->numbers(), op.width), rows_of(plan.make(op.out[0]), op.width),
                    rows_to_keep(plan, op.out[1], step), op.numerics->storage);
}

void rms_norm_backward(Plan& plan, const Step& step) {
  const Op& op = only(plan, step);
  kernels::rms_norm_backward(rows_of(op.in[0]->numbers(), op.width),
                             rows_of(op.in[1]->numbers(), op.width), span_of(op.in[2]),
                             rows_of(plan.make(op.out[0]), op.width), op.numerics->storage);
}

// y = x wᵀ, or dx = dy w.
void linear(Plan& plan, const Step& step) {
  const Op& op = only(plan, step);
  const MatmulPolicy policy = op.numerics->matmul();
  const bool is_nt = op.kind == OpKind::kLinear;
  const ConstNumbers x = op.in[0]->numbers();
  const Numbers y = plan.make(op.out[0]);
  if (y.fp32 != nullptr) {
    const Matrix out = matrix(y.fp32, y.rows, y.cols);
    return (is_nt ? multiply_weight_nt : multiply_weight_nn)(x, *op.in[1], out, policy, {});
  }
  const Halves out = {y.halves, y.rows, y.cols, y.stride};
  const kernels::PackFor use = is_nt ? kernels::PackFor::kNt : kernels::PackFor::kNn;
  (is_nt ? kernels::matmul_nt_blocks : kernels::matmul_nn_blocks)(
      x, *packed_weight(*op.in[1], policy, use), policy,
      [&](const kernels::ProductBlock& block) { kernels::keep_block(block, out); });
}

void linear_backward_weight(Plan& plan, const Step& step) {
  const Op& op = only(plan, step);
  kernels::matmul_tn(op.in[0]->numbers(), op.in[1]->numbers(), plan.make_fp32(op.out[0]),
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
    kernels::rotary(x, op.positions, y, cos, sin, op.rotary.head_dim, policy);
}

void attention(Plan& plan, const Step& step) {
  const Op& op = only(plan, step);
  const kernels::AttentionSaved saved = {rows_to_keep(plan, op.out[1], step),
                                         rows_to_keep(plan, op.out[2], step)};
  kernels::attention(op.in[0]->numbers(), op.in[1]->numbers(), op.in[2]->numbers(),
                     plan.make(op.out[0]), saved, op.attention, op.numerics->matmul());
}

void attention_backward(Plan& plan, const Step& step) {
  const Op& op = only(plan, step);
  kernels::attention_backward(op.in[0]->numbers(), op.in[1]->numbers(), op.in[2]->numbers(),
                              op.in[3]->numbers(), op.in[4]->numbers(), span_of(op.in[5]),
                              span_of(op.in[6]), plan.make(op.out[0]), plan.make(op.out[1]),
                              plan.make(op.out[2]), op.attention, op.numerics->matmul());
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

kernels::CrossEntropySettings loss_settings(const Op& op) {
  return {.softcap = op.softcap, .pointwise = op.numerics->pointwise_policy()};
}

void softcap_cross_entropy(Plan& plan, const Step& step) {
  const Op& op = only(plan, step);
  std::vector<float> losses(op.ids->size());
  kernels::softcap_cross_entropy(
      op.in[0]->matrix(), *op.ids, losses,
      {rows_to_keep(plan, op.out[1], step), rows_to_keep(plan, op.out[2], step)},
      loss_settings(op));
  plan.make_fp32(op.out[0]).data[0] = mean_loss(op, losses);
}

void softcap_cross_entropy_backward(Plan& plan, const Step& step) {
  const Op& op = only(plan, step);
  kernels::softcap_cross_entropy_backward(op.in[0]->matrix(), *op.ids, span_of(op.in[1]),
                                          span_of(op.in[2]), row_scale(op),
                                          plan.make_fp32(op.out[0]), loss_settings(op));
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
    case OpKind::kAttention:
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
    case OpKind::kSoftcapCrossEntropy:
      return {{index}, softcap_cross_entropy, all_fp32};
    case OpKind::kSoftcapCrossEntropyBackward:
      return {{index}, softcap_cross_entropy_backward, all_fp32};
    default:
      NB_CHECK(false, "[host] {} is not recorded: {}", name(plan.op(index).kind),
               plan.op(index).label);
      return {};
  }
}

}  // namespace nb::host
