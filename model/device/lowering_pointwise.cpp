// Activations, gains, biases, slices and dropout, in eager and compiled stacks. Eager: the kernels
// that PyTorch launches and what autograd keeps, read off torch's derivatives.yaml (2.4; the entry
// of each function is named below). Compiled: Inductor makes one triton kernel of each. Gains,
// biases and factors are read in the storage dtype; their gradients go to fp32 masters.
#include "model/device/lowering_rows.hpp"

namespace nb {
namespace {

using Handle = LoweringBuilder::Handle;

bool is_compiled(const LoweringBuilder& b) {
  return b.software().mode.value == SoftwareMode::kCompiled;
}
std::string_view either(const LoweringBuilder& b, std::string_view eager,
                        std::string_view compiled) {
  return is_compiled(b) ? compiled : eager;
}

std::int64_t values(const OpDesc& d) { return d.rows * d.cols; }
std::int64_t head_values(const OpDesc& d) { return d.rows * d.heads * d.head_dim; }

// y of x alone, one kernel; autograd keeps x.
void unary(LoweringBuilder& b, std::string_view eager, std::string_view compiled, double flops) {
  const std::int64_t n = values(b.desc());
  b.vector(either(b, eager, compiled), n, flops, b.act(n), b.act(n));
  b.save_input(0);
}
void unary_backward(LoweringBuilder& b, std::string_view eager, std::string_view compiled,
                    double flops) {
  const std::int64_t n = values(b.desc());
  b.vector(either(b, eager, compiled), n, flops, 2 * b.act(n), b.act(n));
}

// How a gradient comes to `count` parameters: in eager mode a kernel leaves it in the storage dtype
// and a cast takes it to theirs; with accumulate it is added to that of the micro-batches before.
class ToParameters {
 public:
  ToParameters(LoweringBuilder& b, std::int64_t count)
      : b_(b),
        count_(count),
        bytes_(b.bytes(count, b.desc().dtype)),
        casts_(!is_compiled(b) && b.desc().dtype != b.numerics().storage) {
    if (casts_) low_ = b.open("dw_low", b.act(count));
    if (b.desc().accumulate) fresh_ = b.open("dw_new", bytes_);
  }
  // What the kernel of the gradient writes.
  std::uint64_t written_bytes() const { return casts_ ? b_.act(count_) : bytes_; }
  void finish() {
    if (casts_) {
      b_.vector("cast", count_, 1, b_.act(count_), bytes_);
      b_.close(low_);
    }
    if (b_.desc().accumulate) {
      b_.vector("accumulate_grad", count_, 1, 2 * bytes_, bytes_);
      b_.close(fresh_);
    }
  }

