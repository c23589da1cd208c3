// What the frameworks print when memory runs out.
#include <fmt/format.h>

#include "model/device/memory_impl.hpp"

namespace nb {
namespace {

// format_size of c10's caching allocators.
std::string size_text(std::uint64_t size_bytes) {
  const auto value = static_cast<double>(size_bytes);
  if (size_bytes <= 1024) return fmt::format("{} bytes", size_bytes);
  if (size_bytes <= 1048576) return fmt::format("{:.2f} KiB", value / 1024.0);
  if (size_bytes <= 1073741824ull) return fmt::format("{:.2f} MiB", value / 1048576.0);
  return fmt::format("{:.2f} GiB", value / 1073741824.0);
}

}  // namespace

std::string CachingAllocator::Impl::out_of_memory_text(std::uint64_t wanted_bytes) const {
  const std::uint64_t cached = stats.reserved_bytes - stats.allocated_bytes;
  const std::string allowed =
      rules.memory_fraction < 1 ? size_text(allowed_bytes()) + " allowed; " : "";
  switch (rules.words) {
    case OutOfMemoryWords::kNpu:
      // torch_npu NPUCachingAllocator.cpp (exact).
      return fmt::format(
          "NPU out of memory. Tried to allocate {} (NPU {}; {} total capacity; {} already "
          "allocated; "
          "{} current active; {} free; {}{} reserved in total by PyTorch).If reserved memory is >> "
          "allocated memory try setting max_split_size_mb to avoid fragmentation.",
          size_text(wanted_bytes), device_index, size_text(stats.capacity_bytes),
          size_text(stats.allocated_bytes), size_text(stats.allocated_bytes),
          size_text(free_on_device()), allowed, size_text(stats.reserved_bytes));
    case OutOfMemoryWords::kCuda:
      // torch 2.x CUDACachingAllocator.cpp.
      return fmt::format(
          "CUDA out of memory. Tried to allocate {}. GPU {} has a total capacity of {} of which {} "
          "is "
          "free. Including non-PyTorch memory, this process has {} memory in use. {}Of the "
          "allocated "
          "memory {} is allocated by PyTorch, and {} is reserved by PyTorch but unallocated. If "
          "reserved but unallocated memory is large try setting "
          "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  See "
          "documentation "
          "for Memory Management  "
          "(https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)",
          size_text(wanted_bytes), device_index, size_text(stats.capacity_bytes),
          size_text(free_on_device()), size_text(stats.reserve_bytes + stats.reserved_bytes),
          allowed, size_text(stats.allocated_bytes), size_text(cached));
    case OutOfMemoryWords::kCpu:
      // c10 CPUAllocator.cpp.
      return fmt::format(
          "DefaultCPUAllocator: can't allocate memory: you tried to allocate {} bytes. Error code "
          "12 "
          "(Cannot allocate memory)",
          wanted_bytes);
  }
  return "out of memory";
}

}  // namespace nb
