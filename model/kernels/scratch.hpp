// Working memory of a kernel call: taken from this thread's stack of buffers and given back at the
// end of the scope, so that nothing is allocated in a training step after the first. Nested calls
// on one thread (a waiting thread may run another's task) get buffers of their own.
#pragma once

#include <cstddef>
#include <cstdint>

namespace nb::kernels {

class Scratch {
 public:
  explicit Scratch(std::size_t bytes);  // 64-byte aligned, not cleared
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  float* floats() const { return static_cast<float*>(data_); }
  std::uint32_t* words() const { return static_cast<std::uint32_t*>(data_); }

 private:
  void* data_;
};

}  // namespace nb::kernels
