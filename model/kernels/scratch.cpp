#include "model/kernels/scratch.hpp"

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include <deque>
#include <memory>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

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

// Of threads that have ended: ranks get new threads for every step, and clearing new pages for
// theirs takes milliseconds. Never destroyed, since threads may outlive main.
class Left {
 public:
  static Left& all() {
    static Left* const instance = new Left;
    return *instance;
  }
  std::unique_ptr<Stack> take() {
    const std::lock_guard lock(mutex_);
    if (stacks_.empty()) return std::make_unique<Stack>();
    std::unique_ptr<Stack> last = std::move(stacks_.back());
    stacks_.pop_back();
    return last;
  }
  void give(std::unique_ptr<Stack> stack) noexcept {
    const std::lock_guard lock(mutex_);
    try {
      stacks_.push_back(std::move(stack));
    } catch (const std::bad_alloc&) {
      stack.reset();
    }
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Stack>> stacks_;
};

Stack& stack() {
  struct OfThread {
    std::unique_ptr<Stack> own = Left::all().take();
    ~OfThread() { Left::all().give(std::move(own)); }
  };
  thread_local OfThread instance;
  return *instance.own;
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
