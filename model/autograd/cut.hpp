// Where a computation is cut, so that one part of it goes on elsewhere: gradients come from outside
// and go there. On the open tape.
#pragma once

#include <functional>
#include <initializer_list>

#include "model/autograd/tape.hpp"

namespace nb {

// x came from elsewhere: `hear` gets its whole gradient in backward.
void begin_at(Tensor& x, std::function<void(const Tensor& gradient)> hear);

// Results that go elsewhere, as one to begin backward at, with a gradient that is not read:
// gradients() gives theirs, in this order. Empty ones have none. It has no memory of its own.
Tensor end_at(std::initializer_list<const Tensor*> results,
              std::function<Tape::Gradients()> gradients);

}  // namespace nb
