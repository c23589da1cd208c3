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

// The operands of a step's op.
template <class T>
const T& operands(const Plan& plan, const Step& step, std::size_t which) {
  return plan.op(step.ops[which]).as<T>();
}

// --- a sum and a product -------------------------------------------------------------------------

const Values& other_term(const Add& sum, const Product& product) {
  return sum.b == product.y ? sum.a : sum.b;
}

// y = a + (x wᵀ or dy w), block by block.
void add_product(Plan& plan, const Step& step) {
  const Op& op = plan.op(step.ops[0]);
  const auto& product = op.as<Product>();
  const auto& sum = operands<Add>(plan, step, 1);
  const auto in_and_out = plan.make_in_place(sum.y, other_term(sum, product));
  const ConstAnyMatrix a = in_and_out.in;
  const AnyMatrix y = in_and_out.out;
  const DType storage = plan.op(step.ops[1]).numerics->storage;
  const MatmulPolicy policy = op.numerics->linear();
  const bool is_nt = op.kind == OpKind::kLinear;
  const ConstAnyMatrix x = product.x->any_matrix();
  if (const auto* form = packed_weight(*product.w, policy, pack_for(op))) {
    return (is_nt ? kernels::matmul_nt_blocks : kernels::matmul_nn_blocks)(
        x, *form, policy,
        [&](const kernels::ProductBlock& block) { kernels::add_block(a, block, y, storage); });
  }
  const kernels::Scratch scratch(static_cast<std::size_t>(y.rows * y.cols) * sizeof(float));
  const Matrix out = matrix(scratch.floats(), y.rows, y.cols);
  (is_nt ? multiply_weight_nt : multiply_weight_nn)(x, *product.w, out, policy, {});
  kernels::add(a, out, y, storage);
}

void formats_of_add_product(Plan& plan, const Step& step) {
  const auto& sum = operands<Add>(plan, step, 1);
  plan.alike(other_term(sum, operands<Product>(plan, step, 0)), sum.y);
}

