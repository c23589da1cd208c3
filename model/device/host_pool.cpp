#include "model/device/host_pool.hpp"

#include <cstdlib>
#include <limits>
#include <new>

namespace nb {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kFloats = kAlignment / sizeof(float);

std::size_t capacity_of(std::size_t count) {
  return count == 0 ? kFloats : (count + kFloats - 1) / kFloats * kFloats;
}

}  // namespace

HostPool::~HostPool() {
  for (auto& [capacity, buffers] : free_) {
    for (float* buffer : buffers) std::free(buffer);
  }
}

float* HostPool::take(std::size_t count) {
  const std::size_t capacity = capacity_of(count);
  std::vector<float*>& buffers = free_[capacity];
  float* buffer = nullptr;
  if (!buffers.empty()) {
    buffer = buffers.back();
    buffers.pop_back();
  } else {
    buffer = static_cast<float*>(std::aligned_alloc(kAlignment, capacity * sizeof(float)));
    if (buffer == nullptr) throw std::bad_alloc();
    ++mallocs_;
    buffers.reserve(buffers.capacity() + 1);  // so that give() never throws
  }
#ifndef NDEBUG
  for (std::size_t i = 0; i < capacity; ++i) buffer[i] = std::numeric_limits<float>::quiet_NaN();
#endif
  return buffer;
}

void HostPool::give(float* buffer, std::size_t count) noexcept {
  free_[capacity_of(count)].push_back(buffer);
}

}  // namespace nb
