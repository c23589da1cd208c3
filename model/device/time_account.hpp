// What the time of a simulated device went to, twice: by the class of the op and by what limited
// it. Each of the two sums is the whole time between two moments at which the host had waited for
// the device, to the nanosecond: what no kernel and no collective took is the host's, whose launch
// came late. Beside it what the classes launched and moved. Plain values; knows no clock.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "model/device/lowering.hpp"
#include "model/device/op_desc.hpp"
#include "model/device/trace.hpp"

namespace nb {

enum class OpClass : std::uint8_t {
  kProduct,        // linear layers, with the casts around them
  kAttention,      // fused or not
  kPointwise,      // norms, activations, rotary, residuals, embeddings, casts, caches
  kLoss,           // behind the head's product: soft-cap, cross-entropy, objectives, sampling
  kOptimizer,      // AdamW, Muon with its products, the gradients' norm
  kTransfer,       // between host and device
  kCommunication,  // compute waits for a collective
  kHost,           // compute waits for a launch, the host for the device
};
inline constexpr std::size_t kOpClasses = 8;
std::string_view name(OpClass op_class);
OpClass class_of(OpKind kind);

enum class TimeLimit : std::uint8_t {
  kCube,           // arithmetic of matrix units
  kLoad,           // bringing operands to them
  kVector,         // arithmetic of vector units
  kMemory,         // bytes of vector kernels
  kLaunch,         // a kernel so small that its fixed time on the device is most of it
  kHostLink,       // bytes between host and device
  kCommunication,  // as above
  kHost,           // as above
};
inline constexpr std::size_t kTimeLimits = 8;
std::string_view name(TimeLimit limit);
TimeLimit limit_of(KernelUnit unit, Limiter limiter);

struct TimeAccount {
  std::array<std::int64_t, kOpClasses> class_ns{};
  std::array<std::int64_t, kTimeLimits> limit_ns{};
  std::array<std::uint64_t, kOpClasses> launches{};
  // Read and written by kernels; of collectives the payload, of transfers what crosses the link.
  std::array<std::uint64_t, kOpClasses> bytes{};
  bool operator==(const TimeAccount&) const = default;

  void add_time(OpClass op_class, TimeLimit limit, std::int64_t time_ns) {
    class_ns[static_cast<std::size_t>(op_class)] += time_ns;
    limit_ns[static_cast<std::size_t>(limit)] += time_ns;
  }
  void add_launch(OpClass op_class, std::uint64_t size_bytes) {
    ++launches[static_cast<std::size_t>(op_class)];
    bytes[static_cast<std::size_t>(op_class)] += size_bytes;
  }
  std::int64_t total_ns() const;  // by class, which is the sum by limit too
  std::uint64_t launch_count() const;
};
TimeAccount operator+(const TimeAccount& a, const TimeAccount& b);
// What came between the two.
TimeAccount operator-(const TimeAccount& now, const TimeAccount& before);
// now, with what came since `before` once more `rounds` times.
TimeAccount repeated(const TimeAccount& now, const TimeAccount& before, std::int64_t rounds);

}  // namespace nb
