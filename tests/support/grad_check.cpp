#include "tests/support/grad_check.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "tests/support/decoder_golden.hpp"

namespace nb::test {
namespace {

constexpr std::size_t kMaxElements = 60;  // of an operand that are moved
constexpr double kStep = 0x1p-4;

// The function whose slopes are compared: Σ slope_weight(i) * y[i].
double slope_weight(const OpUnderTest& op, std::size_t i) {
  return op.is_loss ? 1.0 : static_cast<double>(golden_uniform(901, i, 1.0F));
}

double weighted_sum(const OpUnderTest& op, const Tensor& y) {
  double sum = 0;
  const std::span<const float> values = y.host();
  for (std::size_t i = 0; i < values.size(); ++i)
    sum += slope_weight(op, i) * static_cast<double>(values[i]);
  return sum;
}

// What rounding can do to weighted_sum: half a unit of the last place of every element, and as much
// for the sums inside it.
double noise(const OpUnderTest& op, const Tensor& y) {
  double size = 0;
  const std::span<const float> values = y.host();
  for (std::size_t i = 0; i < values.size(); ++i)
    size +=
        std::fabs(slope_weight(op, i)) * std::max(1.0, std::fabs(static_cast<double>(values[i])));
  return size * 0x1p-23;
}

void compare(OpUnderTest& op, Tensor& operand, const Tensor& gradient, double noise_of_y,
             const std::string& which) {
  ASSERT_FALSE(gradient.empty()) << which << " has no gradient";
  ASSERT_EQ(gradient.shape(), operand.shape()) << which;
  const std::span<const float> g = gradient.host();
  double largest = 0;
  for (const float value : g) largest = std::max(largest, std::fabs(static_cast<double>(value)));
  const auto moved = [&](std::size_t i, double h) {
    const float before = operand.host()[i];
    operand.host()[i] = before + static_cast<float>(h);
    const double sum = weighted_sum(op, op.call(op.inputs));
    operand.host()[i] = before;
    return sum;
  };
  // Two step lengths, extrapolated: the error of fourth order is below 1e-5 of the largest slope
  // for functions as smooth as these, and rounding counts with about 2 / step.
  const double tolerance = 2 * noise_of_y / kStep + 2e-5 * largest + 1e-6;
  const std::size_t stride = std::max<std::size_t>(1, g.size() / kMaxElements);
  for (std::size_t i = 0; i < g.size(); i += stride) {
    const double near = (moved(i, kStep) - moved(i, -kStep)) / (2 * kStep);
    const double wide = (moved(i, 2 * kStep) - moved(i, -2 * kStep)) / (4 * kStep);
    ASSERT_NEAR(static_cast<double>(g[i]), (4 * near - wide) / 3, tolerance)
        << which << " " << operand.shape().text() << " element " << i;
  }
}

}  // namespace

Tensor uneven(Device& device, const Shape& shape, std::uint64_t stream) {
  Tensor t = device.allocate(shape, device.numerics().storage, "operand");
  const std::span<float> values = t.host();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float u = golden_uniform(stream, i, 1.0F);
    values[i] = round_to(t.dtype(), u < 0 ? u - 0.25F : u + 0.25F);
  }
  return t;
}

std::shared_ptr<Parameter> uneven_parameter(Device& device, const Shape& shape,
                                            std::uint64_t stream, const std::string& name) {
  auto p = std::make_shared<Parameter>();
  p->name = name;
  p->value = device.allocate(shape, DType::kFp32, name);
  const Tensor values = uneven(device, shape, stream);
  std::ranges::copy(values.host(), p->value.host().begin());
  return p;
}

Gradients run_backward(Device& device, OpUnderTest& op, bool wants_inputs) {
  Gradients result;
  result.inputs.resize(op.inputs.size());
  Tape tape;
  std::vector<Tensor> leaves;
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    leaves.push_back(op.inputs[i].with_values(op.inputs[i].values()));
    if (!wants_inputs) continue;
    Tape::record(leaves.back(), {}, {}, [&] {
      return [&gradient = result.inputs[i]](const Tensor& dy, const SavedBlocks&) {
        gradient = dy;
        return Tape::Gradients{};
      };
    });
  }
  result.y = op.call(leaves);
  leaves.clear();
  result.is_recorded = Tape::wants_gradient(result.y);
  if (!result.is_recorded) return result;
  Tensor dy;
  if (!op.is_loss) {
    dy = device.allocate(result.y.shape(), device.numerics().storage, "dy");
    const std::span<float> values = dy.host();
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = round_to(dy.dtype(), static_cast<float>(slope_weight(op, i)));
  }
  tape.backward(result.y, std::move(dy));
  return result;
}

void expect_gradients_of_differences(Device& device, OpUnderTest& op) {
  for (const auto& p : op.parameters) p->grad = {};
  const Gradients gradients = run_backward(device, op);
  ASSERT_TRUE(gradients.is_recorded);
  const double rounding = noise(op, gradients.y);
  for (std::size_t i = 0; i < op.inputs.size(); ++i)
    compare(op, op.inputs[i], gradients.inputs[i], rounding, "input " + std::to_string(i));
  for (const auto& p : op.parameters) compare(op, p->value, p->grad, rounding, p->name);
}

}  // namespace nb::test
