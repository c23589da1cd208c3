// The side channel through which evaluate.cpp tells a built-in model what is right. A model that
// does not derive from this never learns it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "evals/base/evaluator.hpp"

namespace nb {

class GoldReader {
 public:
  struct Item {
    std::string id;
    Gold gold;
    std::size_t requests = 1;  // how many of the next call's requests are this item's, in order
  };
  virtual ~GoldReader() = default;
  // Of the items of the next score() or generate(), in order.
  virtual void expect(std::vector<Item> items) = 0;
};

}  // namespace nb
