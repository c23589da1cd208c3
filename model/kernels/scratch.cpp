#include "model/kernels/scratch.hpp"

#include <memory>
#include <new>
#include <vector>

namespace nb::kernels {
namespace {

constexpr std::align_val_t kAlignment{64};

struct Free {
  void operator()(void* p) const { ::operator delete(p, kAlignment); }
};
struct Buffer {
  std::unique_ptr<void, Free> memory;
  std::size_t bytes = 0;
};
struct Stack {
  std::vector<Buffer> buffers;
  std::size_t depth = 0;
};

Stack& stack() {
  thread_local Stack instance;
  return instance;
}

}  // namespace

Scratch::Scratch(std::size_t bytes) {
  Stack& s = stack();
  if (s.depth == s.buffers.size()) s.buffers.emplace_back();
  Buffer& buffer = s.buffers[s.depth];
  if (buffer.bytes < bytes || buffer.memory == nullptr) {
    buffer.memory.reset();
    buffer.bytes = 0;
    buffer.memory.reset(::operator new(bytes, kAlignment));
    buffer.bytes = bytes;
  }
  data_ = buffer.memory.get();
  ++s.depth;
}

Scratch::~Scratch() { --stack().depth; }

}  // namespace nb::kernels
