// Which tokens an update was made of, as one number: a batch that was repeated, skipped, cut or
// masked differently has another. 32 bits of SHA-256 over all ids in their order, so that steps.csv
// can keep it as a number; two different batches look equal once in four thousand million.
#pragma once

#include <span>

#include "harness/base/hash.hpp"
#include "model/data/loader.hpp"

namespace nb {

class BatchHash {
 public:
  void add(const Batch& batch);  // what the model reads and what it is asked for
  void add(std::span<const int> ids);
  double value();  // ends it

 private:
  Sha256 hash_;
};

}  // namespace nb
