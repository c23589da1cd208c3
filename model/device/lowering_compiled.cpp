// What torch.compile (Inductor) makes of the same ops: pointwise chains and row reductions are one
// kernel, products stay library calls, cheap pointwise results are computed again in backward
// instead of kept (min-cut partitioner). Ops outside the compiled function are launched as in
// eager.
#include "model/device/lowering_rows.hpp"

namespace nb::compiled {
namespace {

using Handle = LoweringBuilder::Handle;

void rotary(LoweringBuilder& b, std::string_view kernel) {
  const OpDesc& d = b.desc();
  const std::int64_t n = d.batch * d.time * d.heads * d.head_dim;
  const std::int64_t tables = d.time * d.head_dim;  // cos and sin, half a head each
  b.vector(kernel, n, 3, b.act(n + tables), b.act(n));
}

}  // namespace

void rms_norm(LoweringBuilder& b) {
  const OpDesc& d = b.desc();
  const std::int64_t n = d.rows * d.cols;
  b.save("rstd", fp32(d.rows));
  b.vector("triton_rms_norm", n, 5, b.act(n), b.act(n) + fp32(d.rows));
  b.save_input(0);
}

void rms_norm_backward(LoweringBuilder& b) {
  const OpDesc& d = b.desc();
  const std::int64_t n = d.rows * d.cols;
  b.vector("triton_rms_norm_backward", n, 8, 2 * b.act(n) + fp32(d.rows), b.act(n));
}

void rotary(LoweringBuilder& b) { rotary(b, "triton_rotary"); }
void rotary_backward(LoweringBuilder& b) { rotary(b, "triton_rotary_backward"); }

void relu_squared(LoweringBuilder& b) {
  const std::int64_t n = b.desc().rows * b.desc().cols;
  b.vector("triton_relu_pow", n, 2, b.act(n), b.act(n));
  b.save_input(0);
  b.recompute_output();
}

void relu_squared_backward(LoweringBuilder& b) {
  const std::int64_t n = b.desc().rows * b.desc().cols;
  const Handle again = b.open("relu_squared_again", b.act(n));
  b.vector("triton_relu_pow", n, 2, b.act(n), b.act(n));
  b.vector("triton_relu_pow_backward", n, 3, 2 * b.act(n), b.act(n));
  b.close(again);
}

void add(LoweringBuilder& b) {
  const std::int64_t n = b.desc().rows * b.desc().cols;
  b.vector("triton_add", n, 1, 2 * b.act(n), b.act(n));
}

// One pass caps and upcasts while it finds maximum and sum of each row; the capped fp32 logits are
// kept. Without a cap the logits themselves are, since upcasting again costs nothing.
void cross_entropy(LoweringBuilder& b) {
  const OpDesc& d = b.desc();
  const std::int64_t n = d.rows * d.vocab;
  if (d.has_softcap) {
    b.save("capped_fp32", fp32(n));
    b.save("row_max_and_sum", 2 * fp32(d.rows));
    b.vector("triton_softcap_log_softmax", n, 22, b.act(n), fp32(n) + 2 * fp32(d.rows));
  } else {
    b.save("row_max_and_sum", 2 * fp32(d.rows));
    b.vector("triton_log_softmax", n, 10, b.act(n), 2 * fp32(d.rows));
    b.save_input(0);
  }
  b.vector("triton_nll_loss", d.rows, 2, 20 * static_cast<std::uint64_t>(d.rows), fp32(d.rows));
}

void cross_entropy_backward(LoweringBuilder& b) {
  const OpDesc& d = b.desc();
  const std::int64_t n = d.rows * d.vocab;
  // Zeros where padding was sliced off.
  const std::uint64_t out = b.act(d.rows * (d.padded_vocab > 0 ? d.padded_vocab : d.vocab));
  if (d.has_softcap) {
    b.vector("triton_softcap_log_softmax_backward", n, 14, fp32(n) + 2 * fp32(d.rows), out);
  } else {
    b.vector("triton_log_softmax_backward", n, 10, b.act(n) + 2 * fp32(d.rows), out);
  }
}

void softcap(LoweringBuilder& b) {
  const std::int64_t n = b.desc().rows * b.desc().vocab;
  const std::uint64_t out = logits_bytes(b, n);
  if (!b.desc().has_softcap) return b.vector("triton_cast", n, 1, b.act(n), out);
  b.vector("triton_softcap", n, 12, b.act(n), out);
}

void log_probabilities(LoweringBuilder& b) {
  const OpDesc& d = b.desc();
  const std::int64_t n = d.rows * d.vocab;
  const Handle normal = b.open("log_softmax", fp32(n));
  b.vector("triton_log_softmax", n, 13, logits_bytes(b, n), fp32(n));
  b.vector("triton_nll_loss", d.rows, 1, 12 * static_cast<std::uint64_t>(d.rows), fp32(d.rows));
  b.close(normal);
  b.vector("argmax", n, 1, logits_bytes(b, n), 8 * static_cast<std::uint64_t>(d.rows));
}

void muon_momentum(LoweringBuilder& b) {
  const std::int64_t n = b.desc().rows * b.desc().cols;
  const std::uint64_t both = fp32(n) + b.bytes(n, b.numerics().muon_momentum);
  b.vector("triton_momentum", n, 6, both, both);
}

void newton_schulz(LoweringBuilder& b) {
  const OpDesc& d = b.desc();
  const DType type = b.numerics().muon_matmul;
  const std::int64_t r = d.rows < d.cols ? d.rows : d.cols, n = d.rows * d.cols;
  const std::int64_t iterations = d.iterations > 0 ? d.iterations : 5;
  const std::uint64_t full = b.bytes(n, type), square = b.bytes(r * r, type);
  const Handle x = b.open("x", full);
  b.vector("triton_norm", n, 2, fp32(n), 4);
  b.vector("triton_cast_div", n, 2, fp32(n), full);
  const Handle a = b.open("a", square), a2 = b.open("a2", square), bx = b.open("bx", full);
  for (std::int64_t i = 0; i < iterations; ++i) {
    b.product("mm", 1, r, r, n / r, type);
    b.product("mm", 1, r, r, r, type);
    b.vector("triton_polynomial", r * r, 3, 2 * square, square);
    b.product("mm", 1, r, n / r, r, type);
    b.vector("triton_axpy", n, 2, 2 * full, full);
  }
  for (const Handle block : {x, a, a2, bx}) b.close(block);
}

}  // namespace nb::compiled
