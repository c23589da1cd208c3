#include "model/autograd/tape.hpp"

#include <utility>

#include "harness/base/check.hpp"
#include "model/host/program.hpp"

namespace nb {
namespace {

thread_local Tape* t_open = nullptr;
thread_local std::uint64_t t_last_id = 0;

// sum += gradient: the framework adds into the one that came first.
void add_gradient(Tensor& sum, const Tensor& gradient) {
  NB_CHECK(sum.shape() == gradient.shape(), "[backward] {} and {} reach one tensor",
           sum.shape().text(), gradient.shape().text());
  Device& device = sum.device();
  Tensor result = sum.values_only();
  if (device.executes())
    result = sum.with_values(
        std::make_shared<HostValues>(device, sum.shape().leading(), sum.shape().last()));
  const OpDesc desc = {.kind = OpKind::kAddBackward,
                       .label = "gradient_sum",
                       .rows = sum.shape().leading(),
                       .cols = sum.shape().last(),
                       .inputs = {&sum, &gradient},
                       .output = &sum};
  host::run_backward(device, desc, {}, host::Add{sum.values(), gradient.values(), result.values()});
  if (device.executes()) sum = std::move(result);
}

}  // namespace

Tape::Tape() : id_(++t_last_id), outer_(std::exchange(t_open, this)) {}
Tape::~Tape() { t_open = outer_; }
bool Tape::is_open() { return t_open != nullptr; }

bool Tape::wants_gradient(const Tensor& x) {
  return !x.empty() && t_open != nullptr && x.state_->tape == t_open->id_;
}

void Tape::record(Tensor& y, std::initializer_list<const Tensor*> inputs, SavedBlocks saved,
                  const std::function<Backward()>& backward) {
  if (t_open == nullptr) return;
  Node node;
  node.backward = backward();
  node.saved = std::move(saved);
  for (const Tensor* input : inputs)
    node.inputs.push_back(wants_gradient(*input) ? input->state_->node : -1);
  y.state_->tape = t_open->id_;
  y.state_->node = static_cast<std::int32_t>(t_open->nodes_.size());
  t_open->nodes_.push_back(std::move(node));
}

void Tape::on_gradient(Tensor& x, std::function<void()> hear) {
  NB_CHECK(wants_gradient(x), "[on_gradient] {} is no result of this tape", x.name());
  record(x, {&x}, {}, [&] {
    return [hear = std::move(hear)](const Tensor& dx, const SavedBlocks&) {
      hear();
      return Gradients{dx};
    };
  });
}

void Tape::backward(Tensor& root, Tensor dy) {
  NB_CHECK(wants_gradient(root), "[backward] {} is no result of this tape", root.name());
  std::vector<Node> nodes = std::exchange(nodes_, {});
  id_ = ++t_last_id;
  t_open = outer_;  // what runs now is not differentiated again
  std::vector<Tensor> gradients(nodes.size());
  std::vector<char> is_reached(nodes.size());
  const auto first = static_cast<std::size_t>(root.state_->node);
  is_reached[first] = 1;
  if (dy.empty()) {
    gradients[first] = root;
    root = root.values_only();
  } else {
    gradients[first] = std::move(dy);
  }
  for (std::size_t i = nodes.size(); i-- > 0;) {
    Node node = std::move(nodes[i]);
    if (is_reached[i] == 0) continue;
    Gradients of_inputs;
    {
      const Tensor gradient = std::move(gradients[i]);
      of_inputs = node.backward(gradient, std::move(node.saved));
    }
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      if (node.inputs[k] < 0 || of_inputs[k].empty()) continue;
      const auto to = static_cast<std::size_t>(node.inputs[k]);
      is_reached[to] = 1;
      if (gradients[to].empty())
        gradients[to] = std::move(of_inputs[k]);
      else
        add_gradient(gradients[to], of_inputs[k]);
    }
  }
  t_open = this;
}

NoTape::NoTape() : outer_(std::exchange(t_open, nullptr)) {}
NoTape::~NoTape() { t_open = outer_; }

Tensor recomputed(const Tensor& x, std::function<Tensor(const Tensor& x)> segment) {
  if (!Tape::is_open()) return segment(x);
  Tensor y;
  {
    const NoTape none;
    y = segment(x);
  }
  Tape::record(y, {&x}, {}, [&] {
    return [x, again = std::move(segment)](const Tensor& dy, const SavedBlocks&) {
      Tensor dx, leaf = x.with_values(x.values());  // a tensor of its own on the inner tape
      Tape inner;
      Tape::record(leaf, {}, {}, [&] {
        return [&dx](const Tensor& gradient, const SavedBlocks&) {
          dx = gradient;
          return Tape::Gradients{};
        };
      });
      Tensor result = again(leaf);
      leaf = {};
      inner.backward(result, dy);
      return Tape::Gradients{std::move(dx)};
    };
  });
  return y;
}

GradientSlot gradient_slot(Parameter& p) {
  const bool accumulate = !p.grad.empty();
  if (!accumulate)
    p.grad = p.value.device().allocate(p.value.shape(), p.value.dtype(), p.name, Lifetime::kPassing,
                                       BlockUse::kGradient);
  return {p.grad, accumulate};
}

}  // namespace nb
