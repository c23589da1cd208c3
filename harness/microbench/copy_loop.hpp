// What memory-bound kernels are measured against: a plain copy of as many bytes, cut over the same
// threads, in the same process and moment. It meets the same caches, since its arrays are as large.
#pragma once

#include <vector>

namespace nb {

class CopyLoop {
 public:
  // bytes: read and written together, as the kernel under test moves them.
  explicit CopyLoop(double bytes);
  void run();
  double bytes() const { return 2.0 * sizeof(float) * static_cast<double>(from_.size()); }

 private:
  std::vector<float> from_, to_;
};

}  // namespace nb
