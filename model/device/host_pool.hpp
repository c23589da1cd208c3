// Host float buffers of tensors, recycled: after the first step a training loop allocates nothing.
// An evaluation changes its shapes with every batch, so a buffer up to twice as large as asked for
// is taken too, and what lies unused is returned to the system before all of it exceeds twice the
// largest amount ever in use. 64-byte aligned, large ones on huge pages where allowed. Not
// thread-safe.
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
  float* make(std::size_t count);                   // the same, always a new one
  void give(float* buffer) noexcept;                // from take()
  std::size_t mallocs() const { return mallocs_; }  // buffers ever made
  std::size_t held_floats() const { return in_use_ + unused_; }

 private:
  float* reuse(std::size_t capacity);  // nullptr: none fits
  float* taken(float* buffer, std::size_t capacity);
  void make_room(std::size_t capacity);

  std::map<std::size_t, std::vector<float*>> free_;        // by capacity in floats
  std::size_t in_use_ = 0, most_in_use_ = 0, unused_ = 0;  // floats
  std::size_t mallocs_ = 0;
};

}  // namespace nb