bool match_sum(Plan& plan, std::int32_t i, OpKind kind) {
  const auto& sum = plan.op(i).as<Add>();
  if (sum.a == sum.b) return false;
  for (const Values* side : {&sum.b, &sum.a}) {
    const std::int32_t product = plan.only_for(i, *side, kind);
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
  const auto& product = operands<Product>(plan, step, 0);
  const auto& relu = operands<Unary>(plan, step, 1);
  const MatmulPolicy policy = plan.op(step.ops[0]).numerics->linear();
  const ConstAnyMatrix x = product.x->any_matrix();
  const bool keeps = plan.is_wanted(relu.x, step);
  const AnyMatrix out = plan.make(relu.y);
  const AnyMatrix wide = keeps ? plan.make(relu.x) : AnyMatrix();
  if (out.bf16 != nullptr) {
    return kernels::matmul_nt_blocks(x, *packed_weight(*product.w, policy, kernels::PackFor::kNt),
                                     policy, [&](const kernels::ProductBlock& block) {
                                       kernels::relu_squared_block(block, bf16(wide), bf16(out));
                                     });
  }
  const Matrix h = fp32(out), before = keeps ? fp32(wide) : h;
  const DType storage = plan.op(step.ops[1]).numerics->storage;
  multiply_weight_nt(x, *product.w, before, policy, [&](const kernels::ProductBlock& block) {
    kernels::relu_squared_block(before, h, block, storage);
  });
}

void formats_of_linear_relu_squared(Plan& plan, const Step& step) {
  const auto& relu = operands<Unary>(plan, step, 1);
  plan.alike(relu.x, relu.y);
}

bool match_linear_relu_squared(Plan& plan, std::int32_t i) {
  const Values& x = plan.op(i).as<Unary>().x;
  const std::int32_t product = plan.made_by(x, OpKind::kLinear);
  if (product < 0 || plan.readers(x).front() != i) return false;
  plan.take({{product, i}, linear_relu_squared, formats_of_linear_relu_squared});
  return true;
}

// relu²'s gradient of (dy, x), dy from a product.
void linear_relu_squared_backward(Plan& plan, const Step& step) {
  const auto& product = operands<Product>(plan, step, 0);
  const auto& relu = operands<Binary>(plan, step, 1);
  const MatmulPolicy policy = plan.op(step.ops[0]).numerics->linear();
  const ConstAnyMatrix dy = product.x->any_matrix(), x = relu.b->any_matrix();
  const AnyMatrix dx = plan.make(relu.y);
  if (dx.bf16 != nullptr) {
    return kernels::matmul_nn_blocks(dy, *packed_weight(*product.w, policy, kernels::PackFor::kNn),
                                     policy, [&](const kernels::ProductBlock& block) {
                                       kernels::relu_squared_backward_block(block, x, bf16(dx));
                                     });
  }
  const Matrix d = fp32(dx);
  const DType storage = plan.op(step.ops[1]).numerics->storage;
  multiply_weight_nn(dy, *product.w, d, policy, [&](const kernels::ProductBlock& block) {
    kernels::relu_squared_backward_block(d, x.matrix(), d, block, storage);
  });
}

void formats_of_relu_squared_backward(Plan& plan, const Step& step) {
  const auto& relu = operands<Binary>(plan, step, 1);
  plan.alike(relu.b, relu.y);
}

bool match_relu_squared_backward(Plan& plan, std::int32_t i) {
  const std::int32_t product =
      plan.only_for(i, plan.op(i).as<Binary>().a, OpKind::kLinearBackwardInput);
  if (product < 0) return false;
  plan.take({{product, i}, linear_relu_squared_backward, formats_of_relu_squared_backward});
  return true;
}

// --- rotary and the norm of each head ------------------------------------------------------------

void rotary_norm(Plan& plan, const Step& step) {
  const auto& rotation = operands<Rotary>(plan, step, 0);
  const auto& norm = operands<RmsNorm>(plan, step, 1);
  const ConstAnyMatrix x = rotation.x->any_matrix();
  const AnyMatrix rotated = plan.is_wanted(rotation.y, step) ? plan.make(rotation.y) : AnyMatrix();
  const AnyMatrix y = plan.make(norm.y);
  std::span<float> rstd;
  if (plan.is_wanted(norm.rstd, step)) {
    const Matrix m = plan.make_fp32(norm.rstd);
    rstd = {m.data, static_cast<std::size_t>(m.rows * m.cols)};
  }
  const ConstMatrix cos = rotation.cos->matrix(), sin = rotation.sin->matrix();
  const PointwisePolicy policy = plan.op(step.ops[0]).numerics->pointwise_policy();
  if (rotation.positions.empty())
    kernels::rotary_norm(x, rotated, y, rstd, cos, sin, rotation.shape, policy);
  else
    kernels::rotary_norm(x, rotation.positions, rotated, y, rstd, cos, sin, rotation.shape.head_dim,
                         policy);
}

void formats_of_rotary_norm(Plan& plan, const Step& step) {
  const auto& rotation = operands<Rotary>(plan, step, 0);
  plan.alike(rotation.x, rotation.y);
  plan.alike(rotation.y, operands<RmsNorm>(plan, step, 1).y);
}

// The kernel rotates halves, over the rows that are normed.
bool fits_kernel(const Rotary& rotary, std::int64_t width) {
  return rotary.shape.layout != kernels::RotaryLayout::kPairs && rotary.shape.head_dim == width;
}

bool match_rotary_norm(Plan& plan, std::int32_t i) {
  const auto& norm = plan.op(i).as<RmsNorm>();
  const std::int32_t rotation = plan.made_by(norm.x, OpKind::kRotary);
  if (rotation < 0 || !fits_kernel(plan.op(rotation).as<Rotary>(), norm.width) ||
      norm.epsilon != kernels::kRmsNormEpsilon || plan.readers(norm.x).front() != i)
    return false;
  plan.take({{rotation, i}, rotary_norm, formats_of_rotary_norm});
  return true;
}

void rotary_norm_backward(Plan& plan, const Step& step) {
  const auto& norm = operands<RmsNormBackward>(plan, step, 0);
  const auto& rotation = operands<Rotary>(plan, step, 1);
  kernels::rotary_norm_backward(norm.dy->any_matrix(), norm.x->any_matrix(), span_of(norm.rstd),
                                plan.make(rotation.y), rotation.cos->matrix(),
                                rotation.sin->matrix(), rotation.shape,
                                plan.op(step.ops[1]).numerics->pointwise_policy());
}

void formats_of_rotary_norm_backward(Plan& plan, const Step& step) {
  const auto& norm = operands<RmsNormBackward>(plan, step, 0);
  plan.alike(norm.dy, norm.x);
  plan.alike(norm.x, operands<Rotary>(plan, step, 1).y);
}

bool match_rotary_norm_backward(Plan& plan, std::int32_t i) {
  const auto& rotation = plan.op(i).as<Rotary>();
  const std::int32_t norm = plan.only_for(i, rotation.x, OpKind::kRmsNormBackward);
  if (norm < 0 || !fits_kernel(rotation, plan.op(norm).as<RmsNormBackward>().width)) return false;
  plan.take({{norm, i}, rotary_norm_backward, formats_of_rotary_norm_backward});
  return true;
}

// --- a norm's gradient and the residual's --------------------------------------------------------

void rms_norm_backward_add(Plan& plan, const Step& step) {
  const auto& norm = operands<RmsNormBackward>(plan, step, 0);
  const auto& sum = operands<Add>(plan, step, 1);
  const AnyMatrix dx = plan.make_copy(sum.y, sum.a);
  kernels::rms_norm_backward_add(rows_of(norm.dy->any_matrix(), norm.width),
                                 rows_of(norm.x->any_matrix(), norm.width), span_of(norm.rstd),
                                 rows_of(dx, norm.width), plan.op(step.ops[0]).numerics->storage);
}

void formats_of_rms_norm_backward_add(Plan& plan, const Step& step) {
  const auto& sum = operands<Add>(plan, step, 1);
  plan.alike(sum.a, sum.y);
}

bool match_rms_norm_backward_add(Plan& plan, std::int32_t i) {
  const auto& sum = plan.op(i).as<Add>();
  const std::int32_t norm = plan.only_for(i, sum.b, OpKind::kRmsNormBackward);
  if (norm < 0 || sum.a == sum.b) return false;
  plan.take({{norm, i}, rms_norm_backward_add, formats_of_rms_norm_backward_add});
  return true;
}

// --- weight gradients of one input ---------------------------------------------------------------

constexpr std::size_t kMaxProducts = 3;  // q, k and v

// All of them; one by one where they differ in shape, or some are added and some are not.
void weight_gradients(Plan& plan, const Step& step) {
  const Op& first = plan.op(step.ops[0]);
  const MatmulPolicy policy = first.numerics->weight_gradient_matmul();
  const ConstAnyMatrix x = first.as<LinearBackwardWeight>().x->any_matrix();
  std::array<kernels::TransposedProduct, kMaxProducts> products;
  bool is_alike = true;
  for (std::size_t k = 0; k < step.ops.size(); ++k) {
    const auto& op = operands<LinearBackwardWeight>(plan, step, k);
    products[k] = {op.dy->any_matrix(), plan.make_fp32(op.dw)};
    is_alike = is_alike && products[k].c.rows == products[0].c.rows &&
               plan.op(step.ops[k]).accumulate == first.accumulate;
  }
  if (is_alike)
    return kernels::matmul_tn({products.data(), step.ops.size()}, x, policy, first.accumulate);
  for (std::size_t k = 0; k < step.ops.size(); ++k)
    kernels::matmul_tn(products[k].a, x, products[k].c, policy, plan.op(step.ops[k]).accumulate);
}

// The gradients behind i of the same input, as long as none of them crosses another gradient of its
// weight: those are summed in their order.
bool match_weight_gradients(Plan& plan, std::int32_t i) {
  const auto gradient = [&](std::int32_t op) -> const LinearBackwardWeight& {
    return plan.op(op).as<LinearBackwardWeight>();
  };
  Step step = {{i}, weight_gradients, [](Plan&, const Step&) {}};
  for (const std::int32_t other : plan.readers(gradient(i).x)) {
    if (step.ops.size() == kMaxProducts) break;
    if (other <= i || !plan.op(other).is<LinearBackwardWeight>() ||
        gradient(other).x != gradient(i).x || !plan.is_free(other))
      continue;
    const bool crosses = std::any_of(step.ops.begin(), step.ops.end(), [&](std::int32_t one) {
      return plan.is_written_between(gradient(one).dw, one, other);
    });
    if (crosses) break;
    step.ops.push_back(other);
  }
  if (step.ops.size() < 2) return false;
  plan.take(std::move(step));
  return true;
}

// --- the language-model head ---------------------------------------------------------------------

kernels::LmHeadPolicy head_policy(const NumericsPolicy& numerics, const CrossEntropy& loss) {
  return {numerics.linear(), numerics.weight_gradient_matmul(), loss.labels.settings};
}

// Logits, loss and the three gradients, block by block: no (rows, vocabulary) array exists.
void head(Plan& plan, const Step& step) {
  const auto& product = operands<Product>(plan, step, 0);
  const auto& loss = operands<CrossEntropy>(plan, step, 1);
  const NumericsPolicy& numerics = *plan.op(step.ops[0]).numerics;
  const MatmulPolicy policy = numerics.linear();
  HostValues& w = *product.w;
  const std::vector<int>& targets = *loss.labels.targets;
  const kernels::Scratch scratch(targets.size() * sizeof(float));
  const std::span<float> losses(scratch.floats(), targets.size());
  kernels::lm_head_loss_and_backward(
      product.x->matrix(),
      {w.matrix(), packed_weight(w, policy, kernels::PackFor::kNt),
       packed_weight(w, policy, kernels::PackFor::kNn), loss.labels.vocab},
      targets, loss_gradients(operands<CrossEntropyBackward>(plan, step, 2)), losses,
      plan.make_fp32(operands<Product>(plan, step, 3).y),
      plan.make_fp32(operands<LinearBackwardWeight>(plan, step, 4).dw),
      plan.op(step.ops[4]).accumulate, head_policy(numerics, loss));
  keep_losses(plan, loss, losses);
}

void formats_of_head(Plan& plan, const Step& step) {
  plan.needs_fp32(operands<Product>(plan, step, 0).x);
  plan.needs_fp32(operands<CrossEntropyBackward>(plan, step, 2).dlosses);
  plan.needs_fp32(operands<Product>(plan, step, 3).y);
}

bool match_head(Plan& plan, std::int32_t i) {
  const auto& weight = plan.op(i).as<LinearBackwardWeight>();
  const Values& dlogits = weight.dy;
  const std::int32_t back = plan.made_by(dlogits, OpKind::kSoftcapCrossEntropyBackward);
  if (back < 0 || plan.is_held(dlogits) || plan.readers(dlogits).size() != 2) return false;
  const std::int32_t input = plan.readers(dlogits)[0];
  const Values& logits = plan.op(back).as<CrossEntropyBackward>().logits;
  const std::int32_t product = plan.made_by(logits, OpKind::kLinear);
  if (product < 0 || plan.is_held(logits) || plan.readers(logits).size() != 2) return false;
  const std::int32_t loss = plan.readers(logits)[0];
  if (plan.readers(logits)[1] != back || !plan.is_free(loss) || !plan.is_free(input) ||
      plan.op(loss).kind != OpKind::kSoftcapCrossEntropy ||
      plan.op(input).kind != OpKind::kLinearBackwardInput)
    return false;
  const auto& forward = plan.op(product).as<Product>();
  if (plan.op(input).as<Product>().w != forward.w || weight.x != forward.x) return false;
  plan.take({{product, loss, back, input, i}, head, formats_of_head});
  return true;
}

// Losses alone: nobody keeps anything of the logits.
void head_losses(Plan& plan, const Step& step) {
  const auto& product = operands<Product>(plan, step, 0);
  const auto& loss = operands<CrossEntropy>(plan, step, 1);
  const NumericsPolicy& numerics = *plan.op(step.ops[0]).numerics;
  HostValues& w = *product.w;
  const std::vector<int>& targets = *loss.labels.targets;
  const kernels::Scratch scratch(targets.size() * sizeof(float));
  const std::span<float> losses(scratch.floats(), targets.size());
  kernels::lm_head_losses(product.x->matrix(),
                          {w.matrix(), packed_weight(w, numerics.linear(), kernels::PackFor::kNt),
                           nullptr, loss.labels.vocab},
                          targets, losses, head_policy(numerics, loss));
  keep_losses(plan, loss, losses);
}

void formats_of_head_losses(Plan& plan, const Step& step) {
  plan.needs_fp32(operands<Product>(plan, step, 0).x);
}

bool match_head_losses(Plan& plan, std::int32_t i) {
  const auto& loss = plan.op(i).as<CrossEntropy>();
  if (loss.row_max != nullptr || loss.row_sum != nullptr) return false;
  const std::int32_t product = plan.only_for(i, loss.logits, OpKind::kLinear);
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
