// What the simulated device did, as Chrome trace JSON (chrome://tracing, Perfetto). Bounded: events
// of the first `max_steps` steps and at most `max_events`. Not thread-safe: one device, one thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/json_io.hpp"
#include "model/device/memory.hpp"

namespace nb {

enum class Limiter : std::uint8_t { kCompute, kMemory, kLaunch, kLink };
std::string_view name(Limiter limiter);

enum class Stream : std::uint8_t { kCompute, kCommunication };
constexpr std::size_t kStreams = 2;
std::string_view name(Stream stream);

struct TraceEvent {
  std::string_view kernel;  // static text of the lowering
  std::string label;        // the op's label, "" when it has none
  std::string_view op;      // static name of the kind
  Stream stream = Stream::kCompute;
  Limiter limiter = Limiter::kCompute;
  std::int64_t start_ns = 0;
  std::int64_t duration_ns = 0;
  std::int64_t dispatch_start_ns = 0;  // on the host
  std::int64_t dispatch_ns = 0;
  double flops = 0;
  std::uint64_t size_bytes = 0;       // read and written
  std::uint64_t allocated_bytes = 0;  // simulated memory in use when it was launched
  BytesByUse by_use{};                // what it held
};

class Trace {
 public:
  // Recording starts with the first begin_step.
  explicit Trace(int max_steps = 2, std::size_t max_events = 200000);
  void begin_step();  // a new training step, or whatever the caller counts
  void end();         // no events from here until the next begin_step
  bool recording() const { return recording_; }
  void add(TraceEvent event);
  const std::vector<TraceEvent>& events() const { return events_; }
  std::size_t dropped() const { return dropped_; }  // over max_events, within the recorded steps
  // {"traceEvents": […], "displayTimeUnit": "ns"}: one process `process_name`, threads host,
  // compute and communication, one counter of allocated memory. Times in µs with three decimals, as
  // the format wants.
  Json chrome_json(std::string_view process_name) const;

 private:
  int max_steps_;
  std::size_t max_events_;
  int steps_ = 0;
  bool recording_ = false;
  std::size_t dropped_ = 0;
  std::vector<TraceEvent> events_;
};

}  // namespace nb
