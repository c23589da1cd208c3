// Ops that eager and compiled stacks launch alike.
#include "model/device/lowering_rows.hpp"

namespace nb {
namespace {

// Autocast makes a low-precision copy of an fp32 weight and keeps it for backward.
bool casts_weight(const LoweringBuilder& b) {
  return storage_bytes(b.desc().dtype) != storage_bytes(b.numerics().matmul_inputs);
}

// Without autocast a product of a bf16 activation and an fp32 weight runs in fp32: the activation
// is cast for it, and the result back (aclnnMatmul promotes; op-plugin LinearKernelNpuOpApi.cpp and
// MatmulKernelNpuOpApi.cpp @ 517f2e7d give the result the type of the input).
bool promotes(const LoweringBuilder& b) {
  const NumericsPolicy& n = b.numerics();
  return n.linear_inputs && storage_bytes(b.desc().dtype) >= storage_bytes(*n.linear_inputs) &&
         storage_bytes(*n.linear_inputs) > storage_bytes(n.storage);
}

// (rows, out) = (rows, in) × the weight.
void promoted_product(LoweringBuilder& b, std::int64_t rows, std::int64_t out, std::int64_t in) {
  const DType wide = *b.numerics().linear_inputs;
  const auto x = b.open("x_promoted", b.bytes(rows * in, wide));
  b.vector("cast", rows * in, 1, b.act(rows * in), b.bytes(rows * in, wide));
  const auto y = b.open("y_promoted", b.bytes(rows * out, wide));
  b.product("mm", 1, rows, out, in, wide);
  b.close(x);
  b.vector("cast", rows * out, 1, b.bytes(rows * out, wide), b.act(rows * out));
  b.close(y);
}

std::int64_t keys(const OpDesc& d) { return d.key_time > 0 ? d.key_time : d.time; }

// Visible (query, key) pairs of causal attention, per head: the last query sees every key.
double visible_pairs(const OpDesc& d) {
  if (d.pairs > 0) return static_cast<double>(d.pairs);
  if (d.window > 0) return static_cast<double>(nb::visible_pairs(d.time, keys(d), d.window));
  const auto t = static_cast<double>(d.time);
  const auto k = static_cast<double>(keys(d));
  return t * (k - t) + t * (t + 1) / 2;
}

double attention_flops(const OpDesc& d) {  // two products
  return 4.0 * static_cast<double>(d.batch * d.heads * d.head_dim) * visible_pairs(d);
}

std::int64_t query_count(const OpDesc& d) { return d.batch * d.time * d.heads * d.head_dim; }
std::int64_t key_count(const OpDesc& d) {
  const std::int64_t seen = d.pairs > 0 ? keys(d) : visible_keys(d.time, keys(d), d.window);
  return d.batch * seen * d.kv_heads * d.head_dim;
}

}  // namespace

void lower_linear(LoweringBuilder& b) {
  const OpDesc& d = b.desc();
  const DType in = b.numerics().matmul_inputs;
  if (promotes(b)) {
    promoted_product(b, d.rows, d.cols, d.inner);
    b.save_input(0);
    return;
  }
  if (casts_weight(b)) {
    const std::int64_t weights = d.cols * d.inner;
    b.save("weight_cast", b.bytes(weights, in));
    b.vector("cast", weights, 1, b.bytes(weights, d.dtype), b.bytes(weights, in));
  }
  b.product("mm", 1, d.rows, d.cols, d.inner, in);
  b.save_input(0);
}

void lower_linear_backward_input(LoweringBuilder& b) {
  const OpDesc& d = b.desc();
  if (promotes(b)) return promoted_product(b, d.rows, d.inner, d.cols);
  b.product("mm", 1, d.rows, d.inner, d.cols, b.numerics().matmul_inputs);
}

void lower_linear_backward_weight(LoweringBuilder& b) {
  const OpDesc& d = b.desc();
  const DType in = b.numerics().matmul_inputs;
  const std::int64_t weights = d.cols * d.inner;
  const bool casts = casts_weight(b);
  LoweringBuilder::Handle low = 0, fresh = 0;
  if (casts) low = b.open("dw_low", b.bytes(weights, in));
  if (d.accumulate) fresh = b.open("dw_new", b.bytes(weights, d.dtype));
  b.product("mm", 1, d.cols, d.inner, d.rows, in);
  if (casts) {
    b.vector("cast", weights, 1, b.bytes(weights, in), b.bytes(weights, d.dtype));
    b.close(low);
  }
  if (d.accumulate) {
    b.vector("accumulate_grad", weights, 1, 2 * b.bytes(weights, d.dtype),
             b.bytes(weights, d.dtype));
    b.close(fresh);
  }
}

void lower_fused_attention(LoweringBuilder& b) {
  const OpDesc& d = b.desc();
  const std::int64_t rows = d.batch * d.heads * d.time;
  // Heads lie side by side in a row of q, k and v; a stack that copies strided operands puts each
  // head's rows together first, and the result back (BNSD for npu_fusion_attention).
  const bool copies = b.software().copies_views.value;
  LoweringBuilder::Handle copied[4] = {};
  if (copies) {
    for (std::size_t i = 0; i < 3; ++i) {
      const std::int64_t count = i == 0 ? query_count(d) : key_count(d);
      copied[i] = b.open("heads_together", b.act(count));
      b.copy_strided("transpose", count, d.head_dim);
    }
    copied[3] = b.open("heads_result", b.act(query_count(d)));
  }
  const std::int64_t kept = rows * b.software().attention_row_values.whole();
  const std::int64_t side = b.software().attention_mask_side.whole();
  if (side > 0) {
    b.save("attention_mask", static_cast<std::uint64_t>(side * side));
    b.vector("triu", side * side, 1, 0, static_cast<std::uint64_t>(side * side));
  }
  b.save("logsumexp", LoweringBuilder::fp32(kept));
  b.attention("fused_attention", attention_flops(d), b.act(query_count(d) + 2 * key_count(d)),
              b.act(query_count(d)) + LoweringBuilder::fp32(kept), false);
  if (copies) {
    for (std::size_t i = 0; i < 3; ++i) b.close(copied[i]);
    b.copy_strided("transpose", query_count(d), d.head_dim);
    b.close(copied[3]);
  }
  for (std::size_t i = 0; i < 3; ++i) b.save_input(i);
  b.save_output();
}

void lower_fused_attention_backward(LoweringBuilder& b) {
  const OpDesc& d = b.desc();
  const std::int64_t rows = d.batch * d.heads * d.time;
  const std::uint64_t queries = b.act(query_count(d)), key_bytes = b.act(key_count(d));
  // delta = Σ dy·y, then five products over the visible pairs (scores again, dp, dq, dk, dv). dq is
  // summed in fp32 (flash attention's dq accumulator).
  const bool copies = b.software().copies_views.value;
  LoweringBuilder::Handle together = 0;
  if (copies) {  // dy, and q, k and v again: what was put together was not kept
    together = b.open("heads_together", 2 * queries + 2 * key_bytes);
    for (std::size_t i = 0; i < 4; ++i)
      b.copy_strided("transpose", i < 2 ? query_count(d) : key_count(d), d.head_dim);
  }
  const auto delta = b.open("delta", LoweringBuilder::fp32(rows));
  b.vector("attention_delta", query_count(d), 2, 2 * queries, LoweringBuilder::fp32(rows));
  const auto sum = b.open("dq_sum", LoweringBuilder::fp32(query_count(d)));
  b.attention("fused_attention_backward", 2.5 * attention_flops(d), 3 * queries + 2 * key_bytes,
              LoweringBuilder::fp32(query_count(d)) + 2 * key_bytes, true);
  b.close(delta);
  b.vector("cast", query_count(d), 1, LoweringBuilder::fp32(query_count(d)), queries);
  b.close(sum);
  if (!copies) return;
  for (std::size_t i = 0; i < 3; ++i)
    b.copy_strided("transpose", i == 0 ? query_count(d) : key_count(d), d.head_dim);
  b.close(together);
}

void lower_embedding(LoweringBuilder& b) {
  const OpDesc& d = b.desc();
  const std::int64_t n = d.rows * d.cols;
  b.vector("index_select", n, 1, b.bytes(n, d.dtype) + 8 * static_cast<std::uint64_t>(d.rows),
           b.act(n));
}

void lower_embedding_backward(LoweringBuilder& b) {
  const OpDesc& d = b.desc();
  const std::int64_t table = d.vocab * d.cols, n = d.rows * d.cols;
  const auto fresh = d.accumulate ? b.open("dw_new", b.bytes(table, d.dtype)) : 0;
  b.vector("zero", table, 0, 0, b.bytes(table, d.dtype));
  // Sort of the ids (radix, four passes over 8-byte keys and 8-byte positions), then the sums.
  const auto order = b.open("sorted_ids", 32 * static_cast<std::uint64_t>(d.rows));
  b.vector("sort_ids", d.rows, 8, 64 * static_cast<std::uint64_t>(d.rows),
           64 * static_cast<std::uint64_t>(d.rows));
  b.vector("embedding_dense_backward", n, 1, b.act(n), b.bytes(n, d.dtype));
  b.close(order);
  if (d.accumulate) {
    b.vector("accumulate_grad", table, 1, 2 * b.bytes(table, d.dtype), b.bytes(table, d.dtype));
    b.close(fresh);
  }
}

void lower_sample(LoweringBuilder& b) {
  const OpDesc& d = b.desc();
  const std::int64_t n = d.rows * d.vocab;
  const auto top = b.open("topk", LoweringBuilder::fp32(n));
  b.vector("topk", n, 4, logits_bytes(b, n), logits_bytes(b, n));
  b.vector("softmax", n, 8, logits_bytes(b, n), LoweringBuilder::fp32(n));
  b.vector("multinomial", n, 2, LoweringBuilder::fp32(n), 8 * static_cast<std::uint64_t>(d.rows));
  b.close(top);
}

void lower_kv_cache_append(LoweringBuilder& b) {
  const OpDesc& d = b.desc();
  const std::int64_t n = d.batch * d.time * d.kv_heads * d.head_dim;
  b.vector("copy", n, 0, b.act(n), b.act(n));
  b.vector("copy", n, 0, b.act(n), b.act(n));
}

void lower_grad_norm(LoweringBuilder& b) {
  // torch's foreach kernels take the tensors together; then the norm of the norms.
  const OpDesc& d = b.desc();
  const std::uint64_t norms = LoweringBuilder::fp32(d.tensors);
  const auto each = b.open("norms", norms);
  b.vector("foreach_norm", d.count, 2, b.bytes(d.count, d.dtype), norms);
  b.vector("stack_norm", d.tensors, 2, norms, 4);
  b.close(each);
}

void lower_grad_scale(LoweringBuilder& b) {
  const OpDesc& d = b.desc();
  b.vector("foreach_mul", d.count, 1, b.bytes(d.count, d.dtype), b.bytes(d.count, d.dtype));
}

void lower_fused_adamw(LoweringBuilder& b) {
  const OpDesc& d = b.desc();
  b.vector("fused_adamw", d.count, 14, 4 * b.bytes(d.count, d.dtype),
           3 * b.bytes(d.count, d.dtype));
}

void lower_muon_update(LoweringBuilder& b) {
  const OpDesc& d = b.desc();
  const std::int64_t n = d.rows * d.cols;
  b.vector("add", n, 2, LoweringBuilder::fp32(n) + b.bytes(n, b.numerics().muon_matmul),
           LoweringBuilder::fp32(n));
}

void lower_zero(LoweringBuilder& b) {
  b.vector("zero", b.desc().count, 0, 0, b.bytes(b.desc().count, b.desc().dtype));
}

void lower_cast(LoweringBuilder& b) {
  const OpDesc& d = b.desc();
  b.vector("cast", d.count, 1, b.bytes(d.count, d.dtype), b.bytes(d.count, d.to_dtype));
}

void lower_random_init(LoweringBuilder& b) {
  b.vector("random", b.desc().count, 20, 0, b.bytes(b.desc().count, b.desc().dtype));
}

void lower_host_to_device(LoweringBuilder& b) {
  b.copy_over_host_link("copy_host_to_device", b.bytes(b.desc().count, b.desc().dtype));
}

void lower_device_to_host(LoweringBuilder& b) {
  b.copy_over_host_link("copy_device_to_host", b.bytes(b.desc().count, b.desc().dtype));
  b.wait();
}

void lower_collective(LoweringBuilder& b) {
  const OpDesc& d = b.desc();
  b.collective(name(d.kind), b.bytes(d.count, d.dtype));
}

}  // namespace nb
