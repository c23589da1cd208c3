#include "model/gpt/mlp.hpp"

#include <utility>

#include "model/gpt/linear_backward.hpp"
#include "model/ops/linear.hpp"
#include "model/ops/linear_add.hpp"
#include "model/ops/linear_relu_squared.hpp"

namespace nb {

Tensor mlp_forward(const PassContext& context, const BlockWeights& weights, Tensor n,
                   const Tensor& mid, MlpActivations& a) {
  Device& device = context.device;
  a.n = std::move(n);
  auto [wide, h] = ops::linear_relu_squared(device, a.n, weights.c_fc.value, weights.c_fc.name,
                                            "mlp.relu_squared", context.slot(a.c_fc),
                                            context.slot(a.relu_squared));
  a.wide = std::move(wide);
  a.h = std::move(h);
  a.wide.drop_block();
  const Parameter& proj = weights.mlp_proj;
  const Tensor out = ops::linear(device, a.h, proj.value, proj.name, context.slot(a.c_proj),
                                 ops::Arithmetic::kLater, HostBuffer::kNone);
  for (Tensor* local : {&a.n, &a.h}) local->drop_block();
  Tensor y = ops::add_linear(device, mid, out, a.h, proj.value, "mlp.add", context.slot(a.add));
  if (!context.saves) a = {};
  return y;
}

Tensor mlp_backward(const PassContext& context, const BlockWeights& weights, const Tensor& dy,
                    MlpActivations& a) {
  Device& device = context.device;
  const Parameter& proj = weights.mlp_proj;
  Tensor d = ops::linear_backward_input(device, dy, proj.value, proj.name, ops::Arithmetic::kLater);
  linear_backward_weight(device, dy, a.h, weights.mlp_proj, std::move(a.c_proj));
  a.h = {};
  d = ops::linear_relu_squared_backward(device, dy, proj.value, d, a.wide, "mlp.relu_squared",
                                        std::move(a.relu_squared));
  a.wide = {};
  Tensor dn = linear_backward(device, d, a.n, weights.c_fc, std::move(a.c_fc));
  a.n = {};
  return dn;
}

}  // namespace nb
