// What the host computes for one op of the device, as a plain value: which kernel, on which values,
// rounded how. Recorded by a Program, which runs it later, alone or together with its neighbours.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/rng.hpp"
#include "model/device/numerics.hpp"
#include "model/device/op_desc.hpp"
#include "model/device/tensor.hpp"
#include "model/host/cached_rows.hpp"
#include "model/kernels/attention.hpp"
#include "model/kernels/objectives.hpp"
#include "model/kernels/rms_norm.hpp"
#include "model/kernels/rotary.hpp"

namespace nb::host {

using Values = std::shared_ptr<HostValues>;

// Operands by kind, in this order ("?": may be null, then nobody wants it):
//   embedding                 in table             out y           ids
//   embedding_backward        in dy                out dtable      ids, accumulate
//   rms_norm                  in x                 out y, rstd?    width, epsilon
//   rms_norm_backward         in dy, x, rstd       out dx          width
//   linear                    in x, w              out y
//   linear_backward_input     in dy, w             out dx
//   linear_backward_weight    in dy, x             out dw          accumulate
//   rotary, rotary_backward   in x, cos, sin       out y           rotary, or positions
//   attention                 in q, k, v           out y, max?, sum?    attention, or cached_keys
//   kv_cache_append           in k, v              out -: into caches   cache_write
//   attention_backward        in dy, q, k, v, y, max, sum   out dq, dk, dv            attention
//   relu_squared              in x                 out y
//   relu_squared_backward     in dy, x             out dx
//   add, add_backward         in a, b              out y
//   silu, gelu, sigmoid       in x                 out y
//   silu_, gelu_backward      in dy, x             out dx
//   sigmoid_backward          in dy, y             out dx
//   multiply, _backward       in a, b              out y
//   scale, _backward_input    in x, factors?       out y           scale, or index
//   scale_backward_factor     in dy, x             out dfactors    index, accumulate
//   apply_gain, _backward_input   in x, gain       out y
//   apply_gain_backward_gain  in dy, x             out dgain       accumulate
//   add_bias                  in x, bias           out y
//   add_bias_backward         in dy                out dbias       accumulate
//   layer_norm                in x, gain, bias     out y, mean?, rstd?               epsilon
//   layer_norm_backward_input     in dy, x, gain, mean, rstd   out dx
//   layer_norm_backward_weights   in dy, x, mean, rstd         out dgain?, dbias?    accumulate
//   gate_heads, _backward_input   in x, gate       out y
//   gate_heads_backward_gate  in dy, x             out dgate
//   first_columns, _backward  in x                 out y
//   previous_rows, _backward  in x                 out y           time
//   dropout, _backward        in x                 out y           scale: rate, rng
//   softcap_cross_entropy     in logits            out loss?, max?, sum?    ids: targets, width,
//                                     softcap, caps_in_fp32, per_row: a loss a row, not their mean
//   softcap_cross_entropy_backward   in logits, max, sum, dlosses?   out dlogits
//                                     the same; scale, where the gradients of the losses are not
//                                     given
//   weighted_sum, policy_loss, preference_loss
//                             in losses            out loss, dlosses?       objective, scale
struct Op {
  OpKind kind{};
  std::string label = {};
  DType dtype = DType::kFp32;                // as in the OpDesc
  const NumericsPolicy* numerics = nullptr;  // of the use in which it was recorded
  std::array<Values, 7> in = {};
  std::array<Values, 3> out = {};
  std::int64_t width = 0;  // of a norm's rows, which may be heads; columns of tokens (0: all)
  kernels::RotaryShape rotary = {};
  std::vector<std::int64_t> positions = {};  // of every row, instead of rotary
  kernels::AttentionShape attention = {};
  std::shared_ptr<CachedKeys> cached_keys = {};  // of an attention over caches
  std::shared_ptr<const CacheWrite> cache_write = {};
  std::shared_ptr<const std::vector<int>> ids = {};
  float softcap = 0;  // 0: none
  bool caps_in_fp32 = false;
  bool per_row = false;
  double scale = 1;         // of the mean loss; a constant factor
  bool accumulate = false;  // out is added to
  float epsilon = kernels::kRmsNormEpsilon;
  std::int64_t index = 0;  // of a factor in its vector
  std::int64_t time = 0;   // rows of a sequence
  std::optional<Rng> rng = {};
  std::shared_ptr<const kernels::Objective> objective = {};
};

}  // namespace nb::host
