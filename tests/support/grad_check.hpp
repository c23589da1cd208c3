// Finite differences of one op: what a test says about its operands, and the comparison with the
// gradients that a Tape gives.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "model/autograd/tape.hpp"
#include "model/device/device.hpp"

namespace nb::test {

struct OpUnderTest {
  std::vector<Tensor> inputs;                          // want gradients
  std::vector<std::shared_ptr<Parameter>> parameters;  // trained, unless a test freezes them
  std::function<Tensor(const std::vector<Tensor>& inputs)> call;
  bool is_loss = false;  // one element, whose gradient is 1
};

// Values of magnitude 0.25 to 1.25 and either sign: none near the kink of a relu.
Tensor uneven(Device& device, const Shape& shape, std::uint64_t stream);
std::shared_ptr<Parameter> uneven_parameter(Device& device, const Shape& shape,
                                            std::uint64_t stream, const std::string& name);

// One forward and backward. dy of every element of the result: see slope_weight in the source.
struct Gradients {
  Tensor y;
  std::vector<Tensor> inputs;  // empty: none came. Parameters keep theirs.
  bool is_recorded = false;    // y is on the tape
};
// wants_inputs false: they are constants.
Gradients run_backward(Device& device, OpUnderTest& op, bool wants_inputs = true);

// Every gradient against differences, element by element (of large operands: of some, spread over
// all). The device computes in fp32.
void expect_gradients_of_differences(Device& device, OpUnderTest& op);

}  // namespace nb::test