 private:
  LoweringBuilder& b_;
  std::int64_t count_;
  std::uint64_t bytes_;
  bool casts_;
  LoweringBuilder::Handle low_ = 0, fresh_ = 0;
};

// Σ dy·x of groups of n elements: mul and sum, or one kernel.
void product_and_sum(LoweringBuilder& b, std::int64_t n, std::uint64_t written_bytes) {
  if (is_compiled(b)) return b.vector("triton_mul_sum", n, 2, 2 * b.act(n), written_bytes);
  const Handle product = b.open("dy_x", b.act(n));
  b.vector("mul", n, 1, 2 * b.act(n), b.act(n));
  b.vector("sum", n, 1, b.act(n), written_bytes);
  b.close(product);
}

}  // namespace

// silu: grad, self.
void lower_silu(LoweringBuilder& b) { unary(b, "silu", "triton_silu", 6); }
void lower_silu_backward(LoweringBuilder& b) {
  unary_backward(b, "silu_backward", "triton_silu_backward", 10);
}

// gelu(approximate="tanh"): one kernel; grad, self.
void lower_gelu(LoweringBuilder& b) { unary(b, "gelu", "triton_gelu", 14); }
void lower_gelu_backward(LoweringBuilder& b) {
  unary_backward(b, "gelu_backward", "triton_gelu_backward", 24);
}

// sigmoid: grad, result.
void lower_sigmoid(LoweringBuilder& b) {
  const std::int64_t n = values(b.desc());
  b.vector(either(b, "sigmoid", "triton_sigmoid"), n, 5, b.act(n), b.act(n));
  b.save_output();
}
void lower_sigmoid_backward(LoweringBuilder& b) {
  unary_backward(b, "sigmoid_backward", "triton_sigmoid_backward", 3);
}

// mul.Tensor keeps each operand whose partner wants a gradient, which is a mul again.
void lower_multiply(LoweringBuilder& b) {
  const std::int64_t n = values(b.desc());
  b.vector(either(b, "mul", "triton_mul"), n, 1, 2 * b.act(n), b.act(n));
  b.save_input(0);
  b.save_input(1);
}

// mul.Scalar keeps nothing; mul.Tensor with a parameter of no dimension keeps x for it.
void lower_scale(LoweringBuilder& b) {
  const std::int64_t n = values(b.desc());
  b.vector(either(b, "mul", "triton_mul"), n, 1, b.act(n), b.act(n));
  b.save_input(0);
}

// mul, sum; an element of a vector goes back through select_backward, which is a vector of zeros
// and a copy.
void lower_scale_backward_factor(LoweringBuilder& b) {
  const OpDesc& d = b.desc();
  if (d.count == 1) {
    ToParameters to(b, 1);
    product_and_sum(b, values(d), to.written_bytes());
    return to.finish();
  }
  const Handle sum = b.open("dfactor", b.act(1));
  product_and_sum(b, values(d), b.act(1));
  ToParameters to(b, d.count);
  b.vector("zero", d.count, 0, 0, to.written_bytes());
  b.vector("copy", 1, 0, b.act(1), b.act(1));
  b.close(sum);
  to.finish();
}

// mul.Tensor, gain broadcast over the rows; keeps x for the gain.
void lower_apply_gain(LoweringBuilder& b) {
  const std::int64_t n = values(b.desc());
  b.vector(either(b, "mul", "triton_mul"), n, 1, b.act(n) + b.act(b.desc().cols), b.act(n));
  b.save_input(0);
}
void lower_apply_gain_backward_gain(LoweringBuilder& b) {
  const OpDesc& d = b.desc();
  ToParameters to(b, d.cols);
  product_and_sum(b, values(d), to.written_bytes());
  to.finish();
}

// add.Tensor, bias broadcast over the rows; keeps nothing. A launch of its own: where addmm puts
// the bias behind its product, this one is too dear by a pass over the result.
void lower_add_bias(LoweringBuilder& b) {
  const std::int64_t n = values(b.desc());
  b.vector(either(b, "add", "triton_add"), n, 1, b.act(n) + b.act(b.desc().cols), b.act(n));
}
void lower_add_bias_backward(LoweringBuilder& b) {
  const OpDesc& d = b.desc();
  const std::int64_t n = values(d);
  ToParameters to(b, d.cols);
  b.vector(either(b, "sum", "triton_sum"), n, 1, b.act(n), to.written_bytes());
  to.finish();
}

// native_layer_norm: one kernel in eager mode too; keeps input, mean and rstd. Its backward is a
// kernel for dx and one for both vectors, in their dtype (layer_norm_kernel.cu).
void lower_layer_norm(LoweringBuilder& b) {
  const OpDesc& d = b.desc();
  const std::int64_t n = values(d);
  b.save("mean", fp32(d.rows));
  b.save("rstd", fp32(d.rows));
  b.vector(either(b, "layer_norm", "triton_layer_norm"), n, 8, b.act(n) + 2 * b.act(d.cols),
           b.act(n) + 2 * fp32(d.rows));
  b.save_input(0);
}
void lower_layer_norm_backward_input(LoweringBuilder& b) {
  const OpDesc& d = b.desc();
  const std::int64_t n = values(d);
  b.vector(either(b, "layer_norm_grad_input", "triton_layer_norm_backward"), n, 12,
           2 * b.act(n) + b.act(d.cols) + 2 * fp32(d.rows), b.act(n));
}
void lower_layer_norm_backward_weights(LoweringBuilder& b) {
  const OpDesc& d = b.desc();
  const std::int64_t n = values(d), weights = d.tensors * d.cols;
  const std::uint64_t bytes = b.bytes(weights, d.dtype);
  const Handle fresh = d.accumulate ? b.open("dw_new", bytes) : 0;
  b.vector(either(b, "layer_norm_gamma_beta", "triton_layer_norm_backward_weights"), n, 4,
           2 * b.act(n) + 2 * fp32(d.rows), bytes);
  if (d.accumulate) {
    b.vector("accumulate_grad", weights, 1, 2 * bytes, bytes);
    b.close(fresh);
  }
}

// mul.Tensor of (rows, heads, head_dim) and (rows, heads, 1); keeps both.
void lower_gate_heads(LoweringBuilder& b) {
  const OpDesc& d = b.desc();
  const std::int64_t n = head_values(d);
  b.vector(either(b, "mul", "triton_mul"), n, 1, b.act(n + d.rows * d.heads), b.act(n));
  b.save_input(0);
  b.save_input(1);
}
void lower_gate_heads_backward_gate(LoweringBuilder& b) {
  const OpDesc& d = b.desc();
  product_and_sum(b, head_values(d), b.act(d.rows * d.heads));
}

// A slice is a view, which the next kernel would make contiguous: a copy. slice_backward: zeros
// and a copy.
void lower_first_columns(LoweringBuilder& b) {
  const std::int64_t n = values(b.desc());
  b.vector(either(b, "copy", "triton_slice"), n, 0, b.act(n), b.act(n));
}
void lower_first_columns_backward(LoweringBuilder& b) {
  const OpDesc& d = b.desc();
  const std::int64_t n = values(d), all = d.rows * d.inner;
  if (is_compiled(b)) return b.vector("triton_slice_backward", all, 0, b.act(n), b.act(all));
  b.vector("zero", all, 0, 0, b.act(all));
  b.vector("copy", n, 0, b.act(n), b.act(n));
}

// constant_pad_nd by one row in front and minus one behind: zeros and a copy; its backward is the
// same the other way round. Keeps nothing.
void lower_previous_rows(LoweringBuilder& b) {
  const OpDesc& d = b.desc();
  const std::int64_t n = values(d), moved = n - n / d.time;
  if (is_compiled(b)) return b.vector("triton_shift", n, 0, b.act(moved), b.act(n));
  b.vector("zero", n, 0, 0, b.act(n));
  if (moved > 0) b.vector("copy", moved, 0, b.act(moved), b.act(moved));
}

// native_dropout: one kernel; keeps the mask, a bool an element (Inductor keeps it too: random
// numbers are not drawn again).
void lower_dropout(LoweringBuilder& b) {
  const std::int64_t n = values(b.desc());
  const auto mask = static_cast<std::uint64_t>(n);
  b.save("mask", mask);
  b.vector(either(b, "native_dropout", "triton_dropout"), n, 12, b.act(n), b.act(n) + mask);
}
void lower_dropout_backward(LoweringBuilder& b) {
  const std::int64_t n = values(b.desc());
  b.vector(either(b, "masked_scale", "triton_dropout_backward"), n, 2,
           b.act(n) + static_cast<std::uint64_t>(n), b.act(n));
}

}  // namespace nb
