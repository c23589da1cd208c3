#include "harness/microbench/copy_loop.hpp"

#include <algorithm>
#include <cstring>

#include "harness/base/parallel.hpp"

namespace nb {

CopyLoop::CopyLoop(double bytes)
    : from_(std::max<std::size_t>(1, static_cast<std::size_t>(bytes / (2 * sizeof(float)))), 1.0f),
      to_(from_.size()) {}

void CopyLoop::run() {
  constexpr std::size_t kPiece = 16384;  // floats, as the kernels cut theirs
  parallel_chunks(from_.size(), kPiece, [this](std::size_t begin, std::size_t end) {
    std::memcpy(to_.data() + begin, from_.data() + begin, (end - begin) * sizeof(float));
  });
}

}  // namespace nb
