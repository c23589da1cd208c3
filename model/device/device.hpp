// Device: the only way to run anything. Joins profile, lowering, cost model, allocator, timeline
// and trace; the arithmetic itself is the caller's function, called in execute mode only. Dry mode
// is the same code without it. One device, one thread; outlives every Tensor and SavedBlocks made
// from it; not movable.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "harness/base/json_io.hpp"
#include "harness/base/result.hpp"
#include "model/device/host_profile.hpp"
#include "model/device/memory.hpp"
#include "model/device/numerics.hpp"
#include "model/device/op_desc.hpp"
#include "model/device/profile.hpp"
#include "model/device/tensor.hpp"
#include "model/device/time_account.hpp"
#include "model/device/timeline.hpp"
#include "model/device/trace.hpp"

namespace nb {

enum class ExecutionMode { kExecute, kDry };
enum class Lifetime {
  kPassing,
  kLasting,  // of one that stays: it takes no host memory that others leave and will want again
};

// Arithmetic that waits. What it is, and how it is done, is model/host's affair.
class HostQueue {
 public:
  virtual ~HostQueue() = default;
  virtual void finish() = 0;  // runs all of it
};

struct DeviceOptions {
  int index = 0;  // rank or card number, in error texts
  int ranks = 1;  // more than one: communicator buffers are taken from the capacity
  int trace_steps = 2;
};

// Blocks that the software stack keeps from a forward op for its backward: its own (rstd, upcast
// copies, bf16 weights) and, where the OpDesc names tensors, operands. Dies before the Device.
class SavedBlocks {
 public:
  SavedBlocks() = default;
  SavedBlocks(SavedBlocks&&) noexcept = default;
  SavedBlocks& operator=(SavedBlocks&&) noexcept = default;
  bool empty() const { return blocks_.empty(); }
  std::uint64_t size_bytes() const;  // rounded; shared operands count here too
  void free() { blocks_.clear(); }

 private:
  friend class Device;
  std::vector<BlockHandle> blocks_;
};

// Exact counts since the device was made; gates compare them exactly.
struct DeviceCounters {
  std::uint64_t ops = 0;
  std::uint64_t kernels = 0;
  double flops = 0;               // of the kernels, padding not counted
  std::uint64_t moved_bytes = 0;  // read and written by kernels
  std::uint64_t link_bytes = 0;   // payload of collectives
  std::int64_t compute_limited_ns = 0, memory_limited_ns = 0, launch_limited_ns = 0,
               link_limited_ns = 0;
  std::int64_t collective_ns = 0;       // of link_limited_ns, what collectives took
  std::int64_t collective_wait_ns = 0;  // of that, what compute waited for
  bool operator==(const DeviceCounters&) const = default;
};

class Device {
 public:
  Device(DeviceProfile profile, ExecutionMode mode, const DeviceOptions& options = {});
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  // Throws OutOfMemory in the device's own words. Contents are unspecified. In execute mode the
  // values get host memory when somebody touches them, or when the op runs that makes them.
  Tensor allocate(const Shape& shape, DType dtype, std::string_view name,
                  Lifetime lifetime = Lifetime::kPassing, BlockUse use = BlockUse::kActivation);

  // Lowering → temporaries, time, trace; then the arithmetic (execute mode). Returns what the stack
  // keeps for backward (empty unless desc.saves_for_backward). Throws OutOfMemory.
  SavedBlocks run(const OpDesc& desc, const std::function<void()>& arithmetic);
  // The same; `saved` of the forward op is freed afterwards.
  void run_backward(const OpDesc& desc, SavedBlocks saved, const std::function<void()>& arithmetic);
  // Arithmetic that was recorded and must run before the values that it makes are read. Null until
  // somebody sets one.
  HostQueue* host_queue() const;
  void set_host_queue(std::unique_ptr<HostQueue> queue);
  void finish_host();
  // A buffer for values that have none, from the device's pool; and back to it.
  void make_host_buffer(HostValues& values, bool in_bf16);
  void give_back_host(float* buffer) noexcept;

  // A dry device's whereabouts, to find out that its work repeats.
  struct Progress {
    std::int64_t host_ns = 0;
    Timeline::State ahead;
    DeviceCounters counters;
    MemoryStats memory;
    TimeAccount account;
    std::int64_t accounted_ns = 0;
  };
  Progress progress() const;
  // As if what happened since `before` happened `rounds` times more. Right where
  // continues_as(before) and the work is the same; dry devices only (NB_CHECK). The allocator's
  // counts of calls stay.
  void repeat(const Progress& before, std::int64_t rounds);
  bool continues_as(const Progress& before) const;  // clock and memory stand as they did then

  void synchronize();                    // the host waits for the device, as .item() does
  void host_work(std::int64_t time_ns);  // that the device has no part in

  // For model/collectives: earliest start on this device, and the launch itself.
  std::int64_t collective_ready_ns() const;
  void run_collective(const OpDesc& desc, std::int64_t start_ns, std::int64_t duration_ns,
                      std::uint64_t size_bytes);
  // Beside compute, as soon as it can start; later ops wait for its end only where wait_for() says
  // so. Returns the end.
  std::int64_t run_collective_beside(const OpDesc& desc, std::int64_t duration_ns,
                                     std::uint64_t size_bytes);
  void wait_for(std::int64_t collective_end_ns);

  // What the next ops are run for: decides what they launch and how they round. kTrain at first;
  // UseScope changes it for a while.
  Use use() const;
  void set_use(Use use);

  bool executes() const;
  const NumericsPolicy& numerics() const;  // in this use
  const DeviceProfile& profile() const;
  const DeviceOptions& options() const;
  std::int64_t time_ns() const;  // simulated: when everything launched so far has finished
  MemoryStats memory() const;
  void reset_memory_peaks();
  void empty_cache();
  const DeviceCounters& counters() const;
  // What the time went to up to the last synchronize(), since the device was made or restored.
  const TimeAccount& account() const;
  Trace& trace();
  HostProfile& host_profile();  // of the host's clock; off until started
  CachingAllocator& allocator();
  std::size_t host_mallocs()
      const;  // host buffers ever made: constant once a training loop is warm

  // Simulated clock, counters, allocator layout and statistics: what later numbers depend on.
  // restore() expects the live tensors of the saved device, made in the same order; on error
  // nothing is changed.
  Json state() const;
  Result<void> restore(const Json& state);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Another use of the device as long as this lives.
class UseScope {
 public:
  UseScope(Device& device, Use use) : device_(device), before_(device.use()) {
    device.set_use(use);
  }
  ~UseScope() { device_.set_use(before_); }
  UseScope(const UseScope&) = delete;
  UseScope& operator=(const UseScope&) = delete;

 private:
  Device& device_;
  Use before_;
};

}  // namespace nb
