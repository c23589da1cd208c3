// The eager stack's loss and optimizer rows: what runs once per step, outside the blocks of the
// model.
#include "model/device/lowering_rows.hpp"

namespace nb::eager {
namespace {

using Handle = LoweringBuilder::Handle;

}  // namespace

// logits / 15; tanh; * 15; .float(); log_softmax; nll_loss. The fp32 logits live until the function
// ends. With caps_in_fp32 the cast comes first. Padding is sliced off by a view.
void cross_entropy(LoweringBuilder& b) {
  const OpDesc& d = b.desc();
  const std::int64_t n = d.rows * d.vocab;
  const std::uint64_t size = logits_bytes(b, n);
  const auto upcast = [&] {
    const Handle logits = b.open("logits_fp32", fp32(n));
    b.vector("cast", n, 1, b.act(n), fp32(n));
    return logits;
  };
  Handle logits = 0;
  if (d.caps_in_fp32 || !d.has_softcap) logits = upcast();
  if (d.has_softcap) {
    const Handle scaled = b.open("scaled", size);
    b.vector("div", n, 1, size, size);
    b.save("tanh", size);
    b.vector("tanh", n, 10, size, size);
    b.close(scaled);
    const Handle capped = b.open("capped", size);
    b.vector("mul", n, 1, size, size);
    if (d.caps_in_fp32) {
      b.close(logits);
    } else {
      upcast();
      b.close(capped);
    }
  }
  b.save("log_softmax", fp32(n));
  b.vector("log_softmax", n, 12, fp32(n), fp32(n));
  b.vector("nll_loss", d.rows, 1, 12 * static_cast<std::uint64_t>(d.rows), fp32(d.rows));
}

void cross_entropy_backward(LoweringBuilder& b) {
  const OpDesc& d = b.desc();
  const std::int64_t n = d.rows * d.vocab;
  const Handle picked = b.open("dlog_softmax", fp32(n));
  b.vector("zero", n, 0, 0, fp32(n));
  b.vector("nll_loss_backward", d.rows, 1, 12 * static_cast<std::uint64_t>(d.rows), fp32(d.rows));
  const Handle dlogits = b.open("dlogits_fp32", fp32(n));
  b.vector("log_softmax_backward", n, 10, 2 * fp32(n), fp32(n));
  b.close(picked);
  const bool is_padded = d.padded_vocab > d.vocab;
  Handle sliced = 0;
  const auto downcast = [&] {
    if (is_padded) sliced = b.open("dsliced", b.act(n));
    b.vector("cast", n, 1, fp32(n), b.act(n));
  };
  if (!d.has_softcap) {
    downcast();
    b.close(dlogits);
  } else {
    const std::uint64_t size = logits_bytes(b, n);
    const Handle low = b.open("dcapped", size);
    if (!d.caps_in_fp32) {
      b.vector("cast", n, 1, fp32(n), b.act(n));
      b.close(dlogits);
    }
    b.vector("mul", n, 1, size, size);
    if (d.caps_in_fp32) b.close(dlogits);
    b.vector("tanh_backward", n, 3, 2 * size, size);
    if (is_padded && !d.caps_in_fp32) sliced = b.open("dsliced", b.act(n));
    b.vector("div", n, 1, size, size);
    if (d.caps_in_fp32) downcast();
    b.close(low);
  }
  if (!is_padded) return;
  // slice_backward: a tensor of zeros, and what was sliced out copied into it.
  const std::int64_t all = d.rows * d.padded_vocab;
  b.vector("zero", all, 0, 0, b.act(all));
  b.vector("copy", n, 0, b.act(n), b.act(n));
  b.close(sliced);
}

void softcap(LoweringBuilder& b) {
  const OpDesc& d = b.desc();
  const std::int64_t n = d.rows * d.vocab;
  const std::uint64_t size = logits_bytes(b, n);
  if (!d.has_softcap) return b.vector("cast", n, 1, b.act(n), size);
  Handle logits = 0;
  if (d.caps_in_fp32) {
    logits = b.open("logits_fp32", size);
    b.vector("cast", n, 1, b.act(n), size);
  }
  const Handle scaled = b.open("scaled", size);
  b.vector("div", n, 1, size, size);
  const Handle tanh = b.open("tanh", size);
  b.vector("tanh", n, 10, size, size);
  b.close(scaled);
  b.vector("mul", n, 1, size, size);
  b.close(tanh);
  if (d.caps_in_fp32) b.close(logits);
}

void log_probabilities(LoweringBuilder& b) {
  const OpDesc& d = b.desc();
  const std::int64_t n = d.rows * d.vocab;
  Handle logits = 0;
  if (!d.caps_in_fp32) {
    logits = b.open("logits_fp32", fp32(n));
    b.vector("cast", n, 1, b.act(n), fp32(n));
  }
  const Handle normal = b.open("log_softmax", fp32(n));
  b.vector("log_softmax", n, 12, fp32(n), fp32(n));
  if (!d.caps_in_fp32) b.close(logits);
  b.vector("nll_loss", d.rows, 1, 12 * static_cast<std::uint64_t>(d.rows), fp32(d.rows));
  b.close(normal);
  b.vector("argmax", n, 1, logits_bytes(b, n), 8 * static_cast<std::uint64_t>(d.rows));
}

// nanochat's own AdamW, tensor by tensor: m.mul_, m.add_, v.mul_, v.addcmul_, sqrt, add_, div, mul,
// p.add_. Each stores its result, and so rounds it (kernels/adamw.hpp).
void adamw(LoweringBuilder& b) {
  const OpDesc& d = b.desc();
  if (b.software().fuses("adamw")) return lower_fused_adamw(b);
  const std::uint64_t one = b.bytes(d.count, d.dtype);
  b.vector("mul", d.count, 1, one, one);
  b.vector("add", d.count, 2, 2 * one, one);
  b.vector("mul", d.count, 1, one, one);
  b.vector("addcmul", d.count, 3, 2 * one, one);
  const Handle denominator = b.open("denominator", one);
  b.vector("sqrt", d.count, 4, one, one);
  b.vector("add", d.count, 1, one, one);
  const Handle update = b.open("update", one);
  b.vector("div", d.count, 4, 2 * one, one);
  b.close(denominator);
  b.vector("mul", d.count, 1, one, one);
  b.vector("add", d.count, 2, 2 * one, one);
  b.close(update);
}

void muon_momentum(LoweringBuilder& b) {  // buf.lerp_(g, 1-m); g.lerp_(buf, m)
  const std::int64_t n = b.desc().rows * b.desc().cols;
  const std::uint64_t buffer = b.bytes(n, b.numerics().muon_momentum);
  b.vector("lerp", n, 3, fp32(n) + buffer, buffer);
  b.vector("lerp", n, 3, fp32(n) + buffer, fp32(n));
}

void newton_schulz(LoweringBuilder& b) {
  const OpDesc& d = b.desc();
  const DType type = b.numerics().muon_matmul;
  const std::int64_t r = d.rows < d.cols ? d.rows : d.cols, n = d.rows * d.cols;
  const std::int64_t iterations = d.iterations > 0 ? d.iterations : 5;
  const std::uint64_t full = b.bytes(n, type), square = b.bytes(r * r, type);
  const Handle x = b.open("x", full);
  b.vector("cast", n, 1, fp32(n), full);
  b.vector("norm", n, 2, full, 4);
  b.vector("div", n, 1, full, full);
  const Handle a = b.open("a", square), a2 = b.open("a2", square), bx = b.open("bx", full);
  for (std::int64_t i = 0; i < iterations; ++i) {
    b.product("mm", 1, r, r, n / r, type);
    b.product("mm", 1, r, r, r, type);
    b.vector("mul", r * r, 1, square, square);
    b.vector("mul", r * r, 1, square, square);
    b.vector("add", r * r, 1, 2 * square, square);
    b.product("mm", 1, r, n / r, r, type);
    b.vector("mul", n, 1, full, full);
    b.vector("add", n, 1, 2 * full, full);
  }
  for (const Handle block : {x, a, a2, bx}) b.close(block);
}

}  // namespace nb::eager
