#include "model/kernels/scratch.hpp"

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include <deque>
#include <new>
#include <utility>

namespace nb::kernels {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kHugePage = std::size_t{2} << 20;

std::size_t alignment_of(std::size_t capacity) {
  return capacity >= kHugePage ? kHugePage : kAlignment;
}

struct Stack {
  std::deque<LargeBuffer> buffers;
  std::size_t depth = 0;
};

Stack& stack() {
  thread_local Stack instance;
  return instance;
}

}  // namespace

LargeBuffer::LargeBuffer(LargeBuffer&& other) noexcept { *this = std::move(other); }

LargeBuffer& LargeBuffer::operator=(LargeBuffer&& other) noexcept {
  if (this == &other) return *this;
  release();
  data_ = std::exchange(other.data_, nullptr);
  size_bytes_ = std::exchange(other.size_bytes_, 0);
  capacity_bytes_ = std::exchange(other.capacity_bytes_, 0);
  return *this;
}

LargeBuffer::~LargeBuffer() { release(); }

void LargeBuffer::release() noexcept {
  if (data_ != nullptr) ::operator delete (data_, std::align_val_t{alignment_of(capacity_bytes_)});
  data_ = nullptr;
  size_bytes_ = capacity_bytes_ = 0;
}

void LargeBuffer::resize(std::size_t size_bytes) {
  if (size_bytes > capacity_bytes_ || data_ == nullptr) {
    release();
    const std::size_t unit = size_bytes >= kHugePage ? kHugePage : kAlignment;
    const std::size_t capacity = (size_bytes / unit + 1) * unit;
    data_ = ::operator new (capacity, std::align_val_t{alignment_of(capacity)});
    capacity_bytes_ = capacity;
#if defined(MADV_HUGEPAGE)
    if (capacity >= kHugePage) madvise(data_, capacity, MADV_HUGEPAGE);  // a wish: refusal is fine
#endif
  }
  size_bytes_ = size_bytes;
}

Scratch::Scratch(std::size_t bytes) {
  Stack& s = stack();
  if (s.depth == s.buffers.size()) s.buffers.emplace_back();
  LargeBuffer& buffer = s.buffers[s.depth];
  buffer.resize(bytes);
  data_ = buffer.words();
  ++s.depth;
}

Scratch::~Scratch() { --stack().depth; }

}  // namespace nb::kernels
