// Reverse-mode differentiation. While a Tape is open, ops put a node on it for every result; then
// backward() walks the nodes from the youngest to the oldest, as PyTorch's engine does, sums the
// gradients that reach one tensor in that order, and frees what each node kept as soon as it has
// run. Without an open tape nothing is kept (torch.no_grad). One thread; dies before the Device.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <vector>

#include "model/autograd/parameter.hpp"
#include "model/device/device.hpp"

namespace nb {

class Tape {
 public:
  Tape();  // opens: the innermost open tape records
  ~Tape();
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;

  static bool is_open();

  // Gradients of a node's inputs, in their order; empty: none.
  using Gradients = std::vector<Tensor>;
  // dy: gradient of the result. saved: what the device's software stack kept; goes to the backward
  // op that frees it.
  using Backward = std::function<Gradients(const Tensor& dy, SavedBlocks saved)>;

  // For ops. On the open tape, if there is one: y came from these inputs. Inputs that no node made
  // get no gradient.
  static void record(Tensor& y, std::initializer_list<const Tensor*> inputs, SavedBlocks saved,
                     const std::function<Backward()>& backward);
  // In backward `hear` is called when the whole gradient of x is there, before it goes on to the op
  // that made x: of a result of this tape. Changes no gradient.
  static void on_gradient(Tensor& x, std::function<void()> hear);
  // True where somebody wants the gradient of x.
  static bool wants_gradient(const Tensor& x);

  // Into the parameters: the gradients of `root`, a result of this tape, whose own gradient is dy.
  // Empty: root is a loss, its gradient is 1, and its node gets the loss itself; the framework
  // frees it with its gradient, so that root keeps its value and loses its block. Empties the tape.
  void backward(Tensor& root, Tensor dy = {});

 private:
  struct Node {
    Backward backward;
    SavedBlocks saved;
    std::vector<std::int32_t> inputs;
  };
  std::vector<Node> nodes_;
  std::uint64_t id_;  // of what it records until backward(); never used again
  Tape* outer_;
};

// Nothing is recorded while this lives (torch.no_grad).
class NoTape {
 public:
  NoTape();
  ~NoTape();
  NoTape(const NoTape&) = delete;
  NoTape& operator=(const NoTape&) = delete;

 private:
  Tape* outer_;
};

// y = segment(x), of which backward keeps x alone and computes the rest again (activation
// checkpointing, torch.utils.checkpoint): less memory, more time, the same bits. `segment` may be
// called once more until the tape has gone back, and must then compute the same.
Tensor recomputed(const Tensor& x, std::function<Tensor(const Tensor& x)> segment);

// The gradient of p, allocated when there is none yet; accumulate tells which.
struct GradientSlot {
  Tensor& tensor;
  bool accumulate;
};
GradientSlot gradient_slot(Parameter& p);

}  // namespace nb
