// What an op is, for the simulated device: its kind and its sizes. One table lists every kind with
// the meaning of its sizes; lowering and cost must know all of them, or the build or a test
// fails. Nothing here computes. Plain values, thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "model/tensor/dtype.hpp"
#include "model/tensor/policy_form.hpp"

namespace nb {

class Tensor;

// X(enumerator, name, inputs in this order | output, meaning of the sizes)
// "act": activations in the policy's storage dtype. "master": weights in desc.dtype (fp32; wte
// bf16).
#define NB_OP_KINDS(X)                                                                            \
  X(kEmbedding, "embedding", "ids | y",                                                           \
    "y (rows, cols) act: rows ids looked up in a table (vocab, cols) of dtype")                   \
  X(kEmbeddingBackward, "embedding_backward", "dy | dw",                                          \
    "dw (vocab, cols) of dtype, summed over rows ids; accumulate: into an existing dw")           \
  X(kRmsNorm, "rms_norm", "x | y", "x, y (rows, cols) act; rstd (rows) fp32")                     \
  X(kRmsNormBackward, "rms_norm_backward", "dy | dx", "dy, dx (rows, cols) act")                  \
  X(kLinear, "linear", "x, w | y",                                                                \
    "y (rows, cols) act = x (rows, inner) wᵀ; w (cols, inner) master of dtype")                   \
  X(kLinearBackwardInput, "linear_backward_input", "dy, w | dx",                                  \
    "dx (rows, inner) act = dy (rows, cols) w; w (cols, inner)")                                  \
  X(kLinearBackwardWeight, "linear_backward_weight", "dy, x | dw",                                \
    "dw (cols, inner) of dtype = dyᵀ (rows, cols) x (rows, inner); accumulate: added to dw")      \
  X(kRotary, "rotary", "x | y",                                                                   \
    "x, y (batch, time, heads, head_dim) act; one call for q, one for k")                         \
  X(kRotaryBackward, "rotary_backward", "dy | dx", "(batch, time, heads, head_dim) act")          \
  X(kAttention, "attention", "q, k, v | y",                                                       \
    "causal; q, y (batch, time, heads, head_dim), k, v (batch, key_time, kv_heads, head_dim); "   \
    "key_time 0: time; window; ragged batches: batch 1, rows and keys of all, pairs")             \
  X(kAttentionBackward, "attention_backward", "dy | dq",                                          \
    "as attention; dq, dk, dv are the caller's")                                                  \
  X(kReluSquared, "relu_squared", "x | y", "(rows, cols) act")                                    \
  X(kReluSquaredBackward, "relu_squared_backward", "dy | dx", "(rows, cols) act")                 \
  X(kSilu, "silu", "x | y", "(rows, cols) act")                                                   \
  X(kSiluBackward, "silu_backward", "dy, x | dx", "(rows, cols) act")                             \
  X(kGelu, "gelu", "x | y", "(rows, cols) act, tanh form")                                        \
  X(kGeluBackward, "gelu_backward", "dy, x | dx", "(rows, cols) act")                             \
  X(kSigmoid, "sigmoid", "x | y", "(rows, cols) act")                                             \
  X(kSigmoidBackward, "sigmoid_backward", "dy, y | dx", "(rows, cols) act")                       \
  X(kMultiply, "multiply", "a, b | y", "(rows, cols) act, element by element")                    \
  X(kMultiplyBackward, "multiply_backward", "dy, b | da",                                         \
    "(rows, cols) act; one call for a, one for b")                                                \
  X(kScale, "scale", "x, factor | y", "(rows, cols) act times one number or parameter")           \
  X(kScaleBackwardInput, "scale_backward_input", "dy, factor | dx", "(rows, cols) act")           \
  X(kScaleBackwardFactor, "scale_backward_factor", "dy, x | dfactor",                             \
    "sum over dy, x (rows, cols) act into one of `count` elements of dtype; accumulate: added")   \
  X(kApplyGain, "apply_gain", "x, gain | y", "(rows, cols) act times gain (cols)")                \
  X(kApplyGainBackwardInput, "apply_gain_backward_input", "dy, gain | dx",                        \
    "(rows, cols) act times gain (cols)")                                                         \
  X(kApplyGainBackwardGain, "apply_gain_backward_gain", "dy, x | dgain",                          \
    "dgain (cols) of dtype, summed over rows of dy, x (rows, cols) act; accumulate: added")       \
  X(kAddBias, "add_bias", "x, bias | y", "(rows, cols) act plus bias (cols)")                     \
  X(kAddBiasBackward, "add_bias_backward", "dy | dbias",                                          \
    "dbias (cols) of dtype, summed over rows of dy (rows, cols) act; accumulate: added")          \
  X(kLayerNorm, "layer_norm", "x, gain, bias | y",                                                \
    "x, y (rows, cols) act, gain, bias (cols); mean, rstd (rows) fp32")                           \
  X(kLayerNormBackwardInput, "layer_norm_backward_input", "dy, x, gain | dx",                     \
    "(rows, cols) act, gain (cols)")                                                              \
  X(kLayerNormBackwardWeights, "layer_norm_backward_weights", "dy, x | dgain, dbias",             \
    "`tensors` of dgain, dbias (cols) of dtype over rows of (rows, cols) act; accumulate: added") \
  X(kGateHeads, "gate_heads", "x, gate | y",                                                      \
    "x, y (rows, heads, head_dim) act, gate (rows, heads) act")                                   \
  X(kGateHeadsBackwardInput, "gate_heads_backward_input", "dy, gate | dx", "as gate_heads")       \
  X(kGateHeadsBackwardGate, "gate_heads_backward_gate", "dy, x | dgate",                          \
    "dy, x (rows, heads, head_dim) act, dgate (rows, heads) act")                                 \
  X(kFirstColumns, "first_columns", "x | y", "y (rows, cols) of x (rows, inner) act")             \
  X(kFirstColumnsBackward, "first_columns_backward", "dy | dx",                                   \
    "dx (rows, inner) act: dy (rows, cols) and zeros")                                            \
  X(kPreviousRows, "previous_rows", "x | y",                                                      \
    "(rows, cols) act in sequences of `time`: the row before, zeros in the first")                \
  X(kPreviousRowsBackward, "previous_rows_backward", "dy | dx",                                   \
    "(rows, cols) act in sequences of `time`: the row behind, zeros in the last")                 \
  X(kDropout, "dropout", "x | y", "(rows, cols) act; keeps a byte an element")                    \
  X(kDropoutBackward, "dropout_backward", "dy | dx", "(rows, cols) act")                          \
  X(kAdd, "add", "a, b | y", "residual sum, (rows, cols) act")                                    \
  X(kAddBackward, "add_backward", "da, db | dx",                                                  \
    "sum of the gradients that reach one tensor by two ways, (rows, cols) act")                   \
  X(kSoftcapCrossEntropy, "softcap_cross_entropy", "logits, targets | loss",                      \
    "logits (rows, vocab) act → soft-cap → fp32 → loss of each row or their mean")                \
  X(kSoftcapCrossEntropyBackward, "softcap_cross_entropy_backward", "dloss | dlogits",            \
    "dlogits (rows, vocab) act")                                                                  \
  X(kWeightedSum, "weighted_sum", "losses | loss", "weighted sum of rows fp32")                   \
  X(kWeightedSumBackward, "weighted_sum_backward", "dloss | dlosses", "dlosses rows fp32")        \
  X(kPolicyLoss, "policy_loss", "losses | loss",                                                  \
    "policy objective of rows fp32, form; has_second_term: a divergence from a reference")        \
  X(kPolicyLossBackward, "policy_loss_backward", "dloss | dlosses",                               \
    "dlosses rows fp32, form; has_second_term")                                                   \
  X(kPreferenceLoss, "preference_loss", "losses | loss",                                          \
    "`count` pairs of answers of rows fp32; has_second_term: smoothed labels")                    \
  X(kPreferenceLossBackward, "preference_loss_backward", "dloss | dlosses",                       \
    "dlosses rows fp32, of `count` pairs; has_second_term")                                       \
  X(kLogits, "logits", "logits | capped", "soft-cap alone, (rows, vocab) act")                    \
  X(kLogProbabilities, "log_probabilities", "logits, targets | log_probs",                        \
    "fp32 log-softmax gathered at the targets, and argmax, of (rows, vocab) capped logits")       \
  X(kSample, "sample", "logits | ids",                                                            \
    "top-k, softmax and one draw a row of (rows, vocab) logits")                                  \
  X(kKvCacheAppend, "kv_cache_append", "k, v | cache",                                            \
    "copies k and v (batch, time, kv_heads, head_dim) into the cache")                            \
  X(kGradNorm, "grad_norm", "grads | norm",                                                       \
    "L2 norm over `tensors` gradients of `count` elements together, of dtype")                    \
  X(kGradScale, "grad_scale", "grads | grads",                                                    \
    "in place over `count` elements in `tensors` tensors")                                        \
  X(kAdamW, "adamw", "p, g, m, v | p",                                                            \
    "`count` elements in `tensors` tensors; p, g, m, v of dtype")                                 \
  X(kMuonMomentum, "muon_momentum", "g, buffer | u",                                              \
    "buffer and Nesterov update of one (rows, cols) matrix, fp32")                                \
  X(kNewtonSchulz, "newton_schulz", "u | x",                                                      \
    "5 iterations on one (rows, cols) matrix in the policy's Muon dtype; iterations 0: 5")        \
  X(kMuonUpdate, "muon_update", "p, x | p", "p (rows, cols) fp32 -= lr × scale × x")              \
  X(kZero, "zero", "| y", "`count` elements of dtype set to 0")                                   \
  X(kCast, "cast", "x | y", "`count` elements from dtype to to_dtype")                            \
  X(kRandomInit, "random_init", "| y", "`count` elements of dtype drawn")                         \
  X(kHostToDevice, "host_to_device", "| y", "`count` elements of dtype over the host link")       \
  X(kDeviceToHost, "device_to_host", "x |", "`count` elements of dtype; the host waits for them") \
  X(kAllReduce, "all_reduce", "x | x", "`count` elements of dtype on every rank")                 \
  X(kReduceScatter, "reduce_scatter", "x | y",                                                    \
    "`count` elements of dtype in all, count / ranks out")                                        \
  X(kAllGather, "all_gather", "x | y", "`count` elements of dtype in all, count / ranks in")      \
  X(kBroadcast, "broadcast", "x | x", "`count` elements of dtype")                                \
  X(kAllToAll, "all_to_all", "x | y", "`count` elements of dtype, one piece for every rank")      \
  X(kSendReceive, "send_receive", "x | y", "`count` elements of dtype from one rank to another")  \
  X(kBarrier, "barrier", "|", "no sizes")

enum class OpKind : std::uint8_t {
#define NB_OP_ENUMERATOR(enumerator, name, operands, meaning) enumerator,
  NB_OP_KINDS(NB_OP_ENUMERATOR)
#undef NB_OP_ENUMERATOR
};

struct OpKindInfo {
  OpKind kind;
  std::string_view name;      // also the op's name in profiles (fused_operators) and traces
  std::string_view operands;  // "inputs | output"
  std::string_view meaning;   // of the sizes
};
std::span<const OpKindInfo> op_kinds();  // in enumerator order
std::string_view name(OpKind kind);
bool is_backward(OpKind kind);  // launched by autograd's engine, not by the model's own code

// Sizes in elements; those that a kind does not name stay 0. Costs and memory are functions of
// these values and the profile alone, never of data.
struct OpDesc {
  OpKind kind{};
  std::string_view label;  // "h.3.attn.c_q": shown in traces and errors; must outlive the call only
  std::int64_t batch = 0;
  std::int64_t time = 0;
  std::int64_t key_time = 0;  // keys of an attention; 0: time. Ragged: those that are seen
  // Visible (query, key) pairs of a head of an attention over a ragged batch, where they do not
  // follow from time, key_time and window; 0: they do. Then, of them, what stays without a window.
  std::int64_t pairs = 0;
  std::int64_t scored_pairs = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t window = 0;  // keys before its own that a query of an attention sees; 0: all
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t inner = 0;
  std::int64_t vocab = 0;
  // Columns of a head's logits, of which the first `vocab` are tokens and the rest is sliced off;
  // 0: vocab.
  std::int64_t padded_vocab = 0;
  bool has_softcap = true;    // the head's logits are capped
  bool caps_in_fp32 = false;  // they are upcast before, and stay fp32
  bool has_second_term = false;
  PolicyForm policy_form = PolicyForm::kClippedRatio;
  std::int64_t count = 0;
  std::int64_t tensors = 1;
  std::int64_t iterations = 0;
  DType dtype = DType::kFp32;
  DType to_dtype = DType::kFp32;
  bool accumulate = false;
  // True in a forward pass that a backward pass follows: Device::run then returns what the software
  // stack keeps for it. False (evaluation): everything that the lowering made is freed.
  bool saves_for_backward = false;
  // Tensors of the call, in the order of the table. Needed only where the stack keeps operands for
  // backward: run() then holds their simulated blocks. Null: nothing is
  // held.
  std::array<const Tensor*, 4> inputs{};
  const Tensor* output = nullptr;
};

// Visible pairs of causal attention by `queries`, the last of which stands at the last of `keys`,
// and the keys that any of them sees.
std::int64_t visible_pairs(std::int64_t queries, std::int64_t keys, std::int64_t window);
std::int64_t visible_keys(std::int64_t queries, std::int64_t keys, std::int64_t window);

}  // namespace nb
