// What the host computes for one op of the device, as a plain value: which kernel, on which values,
// rounded how. Recorded by a Program, which runs it later, alone or together with its neighbours.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "model/device/numerics.hpp"
#include "model/device/op_desc.hpp"
#include "model/device/tensor.hpp"
#include "model/kernels/attention.hpp"
#include "model/kernels/rotary.hpp"

namespace nb::host {

using Values = std::shared_ptr<HostValues>;

// Operands by kind, in this order ("?": may be null, then nobody wants it):
//   embedding                 in table             out y           ids
//   embedding_backward        in dy                out dtable      ids, accumulate
//   rms_norm                  in x                 out y, rstd?    width
//   rms_norm_backward         in dy, x, rstd       out dx          width
//   linear                    in x, w              out y
//   linear_backward_input     in dy, w             out dx
//   linear_backward_weight    in dy, x             out dw          accumulate
//   rotary, rotary_backward   in x, cos, sin       out y           rotary, or positions
//   attention                 in q, k, v           out y, max?, sum?                  attention
//   attention_backward        in dy, q, k, v, y, max, sum   out dq, dk, dv            attention
//   relu_squared              in x                 out y
//   relu_squared_backward     in dy, x             out dx
//   add, add_backward         in a, b              out y
//   softcap_cross_entropy     in logits            out loss, max?, sum?     ids: targets
//   softcap_cross_entropy_backward   in logits, max, sum   out dlogits      ids, scale
struct Op {
  OpKind kind{};
  std::string label = {};
  DType dtype = DType::kFp32;                // as in the OpDesc
  const NumericsPolicy* numerics = nullptr;  // of the use in which it was recorded
  std::array<Values, 7> in = {};
  std::array<Values, 3> out = {};
  std::int64_t width = 0;  // of a norm's rows, which may be heads
  kernels::RotaryShape rotary = {};
  std::vector<std::int64_t> positions = {};  // of every row, instead of rotary
  kernels::AttentionShape attention = {};
  std::shared_ptr<const std::vector<int>> ids = {};
  float softcap = 0;
  double scale = 1;         // of the mean loss
  bool accumulate = false;  // out is added to
};

}  // namespace nb::host
