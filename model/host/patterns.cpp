// Ops that are computed together, with the bits of the ops one after the other. A pattern takes the
// ops that it finds behind one another only where nobody else wants what lies between them.
#include <algorithm>
#include <array>

#include "model/host/cached_attention.hpp"
#include "model/host/plan.hpp"
#include "model/host/views.hpp"
#include "model/host/weight.hpp"
#include "model/kernels/lm_head.hpp"
#include "model/kernels/matmul.hpp"
#include "model/kernels/relu_squared.hpp"
#include "model/kernels/residual.hpp"
#include "model/kernels/rms_norm.hpp"
#include "model/kernels/rotary_norm.hpp"
#include "model/kernels/scratch.hpp"

namespace nb::host {
namespace {

Bf16Matrix bf16(const AnyMatrix& numbers) {
  return {numbers.bf16, numbers.rows, numbers.cols, numbers.stride};
}
Matrix fp32(const AnyMatrix& numbers) {
  return {numbers.fp32, numbers.rows, numbers.cols, numbers.stride};
}
kernels::PackFor pack_for(const Op& product) {
  return product.kind == OpKind::kLinear ? kernels::PackFor::kNt : kernels::PackFor::kNn;
}

// --- a sum and a product -------------------------------------------------------------------------

// y = a + (x wᵀ or dy w), block by block.
void add_product(Plan& plan, const Step& step) {
  const Op &product = plan.op(step.ops[0]), &sum = plan.op(step.ops[1]);
  const bool is_second = sum.in[1] == product.out[0];
  const auto in_and_out = plan.make_in_place(sum.out[0], sum.in[is_second ? 0 : 1]);
  const ConstAnyMatrix a = in_and_out.in;
  const AnyMatrix y = in_and_out.out;
  const DType storage = sum.numerics->storage;
  const MatmulPolicy policy = product.numerics->linear();
  const bool is_nt = product.kind == OpKind::kLinear;
  const ConstAnyMatrix x = product.in[0]->any_matrix();
  if (const auto* form = packed_weight(*product.in[1], policy, pack_for(product))) {
    return (is_nt ? kernels::matmul_nt_blocks : kernels::matmul_nn_blocks)(
        x, *form, policy,
        [&](const kernels::ProductBlock& block) { kernels::add_block(a, block, y, storage); });
  }
  const kernels::Scratch scratch(static_cast<std::size_t>(y.rows * y.cols) * sizeof(float));
  const Matrix out = matrix(scratch.floats(), y.rows, y.cols);
  (is_nt ? multiply_weight_nt : multiply_weight_nn)(x, *product.in[1], out, policy, {});
  kernels::add(a, out, y, storage);
}

void formats_of_add_product(Plan& plan, const Step& step) {
  const Op &product = plan.op(step.ops[0]), &sum = plan.op(step.ops[1]);
  plan.alike(sum.in[sum.in[1] == product.out[0] ? 0 : 1], sum.out[0]);
}

bool match_sum(Plan& plan, std::int32_t i, OpKind kind) {
  for (const std::size_t side : {1U, 0U}) {
    const Op& sum = plan.op(i);
    if (sum.in[0] == sum.in[1]) return false;
    const std::int32_t product = plan.only_for(i, sum.in[side], kind);
    if (product < 0) continue;
    plan.take({{product, i}, add_product, formats_of_add_product});
    return true;
  }
  return false;
}
bool match_add_linear(Plan& plan, std::int32_t i) { return match_sum(plan, i, OpKind::kLinear); }
bool match_add_gradient(Plan& plan, std::int32_t i) {
  return match_sum(plan, i, OpKind::kLinearBackwardInput);
}

// --- a product and relu² -------------------------------------------------------------------------

void linear_relu_squared(Plan& plan, const Step& step) {
  const Op &product = plan.op(step.ops[0]), &relu = plan.op(step.ops[1]);
  const MatmulPolicy policy = product.numerics->linear();
  const ConstAnyMatrix x = product.in[0]->any_matrix();
  const bool keeps = plan.is_wanted(relu.in[0], step);
  const AnyMatrix out = plan.make(relu.out[0]);
  const AnyMatrix wide = keeps ? plan.make(relu.in[0]) : AnyMatrix();
  if (out.bf16 != nullptr) {
    return kernels::matmul_nt_blocks(x,
                                     *packed_weight(*product.in[1], policy, kernels::PackFor::kNt),
                                     policy, [&](const kernels::ProductBlock& block) {
                                       kernels::relu_squared_block(block, bf16(wide), bf16(out));
                                     });
  }
  const Matrix h = fp32(out), before = keeps ? fp32(wide) : h;
  multiply_weight_nt(x, *product.in[1], before, policy, [&](const kernels::ProductBlock& block) {
    kernels::relu_squared_block(before, h, block, relu.numerics->storage);
  });
}

void formats_of_linear_relu_squared(Plan& plan, const Step& step) {
  const Op& relu = plan.op(step.ops[1]);
  plan.alike(relu.in[0], relu.out[0]);
}

bool match_linear_relu_squared(Plan& plan, std::int32_t i) {
  const std::int32_t product = plan.made_by(plan.op(i).in[0], OpKind::kLinear);
  if (product < 0 || plan.readers(plan.op(i).in[0]).front() != i) return false;
  plan.take({{product, i}, linear_relu_squared, formats_of_linear_relu_squared});
  return true;
}

void linear_relu_squared_backward(Plan& plan, const Step& step) {
  const Op &product = plan.op(step.ops[0]), &relu = plan.op(step.ops[1]);
  const MatmulPolicy policy = product.numerics->linear();
  const ConstAnyMatrix dy = product.in[0]->any_matrix(), x = relu.in[1]->any_matrix();
  const AnyMatrix dx = plan.make(relu.out[0]);
  if (dx.bf16 != nullptr) {
    return kernels::matmul_nn_blocks(dy,
                                     *packed_weight(*product.in[1], policy, kernels::PackFor::kNn),
                                     policy, [&](const kernels::ProductBlock& block) {
                                       kernels::relu_squared_backward_block(block, x, bf16(dx));
                                     });
  }
  const Matrix d = fp32(dx);
  multiply_weight_nn(dy, *product.in[1], d, policy, [&](const kernels::ProductBlock& block) {
    kernels::relu_squared_backward_block(d, x.matrix(), d, block, relu.numerics->storage);
  });
}

void formats_of_relu_squared_backward(Plan& plan, const Step& step) {
  const Op& relu = plan.op(step.ops[1]);
  plan.alike(relu.in[1], relu.out[0]);
}

bool match_relu_squared_backward(Plan& plan, std::int32_t i) {
  const std::int32_t product = plan.only_for(i, plan.op(i).in[0], OpKind::kLinearBackwardInput);
  if (product < 0) return false;
  plan.take({{product, i}, linear_relu_squared_backward, formats_of_relu_squared_backward});
  return true;
}

// --- rotary and the norm of each head ------------------------------------------------------------

void rotary_norm(Plan& plan, const Step& step) {
  const Op &rotation = plan.op(step.ops[0]), &norm = plan.op(step.ops[1]);
  const ConstAnyMatrix x = rotation.in[0]->any_matrix();
  const AnyMatrix rotated =
      plan.is_wanted(rotation.out[0], step) ? plan.make(rotation.out[0]) : AnyMatrix();
  const AnyMatrix y = plan.make(norm.out[0]);
  std::span<float> rstd;
  if (plan.is_wanted(norm.out[1], step)) {
    const Matrix m = plan.make_fp32(norm.out[1]);
    rstd = {m.data, static_cast<std::size_t>(m.rows * m.cols)};
  }
  const ConstMatrix cos = rotation.in[1]->matrix(), sin = rotation.in[2]->matrix();
  const PointwisePolicy policy = rotation.numerics->pointwise_policy();
  if (rotation.positions.empty())
    kernels::rotary_norm(x, rotated, y, rstd, cos, sin, rotation.rotary, policy);
  else
    kernels::rotary_norm(x, rotation.positions, rotated, y, rstd, cos, sin,
                         rotation.rotary.head_dim, policy);
}

void formats_of_rotary_norm(Plan& plan, const Step& step) {
  const Op &rotation = plan.op(step.ops[0]), &norm = plan.op(step.ops[1]);
  plan.alike(rotation.in[0], rotation.out[0]);
  plan.alike(rotation.out[0], norm.out[0]);
}

// The kernel rotates halves.
bool is_in_halves(const Op& rotary) {
  return rotary.rotary.layout != kernels::RotaryLayout::kPairs;
}

bool match_rotary_norm(Plan& plan, std::int32_t i) {
  const Op& norm = plan.op(i);
  const std::int32_t rotation = plan.made_by(norm.in[0], OpKind::kRotary);
  if (rotation < 0 || plan.op(rotation).rotary.head_dim != norm.width ||
      !is_in_halves(plan.op(rotation)) || norm.epsilon != kernels::kRmsNormEpsilon ||
      plan.readers(norm.in[0]).front() != i)
    return false;
  plan.take({{rotation, i}, rotary_norm, formats_of_rotary_norm});
  return true;
}

void rotary_norm_backward(Plan& plan, const Step& step) {
  const Op &norm = plan.op(step.ops[0]), &rotation = plan.op(step.ops[1]);
  kernels::rotary_norm_backward(norm.in[0]->any_matrix(), norm.in[1]->any_matrix(),
                                span_of(norm.in[2]), plan.make(rotation.out[0]),
                                rotation.in[1]->matrix(), rotation.in[2]->matrix(), rotation.rotary,
                                rotation.numerics->pointwise_policy());
}

void formats_of_rotary_norm_backward(Plan& plan, const Step& step) {
  const Op &norm = plan.op(step.ops[0]), &rotation = plan.op(step.ops[1]);
  plan.alike(norm.in[0], norm.in[1]);
  plan.alike(norm.in[1], rotation.out[0]);
}

bool match_rotary_norm_backward(Plan& plan, std::int32_t i) {
  const Op& rotation = plan.op(i);
  const std::int32_t norm = plan.only_for(i, rotation.in[0], OpKind::kRmsNormBackward);
  if (norm < 0 || plan.op(norm).width != rotation.rotary.head_dim || !is_in_halves(rotation))
    return false;
  plan.take({{norm, i}, rotary_norm_backward, formats_of_rotary_norm_backward});
  return true;
}

// --- a norm's gradient and the residual's --------------------------------------------------------

void rms_norm_backward_add(Plan& plan, const Step& step) {
  const Op &norm = plan.op(step.ops[0]), &sum = plan.op(step.ops[1]);
  const AnyMatrix dx = plan.make_copy(sum.out[0], sum.in[0]);
  kernels::rms_norm_backward_add(rows_of(norm.in[0]->any_matrix(), norm.width),
                                 rows_of(norm.in[1]->any_matrix(), norm.width), span_of(norm.in[2]),
                                 rows_of(dx, norm.width), norm.numerics->storage);
}

void formats_of_rms_norm_backward_add(Plan& plan, const Step& step) {
  const Op& sum = plan.op(step.ops[1]);
  plan.alike(sum.in[0], sum.out[0]);
}

bool match_rms_norm_backward_add(Plan& plan, std::int32_t i) {
  const std::int32_t norm = plan.only_for(i, plan.op(i).in[1], OpKind::kRmsNormBackward);
  if (norm < 0 || plan.op(i).in[0] == plan.op(i).in[1]) return false;
  plan.take({{norm, i}, rms_norm_backward_add, formats_of_rms_norm_backward_add});
  return true;
}

// --- weight gradients of one input ---------------------------------------------------------------

constexpr std::size_t kMaxProducts = 3;  // q, k and v

// All of them; one by one where they differ in shape, or some are added and some are not.
void weight_gradients(Plan& plan, const Step& step) {
  const Op& first = plan.op(step.ops[0]);
  const MatmulPolicy policy = first.numerics->weight_gradient_matmul();
  const ConstAnyMatrix x = first.in[1]->any_matrix();
  std::array<kernels::TransposedProduct, kMaxProducts> products;
  bool is_alike = true;
  for (std::size_t k = 0; k < step.ops.size(); ++k) {
    const Op& op = plan.op(step.ops[k]);
    products[k] = {op.in[0]->any_matrix(), plan.make_fp32(op.out[0])};
    is_alike =
        is_alike && products[k].c.rows == products[0].c.rows && op.accumulate == first.accumulate;
  }
  if (is_alike)
    return kernels::matmul_tn({products.data(), step.ops.size()}, x, policy, first.accumulate);
  for (std::size_t k = 0; k < step.ops.size(); ++k)
    kernels::matmul_tn(products[k].a, x, products[k].c, policy, plan.op(step.ops[k]).accumulate);
}

// The gradients behind i of the same input, as long as none of them crosses another gradient of its
// weight: those are summed in their order.
bool match_weight_gradients(Plan& plan, std::int32_t i) {
  Step step = {{i}, weight_gradients, [](Plan&, const Step&) {}};
  for (const std::int32_t other : plan.readers(plan.op(i).in[1])) {
    if (step.ops.size() == kMaxProducts) break;
    if (other <= i || plan.op(other).kind != OpKind::kLinearBackwardWeight ||
        plan.op(other).in[1] != plan.op(i).in[1] || !plan.is_free(other))
      continue;
    const bool crosses = std::any_of(step.ops.begin(), step.ops.end(), [&](std::int32_t one) {
      return plan.is_written_between(plan.op(one).out[0], one, other);
    });
    if (crosses) break;
    step.ops.push_back(other);
  }
  if (step.ops.size() < 2) return false;
  plan.take(std::move(step));
  return true;
}

// --- the language-model head ---------------------------------------------------------------------

// Logits, loss and the three gradients, block by block: no (rows, vocabulary) array exists.
void head(Plan& plan, const Step& step) {
  const Op &product = plan.op(step.ops[0]), &loss = plan.op(step.ops[1]),
           &loss_backward = plan.op(step.ops[2]), &input = plan.op(step.ops[3]),
           &weight = plan.op(step.ops[4]);
  const NumericsPolicy& numerics = *product.numerics;
  const MatmulPolicy policy = numerics.linear();
  HostValues& w = *product.in[1];
  const kernels::Scratch scratch(loss.ids->size() * sizeof(float));
  const std::span<float> losses(scratch.floats(), loss.ids->size());
  kernels::lm_head_loss_and_backward(
      product.in[0]->matrix(),
      {w.matrix(), packed_weight(w, policy, kernels::PackFor::kNt),
       packed_weight(w, policy, kernels::PackFor::kNn), loss.width},
      *loss.ids, loss_gradients(loss_backward), losses, plan.make_fp32(input.out[0]),
      plan.make_fp32(weight.out[0]), weight.accumulate,
      {policy, numerics.weight_gradient_matmul(), loss_settings(loss)});
  keep_loss(plan, loss, losses);
}

void formats_of_head(Plan& plan, const Step& step) {
  plan.needs_fp32(plan.op(step.ops[0]).in[0]);
  plan.needs_fp32(plan.op(step.ops[2]).in[3]);
  plan.needs_fp32(plan.op(step.ops[3]).out[0]);
}

bool match_head(Plan& plan, std::int32_t i) {
  const Values& dlogits = plan.op(i).in[0];
  const std::int32_t back = plan.made_by(dlogits, OpKind::kSoftcapCrossEntropyBackward);
  if (back < 0 || plan.is_held(dlogits) || plan.readers(dlogits).size() != 2) return false;
  const std::int32_t input = plan.readers(dlogits)[0];
  const Values& logits = plan.op(back).in[0];
  const std::int32_t product = plan.made_by(logits, OpKind::kLinear);
  if (product < 0 || plan.is_held(logits) || plan.readers(logits).size() != 2) return false;
  const std::int32_t loss = plan.readers(logits)[0];
  if (plan.readers(logits)[1] != back || !plan.is_free(loss) || !plan.is_free(input) ||
      plan.op(loss).kind != OpKind::kSoftcapCrossEntropy ||
      plan.op(input).kind != OpKind::kLinearBackwardInput ||
      plan.op(input).in[1] != plan.op(product).in[1] || plan.op(i).in[1] != plan.op(product).in[0])
    return false;
  plan.take({{product, loss, back, input, i}, head, formats_of_head});
  return true;
}

// Losses alone: nobody keeps anything of the logits.
void head_losses(Plan& plan, const Step& step) {
  const Op &product = plan.op(step.ops[0]), &loss = plan.op(step.ops[1]);
  const NumericsPolicy& numerics = *product.numerics;
  const MatmulPolicy policy = numerics.linear();
  HostValues& w = *product.in[1];
  const kernels::Scratch scratch(loss.ids->size() * sizeof(float));
  const std::span<float> losses(scratch.floats(), loss.ids->size());
  kernels::lm_head_losses(
      product.in[0]->matrix(),
      {w.matrix(), packed_weight(w, policy, kernels::PackFor::kNt), nullptr, loss.width}, *loss.ids,
      losses, {policy, numerics.weight_gradient_matmul(), loss_settings(loss)});
  keep_loss(plan, loss, losses);
}

void formats_of_head_losses(Plan& plan, const Step& step) {
  plan.needs_fp32(plan.op(step.ops[0]).in[0]);
}

bool match_head_losses(Plan& plan, std::int32_t i) {
  const Op& loss = plan.op(i);
  if (loss.out[1] != nullptr || loss.out[2] != nullptr) return false;
  const std::int32_t product = plan.only_for(i, loss.in[0], OpKind::kLinear);
  if (product < 0) return false;
  plan.take({{product, i}, head_losses, formats_of_head_losses});
  return true;
}

constexpr auto kPatterns = std::to_array<Pattern>({
    {"head", "loss, dx, dw of softcap_cross_entropy(x wᵀ)", OpKind::kLinearBackwardWeight,
     match_head},
    {"head_losses", "losses of softcap_cross_entropy(x wᵀ)", OpKind::kSoftcapCrossEntropy,
     match_head_losses},
    {"linear_relu_squared", "relu²(x wᵀ)", OpKind::kReluSquared, match_linear_relu_squared},
    {"linear_relu_squared_backward", "relu²'(dy w)", OpKind::kReluSquaredBackward,
     match_relu_squared_backward},
    {"linear_add", "a + x wᵀ", OpKind::kAdd, match_add_linear},
    {"linear_add_gradient", "a += dy w", OpKind::kAddBackward, match_add_gradient},
    {"rotary_norm", "rms_norm(rotary(x))", OpKind::kRmsNorm, match_rotary_norm},
    {"rotary_norm_backward", "rotary'(rms_norm'(dy))", OpKind::kRotaryBackward,
     match_rotary_norm_backward},
    {"rms_norm_backward_add", "dx += rms_norm'(dy)", OpKind::kAddBackward,
     match_rms_norm_backward_add},
    {"cached_attention", "attention of all sequences over caches that k and v join",
     OpKind::kAttention, match_cached_attention},
    {"weight_gradients", "dw of several products of one x", OpKind::kLinearBackwardWeight,
     match_weight_gradients},
});

}  // namespace

std::span<const Pattern> patterns() { return kPatterns; }

}  // namespace nb::host
