#include "model/ops/objective.hpp"

namespace nb::ops {

Tensor objective(const Tensor& losses, OpDesc desc, OpKind backward_kind,
                 kernels::Objective objective, double scale, std::vector<Tensor> operands) {
  Device& device = losses.device();
  Tensor loss = device.allocate({1}, DType::kFp32, desc.label);
  desc.rows = losses.count();
  desc.inputs = {&losses};
  host::Values dlosses;
  if (device.executes() && wants_backward({&losses}, false))
    dlosses = std::make_shared<HostValues>(device, losses.shape().leading(), losses.shape().last());
  host::Op op = {.in = {losses.values()}, .out = {loss.values(), dlosses}, .scale = scale};
  if (device.executes())
    op.objective = std::make_shared<const kernels::Objective>(std::move(objective));
  forward(desc, loss, std::move(op), {&losses}, [&] {
    return [&device, shape = losses.shape(), desc, label = std::string(desc.label), backward_kind,
            dlosses, operands = std::move(operands)](const Tensor& dloss, SavedBlocks saved) {
      Tensor gradient = device.allocate(shape, DType::kFp32, label);
      OpDesc back = desc;
      back.kind = backward_kind;
      back.label = label;
      back.saves_for_backward = false;
      back.inputs = {&dloss};
      back.output = &gradient;
      device.run_backward(back, std::move(saved), [] {});
      return Tape::Gradients{device.executes() ? gradient.with_values(dlosses) : gradient};
    };
  });
  return loss;
}

}  // namespace nb::ops
