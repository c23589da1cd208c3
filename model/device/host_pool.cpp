#include "model/device/host_pool.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>

namespace nb {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kFloats = kAlignment / sizeof(float);

std::size_t capacity_of(std::size_t count) {
  return count == 0 ? kFloats : (count + kFloats - 1) / kFloats * kFloats;
}

// A buffer's capacity stands in the 64 bytes before it.
float* make_buffer(std::size_t capacity) {
  void* memory = std::aligned_alloc(kAlignment, kAlignment + capacity * sizeof(float));
  if (memory == nullptr) throw std::bad_alloc();
  std::memcpy(memory, &capacity, sizeof capacity);
  return static_cast<float*>(memory) + kFloats;
}

std::size_t capacity_before(const float* buffer) {
  std::size_t capacity = 0;
  std::memcpy(&capacity, buffer - kFloats, sizeof capacity);
  return capacity;
}

void free_buffer(float* buffer) { std::free(buffer - kFloats); }

}  // namespace

HostPool::~HostPool() {
  for (auto& [capacity, buffers] : free_) {
    for (float* buffer : buffers) free_buffer(buffer);
  }
}

float* HostPool::take(std::size_t count) {
  const std::size_t capacity = capacity_of(count);
  float* buffer = reuse(capacity);
  if (buffer == nullptr) {
    make_room(capacity);
    std::vector<float*>& buffers = free_[capacity];
    buffers.reserve(buffers.capacity() + 1);  // so that give() never throws
    buffer = make_buffer(capacity);
    ++mallocs_;
    in_use_ += capacity;
  }
  most_in_use_ = std::max(most_in_use_, in_use_);
#ifndef NDEBUG
  std::fill_n(buffer, capacity, std::numeric_limits<float>::quiet_NaN());
#endif
  return buffer;
}

void HostPool::give(float* buffer) noexcept {
  const std::size_t capacity = capacity_before(buffer);
  free_[capacity].push_back(buffer);
  in_use_ -= capacity;
  unused_ += capacity;
}

float* HostPool::reuse(std::size_t capacity) {
  for (auto it = free_.lower_bound(capacity); it != free_.end() && it->first <= 2 * capacity;
       ++it) {
    if (it->second.empty()) continue;
    float* buffer = it->second.back();
    it->second.pop_back();
    in_use_ += it->first;
    unused_ -= it->first;
    return buffer;
  }
  return nullptr;
}

// Largest first: one of them makes room for many.
void HostPool::make_room(std::size_t capacity) {
  const std::size_t limit = 2 * std::max(most_in_use_, in_use_ + capacity);
  for (auto it = free_.rbegin(); it != free_.rend(); ++it) {
    while (in_use_ + unused_ + capacity > limit && !it->second.empty()) {
      free_buffer(it->second.back());
      it->second.pop_back();
      unused_ -= it->first;
    }
  }
}

}  // namespace nb
