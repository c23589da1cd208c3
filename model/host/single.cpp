// Every op alone: its kernel on its operands.
#include <algorithm>
#include <variant>

#include "harness/base/check.hpp"
#include "model/host/cached_attention.hpp"
#include "model/host/plan.hpp"
#include "model/host/views.hpp"
#include "model/host/weight.hpp"
#include "model/kernels/broadcast.hpp"
#include "model/kernels/cross_entropy.hpp"
#include "model/kernels/dropout.hpp"
#include "model/kernels/elementwise.hpp"
#include "model/kernels/embedding.hpp"
#include "model/kernels/layer_norm.hpp"
#include "model/kernels/matmul.hpp"
#include "model/kernels/objectives.hpp"
#include "model/kernels/residual.hpp"
#include "model/kernels/rms_norm.hpp"
#include "model/kernels/slices.hpp"

namespace nb::host {
namespace {

// An op with its step and plan, for its kernel.
struct Call {
  Plan& plan;
  const Step& step;
  const Op& op;

  const NumericsPolicy& numerics() const { return *op.numerics; }
  DType storage() const { return op.numerics->storage; }
  PointwisePolicy pointwise() const { return op.numerics->pointwise_policy(); }

  // Where rows that backward wants go; empty: nobody wants them.
  std::span<float> rows_to_keep(const Values& values) const {
    return plan.is_wanted(values, step) ? numbers(plan.make_fp32(values)) : std::span<float>();
  }
  // Where a parameter's gradient goes; nowhere where there are no values.
  kernels::ParameterGradient gradient(const Values& values) const {
    if (values == nullptr) return {};
    return {numbers(plan.make_fp32(values)), op.dtype, op.accumulate};
  }
  static std::span<float> numbers(Matrix m) {
    return {m.data, static_cast<std::size_t>(m.rows * m.cols)};
  }
};

void compute(const Call& call, const Embedding& op) {
  kernels::embedding(op.table->matrix(), *op.ids, call.plan.make_fp32(op.y), call.storage());
}

void compute(const Call& call, const EmbeddingBackward& op) {
  const Matrix table = call.plan.make_fp32(op.dtable);
  if (!call.op.accumulate) kernels::fill(Call::numbers(table), 0);
  kernels::embedding_backward(op.dy->matrix(), *op.ids, table, call.op.dtype);
}

void compute(const Call& call, const RmsNorm& op) {
  kernels::rms_norm(rows_of(op.x->any_matrix(), op.width), rows_of(call.plan.make(op.y), op.width),
                    call.rows_to_keep(op.rstd), call.storage(), op.epsilon,
                    call.numerics().rsqrt());
}

void compute(const Call& call, const RmsNormBackward& op) {
  kernels::rms_norm_backward(rows_of(op.dy->any_matrix(), op.width),
                             rows_of(op.x->any_matrix(), op.width), span_of(op.rstd),
                             rows_of(call.plan.make(op.dx), op.width), call.storage());
}

void compute(const Call& call, const LayerNorm& op) {
  kernels::layer_norm(op.x->matrix(), span_of(op.gain), span_of(op.bias), call.plan.make_fp32(op.y),
                      call.rows_to_keep(op.mean), call.rows_to_keep(op.rstd), call.storage(),
                      op.epsilon, call.numerics().rsqrt());
}

void compute(const Call& call, const LayerNormBackwardInput& op) {
  kernels::layer_norm_backward(op.dy->matrix(), op.x->matrix(), span_of(op.gain), span_of(op.mean),
                               span_of(op.rstd), call.plan.make_fp32(op.dx), call.storage());
}

void compute(const Call& call, const LayerNormBackwardWeights& op) {
  kernels::layer_norm_weights_gradient(op.dy->matrix(), op.x->matrix(), span_of(op.mean),
                                       span_of(op.rstd), call.gradient(op.dgain),
                                       call.gradient(op.dbias));
}

void compute(const Call& call, const Product& op) {
  const MatmulPolicy policy = call.numerics().linear();
  const bool is_nt = call.op.kind == OpKind::kLinear;
  const ConstAnyMatrix x = op.x->any_matrix();
  const AnyMatrix y = call.plan.make(op.y);
  if (y.fp32 != nullptr) {
    const Matrix out = matrix(y.fp32, y.rows, y.cols);
    return (is_nt ? multiply_weight_nt : multiply_weight_nn)(x, *op.w, out, policy, {});
  }
  const Bf16Matrix out = {y.bf16, y.rows, y.cols, y.stride};
  const kernels::PackFor use = is_nt ? kernels::PackFor::kNt : kernels::PackFor::kNn;
  (is_nt ? kernels::matmul_nt_blocks : kernels::matmul_nn_blocks)(
      x, *packed_weight(*op.w, policy, use), policy,
      [&](const kernels::ProductBlock& block) { kernels::keep_block(block, out); });
}

void compute(const Call& call, const LinearBackwardWeight& op) {
  kernels::matmul_tn(op.dy->any_matrix(), op.x->any_matrix(), call.plan.make_fp32(op.dw),
                     call.numerics().weight_gradient_matmul(), call.op.accumulate);
}

void compute(const Call& call, const Rotary& op) {
  const ConstMatrix x = op.x->matrix(), cos = op.cos->matrix(), sin = op.sin->matrix();
  const Matrix y = call.plan.make_fp32(op.y);
  if (call.op.kind == OpKind::kRotaryBackward)
    kernels::rotary_backward(x, y, cos, sin, op.shape, call.pointwise());
  else if (op.positions.empty())
    kernels::rotary(x, y, cos, sin, op.shape, call.pointwise());
  else
    kernels::rotary(x, op.positions, y, cos, sin, op.shape.head_dim, call.pointwise(),
                    op.shape.layout);
}

void compute(const Call& call, const Attention& op) {
  const kernels::AttentionSaved saved = {call.rows_to_keep(op.row_max),
                                         call.rows_to_keep(op.row_sum)};
  kernels::attention(op.q->any_matrix(), op.k->any_matrix(), op.v->any_matrix(),
                     call.plan.make(op.y), saved, op.shape, call.numerics().matmul());
}

void compute(const Call& call, const AttentionBackward& op) {
  kernels::attention_backward(op.dy->any_matrix(), op.q->any_matrix(), op.k->any_matrix(),
                              op.v->any_matrix(), op.y->any_matrix(), span_of(op.row_max),
                              span_of(op.row_sum), call.plan.make(op.dq), call.plan.make(op.dk),
                              call.plan.make(op.dv), op.shape, call.numerics().matmul());
}

void compute(const Call& call, const KvCacheAppend& op) { append_keys_values(call.op, op); }

void compute(const Call& call, const CachedAttention& op) {
  attend_by_sequence(call.plan, call.op, op);
}

void compute(const Call& call, const Add& op) {
  const ConstMatrix b = op.b->matrix();
  const auto [a, y] = call.plan.make_in_place(op.y, op.a);
  kernels::add(a, b, y, call.storage());
}

void compute(const Call& call, const Unary& op) {
  op.kernel(op.x->matrix(), call.plan.make_fp32(op.y), call.storage());
}

void compute(const Call& call, const Binary& op) {
  op.kernel(op.a->matrix(), op.b->matrix(), call.plan.make_fp32(op.y), call.storage());
}

// Eager software rounds a parameter to the storage dtype as it does x (a tensor of no dimension
// takes the other's dtype).
void compute(const Call& call, const Scale& op) {
  auto factor = static_cast<float>(op.factor);
  if (op.factors != nullptr) {
    factor = span_of(op.factors)[static_cast<std::size_t>(op.index)];
    if (call.pointwise().eager) factor = round_to(call.storage(), factor);
  }
  kernels::scale(op.x->matrix(), factor, call.plan.make_fp32(op.y), call.storage());
}

void compute(const Call& call, const ScaleBackwardFactor& op) {
  kernels::ParameterGradient d = call.gradient(op.dfactors);
  if (!d.accumulate) kernels::fill(d.values, 0);
  d.values = d.values.subspan(static_cast<std::size_t>(op.index), 1);
  kernels::factor_gradient(op.dy->matrix(), op.x->matrix(), d, call.pointwise());
}

void compute(const Call& call, const ApplyGainBackwardGain& op) {
  kernels::gain_gradient(op.dy->matrix(), op.x->matrix(), call.gradient(op.dgain),
                         call.pointwise());
}

void compute(const Call& call, const AddBiasBackward& op) {
  kernels::bias_gradient(op.dy->matrix(), call.gradient(op.dbias), call.pointwise());
}

void compute(const Call& call, const GateHeadsBackwardGate& op) {
  kernels::gate_heads_gradient(op.dy->matrix(), op.x->matrix(), call.plan.make_fp32(op.dgate),
                               call.pointwise());
}

void compute(const Call& call, const PreviousRows& op) {
  const bool is_forward = call.op.kind == OpKind::kPreviousRows;
  (is_forward ? kernels::previous_rows : kernels::previous_rows_backward)(
      op.x->matrix(), op.time, call.plan.make_fp32(op.y));
}

void compute(const Call& call, const Dropout& op) {
  kernels::dropout(op.x->matrix(), op.rate, op.rng, call.plan.make_fp32(op.y), call.storage());
}

// Columns of the tokens; behind them are those of padding.
template <class View>
View tokens_of(const Labels& labels, View logits) {
  return labels.vocab == 0 ? logits : column_block(logits, 0, labels.vocab);
}

void compute(const Call& call, const CrossEntropy& op) {
  std::vector<float> losses(op.labels.targets->size());
  kernels::softcap_cross_entropy(
      tokens_of(op.labels, op.logits->matrix()), *op.labels.targets, losses,
      {call.rows_to_keep(op.row_max), call.rows_to_keep(op.row_sum)}, op.labels.settings);
  keep_losses(call.plan, op, losses);
}

void compute(const Call& call, const CrossEntropyBackward& op) {
  const Matrix all = call.plan.make_fp32(op.dlogits), dlogits = tokens_of(op.labels, all);
  kernels::softcap_cross_entropy_backward(
      tokens_of(op.labels, op.logits->matrix()), *op.labels.targets, span_of(op.row_max),
      span_of(op.row_sum), loss_gradients(op), dlogits, op.labels.settings);
  for (std::int64_t i = 0; i < all.rows; ++i)
    std::fill(all.row(i) + dlogits.cols, all.row(i) + all.cols, 0.0F);
}

void compute(const Call& call, const Objective& op) {
  const std::span<float> gradient = call.rows_to_keep(op.dlosses);
  call.plan.make_fp32(op.loss).data[0] = std::visit(
      [&](const auto& one) {
        return kernels::objective_loss(one, span_of(op.losses), op.scale, gradient);
      },
      *op.objective);
}

void compute(const Call& call, const Nothing&) {
  NB_CHECK(false, "[host] {} is not recorded: {}", name(call.op.kind), call.op.label);
}

// Formats: most kernels read and write fp32 alone.
template <class T>
void formats(Plan& plan, const T& op) {
  for (const Values* in : op.in()) plan.needs_fp32(*in);
  for (const Values* out : op.out()) plan.needs_fp32(*out);
}
void formats(Plan&, const RmsNorm&) {}
void formats(Plan&, const RmsNormBackward&) {}
void formats(Plan&, const Product&) {}
void formats(Plan&, const LinearBackwardWeight&) {}
void formats(Plan&, const Attention&) {}
void formats(Plan&, const AttentionBackward&) {}
void formats(Plan& plan, const Add& op) {
  plan.alike(op.a, op.y);
  plan.needs_fp32(op.b);
}

}  // namespace

void keep_losses(Plan& plan, const CrossEntropy& loss, std::span<const float> losses) {
  if (loss.losses == nullptr) return;
  const Matrix out = plan.make_fp32(loss.losses);
  if (loss.per_row)
    std::ranges::copy(losses, out.data);
  else
    out.data[0] = mean_loss(loss.labels, losses);
}

Step single(std::int32_t index) {
  return {
      {index},
      [](Plan& plan, const Step& step) {
        const Op& op = plan.op(step.ops[0]);
        std::visit([&](const auto& operands) { compute({plan, step, op}, operands); }, op.operands);
      },
      [](Plan& plan, const Step& step) {
        std::visit([&](const auto& operands) { formats(plan, operands); },
                   plan.op(step.ops[0]).operands);
      }};
}

}  // namespace nb::host
