// Working memory of kernels. Large buffers lie on huge pages where the system allows it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace nb::kernels {

// Owned memory that grows, 64-byte aligned; contents are lost when it grows. Move-only.
class LargeBuffer {
 public:
  LargeBuffer() = default;
  LargeBuffer(LargeBuffer&& other) noexcept;
  LargeBuffer& operator=(LargeBuffer&& other) noexcept;
  ~LargeBuffer();

  void resize(std::size_t size_bytes);
  std::size_t size_bytes() const { return size_bytes_; }
  float* floats() const { return static_cast<float*>(data_); }
  std::uint32_t* words() const { return static_cast<std::uint32_t*>(data_); }

 private:
  void release() noexcept;

  void* data_ = nullptr;
  std::size_t size_bytes_ = 0;      // as asked for
  std::size_t capacity_bytes_ = 0;  // as allocated
};

// Working memory of a kernel call: taken from this thread's stack of buffers and given back at the
// end of the scope, so that nothing is allocated in a training step after the first. Nested calls
// on one thread (a waiting thread may run another's task) get buffers of their own. What a thread
// leaves, the next one that begins gets.
class Scratch {
 public:
  explicit Scratch(std::size_t bytes);  // 64-byte aligned, not cleared
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  void* data() const { return data_; }
  float* floats() const { return static_cast<float*>(data_); }
  std::uint32_t* words() const { return static_cast<std::uint32_t*>(data_); }

 private:
  void* data_;
};

}  // namespace nb::kernels
