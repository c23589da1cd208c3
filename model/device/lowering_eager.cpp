// What PyTorch eager launches for each op of nanochat's model under autocast, kernel by kernel,
// with the tensors that autograd keeps. Read off gpt.py and torch's derivatives.yaml; where a fused
// operator is available (profile: fused_operators) that one kernel.
#include "model/device/lowering_rows.hpp"

namespace nb::eager {
namespace {

using Handle = LoweringBuilder::Handle;

// Keys that a query is scored against, those that a mask or the window hides included; the mean
// (upwards) in a ragged batch.
std::int64_t scored_keys(const OpDesc& d) {
  const std::int64_t pairs = d.scored_pairs > 0 ? d.scored_pairs : d.pairs;
  if (pairs > 0) return (pairs + d.time - 1) / d.time;
  return d.key_time > 0 ? d.key_time : d.time;
}

}  // namespace

// x.float(); pow(2); mean(-1); + eps; rsqrt; x * rstd; .to(storage). Autograd keeps the upcast x
// (for pow and mul) and rstd.
void rms_norm(LoweringBuilder& b) {
  const OpDesc& d = b.desc();
  const std::int64_t n = d.rows * d.cols;
  if (b.software().fuses("rms_norm")) {
    b.save("rstd", fp32(d.rows));
    b.vector("fused_rms_norm", n, 4, b.act(n), b.act(n) + fp32(d.rows));
    b.save_input(0);
    return;
  }
  b.save("x_fp32", fp32(n));
  b.vector("cast", n, 1, b.act(n), fp32(n));
  const Handle squares = b.open("squares", fp32(n));
  b.vector("pow", n, 1, fp32(n), fp32(n));
  const Handle mean = b.open("mean", fp32(d.rows));
  b.vector("mean", n, 1, fp32(n), fp32(d.rows));
  b.close(squares);
  b.vector("add", d.rows, 1, fp32(d.rows), fp32(d.rows));
  b.save("rstd", fp32(d.rows));
  b.vector("rsqrt", d.rows, 4, fp32(d.rows), fp32(d.rows));
  b.close(mean);
  const Handle normed = b.open("normed_fp32", fp32(n));
  b.vector("mul", n, 1, fp32(n) + fp32(d.rows), fp32(n));
  b.vector("cast", n, 1, fp32(n), b.act(n));
  b.close(normed);
}

void rms_norm_backward(LoweringBuilder& b) {
  const OpDesc& d = b.desc();
  const std::int64_t n = d.rows * d.cols;
  if (b.software().fuses("rms_norm")) {
    b.vector("fused_rms_norm_backward", n, 8, 2 * b.act(n) + fp32(d.rows), b.act(n));
    return;
  }
  const Handle dy = b.open("dy_fp32", fp32(n));
  b.vector("cast", n, 1, b.act(n), fp32(n));
  const Handle direct = b.open("dx_direct", fp32(n));
  b.vector("mul", n, 1, fp32(n) + fp32(d.rows), fp32(n));
  const Handle product = b.open("dy_x", fp32(n));
  b.vector("mul", n, 1, 2 * fp32(n), fp32(n));
  b.close(dy);
  const Handle rows = b.open("drstd", 2 * fp32(d.rows));
  b.vector("sum", n, 1, fp32(n), fp32(d.rows));
  b.close(product);
  b.vector("rsqrt_backward", d.rows, 4, 2 * fp32(d.rows), fp32(d.rows));
  b.vector("div", d.rows, 1, fp32(d.rows), fp32(d.rows));
  const Handle doubled = b.open("two_x", fp32(n));
  b.vector("mul", n, 1, fp32(n), fp32(n));
  const Handle through = b.open("dx_mean", fp32(n));
  b.vector("mul", n, 1, fp32(n) + fp32(d.rows), fp32(n));
  b.close(doubled);
  b.close(rows);
  b.vector("add", n, 1, 2 * fp32(n), fp32(n));
  b.close(through);
  b.vector("cast", n, 1, fp32(n), b.act(n));
  b.close(direct);
}

// y1 = x1*cos + x2*sin; y2 = x1*(-sin) + x2*cos; cat. Tables do not need gradients, so only -sin is
// kept.
void rotary(LoweringBuilder& b) {
  const OpDesc& d = b.desc();
  const std::int64_t n = d.batch * d.time * d.heads * d.head_dim, half = n / 2;
  const std::int64_t table = d.time * (d.head_dim / 2);
  if (b.software().fuses("rotary")) {
    b.vector("fused_rotary", n, 3, b.act(n + 2 * table), b.act(n));
    return;
  }
  const std::uint64_t h = b.act(half), t = b.act(table);
  const Handle view = b.software().copies_views.value ? b.open("view", h) : 0;
  const auto multiply = [&] {  // half a head lies together
    if (b.software().copies_views.value) b.copy_strided("copy", half, d.head_dim / 2);
    b.vector("mul", half, 1, h + t, h);
  };
  Handle sums[2];
  for (int part = 0; part < 2; ++part) {
    if (part == 1) {
      b.save("minus_sin", t);
      b.vector("neg", table, 1, t, t);
    }
    const Handle left = b.open("x1_part", h);
    multiply();
    const Handle right = b.open("x2_part", h);
    multiply();
    sums[part] = b.open("half", h);
    b.vector("add", half, 1, 2 * h, h);
    b.close(left);
    b.close(right);
  }
  b.vector("cat", n, 0, 2 * h, b.act(n));
  for (const Handle sum : sums) b.close(sum);
  if (b.software().copies_views.value) b.close(view);
}

void rotary_backward(LoweringBuilder& b) {
  const OpDesc& d = b.desc();
  const std::int64_t n = d.batch * d.time * d.heads * d.head_dim, half = n / 2;
  const std::int64_t table = d.time * (d.head_dim / 2);
  if (b.software().fuses("rotary")) {
    b.vector("fused_rotary_backward", n, 3, b.act(n + 2 * table), b.act(n));
    return;
  }
  const std::uint64_t h = b.act(half), t = b.act(table);
  // Each slice's backward writes a zero-filled full tensor; the two are added. dy's halves are
  // views too (cat's backward).
  const bool copies = b.software().copies_views.value;
  const Handle view = copies ? b.open("view", h) : 0;
  const auto multiply = [&] {
    if (copies) b.copy_strided("copy", half, d.head_dim / 2);
    b.vector("mul", half, 1, h + t, h);
  };
  Handle full[2];
  for (int part = 0; part < 2; ++part) {
    const Handle left = b.open("dx_part_a", h);
    multiply();
    const Handle right = b.open("dx_part_b", h);
    multiply();
    b.vector("add", half, 1, 2 * h, h);
    b.close(right);
    full[part] = b.open("slice_backward", b.act(n));
    b.vector("zero", n, 0, 0, b.act(n));
    b.copy_strided("copy", half, d.head_dim / 2);
    b.close(left);
  }
  if (copies) b.close(view);
  b.vector("add", n, 1, 2 * b.act(n), b.act(n));
  for (const Handle f : full) b.close(f);
}

// Without a fused operator: scores, mask, softmax and the product with V as kernels of their own.
void attention(LoweringBuilder& b) {
  if (b.software().fuses("attention")) return lower_fused_attention(b);
  const OpDesc& d = b.desc();
  const std::int64_t keys = scored_keys(d), groups = d.batch * d.heads;
  const std::int64_t n = groups * d.time * keys;
  const DType in = b.numerics().matmul_inputs;
  const Handle scores = b.open("scores", b.act(n));
  b.product("bmm", groups, d.time, keys, d.head_dim, in);
  b.vector("mul", n, 1, b.act(n), b.act(n));
  b.vector("masked_fill", n, 1, b.act(n), b.act(n));
  b.save("probabilities", b.act(n));
  b.vector("softmax", n, 8, b.act(n), b.act(n));
  b.close(scores);
  b.product("bmm", groups, d.time, d.head_dim, keys, in);
  for (std::size_t i = 0; i < 3; ++i) b.save_input(i);
}

void attention_backward(LoweringBuilder& b) {
  if (b.software().fuses("attention")) return lower_fused_attention_backward(b);
  const OpDesc& d = b.desc();
  const std::int64_t keys = d.key_time > 0 ? d.key_time : d.time, groups = d.batch * d.heads;
  const std::int64_t n = groups * d.time * keys;
  const DType in = b.numerics().matmul_inputs;
  b.product("bmm", groups, keys, d.head_dim, d.time, in);  // dv
  const Handle dp = b.open("dp", b.act(n));
  b.product("bmm", groups, d.time, keys, d.head_dim, in);
  const Handle ds = b.open("ds", b.act(n));
  b.vector("softmax_backward", n, 4, 2 * b.act(n), b.act(n));
  b.close(dp);
  b.vector("masked_fill", n, 1, b.act(n), b.act(n));
  b.vector("mul", n, 1, b.act(n), b.act(n));
  b.product("bmm", groups, d.time, d.head_dim, keys, in);  // dq
  b.product("bmm", groups, keys, d.head_dim, d.time, in);  // dk
  b.close(ds);
}

// F.relu keeps its result, which is what pow keeps too.
void relu_squared(LoweringBuilder& b) {
  const std::int64_t n = b.desc().rows * b.desc().cols;
  b.save("relu", b.act(n));
  b.vector("relu", n, 1, b.act(n), b.act(n));
  b.vector("pow", n, 1, b.act(n), b.act(n));
}

void relu_squared_backward(LoweringBuilder& b) {
  const std::int64_t n = b.desc().rows * b.desc().cols;
  const Handle doubled = b.open("two_relu", b.act(n));
  b.vector("mul", n, 1, b.act(n), b.act(n));
  const Handle dpow = b.open("drelu", b.act(n));
  b.vector("mul", n, 1, 2 * b.act(n), b.act(n));
  b.close(doubled);
  b.vector("threshold_backward", n, 1, 2 * b.act(n), b.act(n));
  b.close(dpow);
}

void add(LoweringBuilder& b) {
  const std::int64_t n = b.desc().rows * b.desc().cols;
  b.vector("add", n, 1, 2 * b.act(n), b.act(n));
}

}  // namespace nb::eager
