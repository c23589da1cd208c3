// Host float buffers of tensors, recycled: after the first step a training loop allocates nothing.
// 64-byte aligned. Not thread-safe.
#pragma once

#include <cstddef>
#include <map>
#include <vector>

namespace nb {

class HostPool {
 public:
  HostPool() = default;
  ~HostPool();
  HostPool(const HostPool&) = delete;
  HostPool& operator=(const HostPool&) = delete;

  // Contents are unspecified; NaN in builds without NDEBUG, so that a read before a write shows.
  float* take(std::size_t count);
  void give(float* buffer, std::size_t count) noexcept;  // count as taken
  std::size_t mallocs() const { return mallocs_; }       // buffers ever made

 private:
  std::map<std::size_t, std::vector<float*>> free_;  // by capacity in floats
  std::size_t mallocs_ = 0;
};

}  // namespace nb
