#include "model/device/host_pool.hpp"

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>

namespace nb {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kFloats = kAlignment / sizeof(float);

// Four sizes an octave, so that batches of nearly equal shapes use the same buffers. What nobody
// touches takes no memory.
std::size_t capacity_of(std::size_t count) {
  const std::size_t unit = std::max(kFloats, std::bit_floor(std::max(count, kFloats)) / 4);
  return std::max(unit, (count + unit - 1) / unit * unit);
}

// Stands in the 64 bytes before a buffer.
struct Header {
  std::size_t capacity;  // floats
  void* memory;          // what free() takes
};
static_assert(sizeof(Header) <= kAlignment);

// Large buffers lie on huge pages where the system allows it (a refusal is fine), each a few cache
// lines further from the start of its first page than the one made before: equal places in several
// tensors then do not compete for the same set of the cache.
float* make_buffer(std::size_t capacity, std::size_t number) {
  constexpr std::size_t kHugePage = std::size_t{2} << 20;
  const std::size_t front = kAlignment * (1 + 9 * (number % 7));
  std::size_t size = front + capacity * sizeof(float);
  const bool is_large = size >= kHugePage;
  const std::size_t unit = is_large ? kHugePage : kAlignment;
  void* memory = std::aligned_alloc(unit, (size + unit - 1) / unit * unit);
  if (memory == nullptr) throw std::bad_alloc();
#if defined(MADV_HUGEPAGE)
  if (is_large) madvise(memory, size / kHugePage * kHugePage, MADV_HUGEPAGE);
#endif
  float* buffer = reinterpret_cast<float*>(static_cast<std::byte*>(memory) + front);
  const Header header = {capacity, memory};
  std::memcpy(buffer - kFloats, &header, sizeof header);
  return buffer;
}

Header header_before(const float* buffer) {
  Header header{};
  std::memcpy(&header, buffer - kFloats, sizeof header);
  return header;
}

void free_buffer(float* buffer) { std::free(header_before(buffer).memory); }

}  // namespace

HostPool::~HostPool() {
  for (auto& [capacity, buffers] : free_) {
    for (float* buffer : buffers) free_buffer(buffer);
  }
}

float* HostPool::take(std::size_t count) {
  float* const buffer = reuse(capacity_of(count));
  return buffer == nullptr ? make(count) : taken(buffer, capacity_of(count));
}

float* HostPool::make(std::size_t count) {
  const std::size_t capacity = capacity_of(count);
  make_room(capacity);
  std::vector<float*>& buffers = free_[capacity];
  buffers.reserve(buffers.capacity() + 1);  // so that give() never throws
  float* const buffer = make_buffer(capacity, mallocs_);
  ++mallocs_;
  in_use_ += capacity;
  return taken(buffer, capacity);
}

float* HostPool::taken(float* buffer, [[maybe_unused]] std::size_t capacity) {
  most_in_use_ = std::max(most_in_use_, in_use_);
#ifndef NDEBUG
  std::fill_n(buffer, capacity, std::numeric_limits<float>::quiet_NaN());
#endif
  return buffer;
}

void HostPool::give(float* buffer) noexcept {
  const std::size_t capacity = header_before(buffer).capacity;
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
