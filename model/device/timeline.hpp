// The simulated clock: a host that dispatches launches one after another, and streams of the device
// that run them in order. The host may be queue_depth launches ahead of a stream; so a program of
// many small kernels is as slow as its host. Integer ns. Not thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <vector>

#include "model/device/trace.hpp"

namespace nb {

struct Launch {
  std::int64_t dispatch_start_ns = 0;  // host
  std::int64_t dispatch_end_ns = 0;
  std::int64_t start_ns = 0;  // device
  std::int64_t end_ns = 0;
};

class Timeline {
 public:
  Timeline(std::int64_t dispatch_ns, std::int64_t synchronize_ns, std::int64_t queue_depth);

  // One kernel on a stream: dispatched by the host, started when the stream is free.
  Launch launch(Stream stream, std::int64_t duration_ns);
  // When a collective launched now could start: dispatched, and both streams done with what was
  // before it.
  std::int64_t collective_ready_ns() const;
  // Dispatches it and runs it from start_ns (>= collective_ready_ns()) on the communication stream;
  // later kernels of the compute stream wait for it.
  Launch collective(std::int64_t start_ns, std::int64_t duration_ns);
  void synchronize();                       // the host waits for all streams
  void advance_host(std::int64_t time_ns);  // work of the host itself

  std::int64_t host_ns() const { return host_ns_; }
  std::int64_t stream_ns(Stream stream) const {
    return stream_ns_[static_cast<std::size_t>(stream)];
  }
  std::int64_t time_ns() const;  // when everything launched so far has finished

  struct State {
    std::int64_t host_ns = 0;
    std::array<std::int64_t, kStreams> stream_ns{};
    std::vector<std::int64_t> queue;  // end times of launches not known to be finished
    bool operator==(const State&) const = default;
  };
  State state() const;
  void restore(const State& state);

 private:
  Launch dispatch();
  std::int64_t dispatch_ns_, synchronize_ns_, queue_depth_;
  std::int64_t host_ns_ = 0;
  std::array<std::int64_t, kStreams> stream_ns_{};
  std::deque<std::int64_t> queue_;  // end times, oldest first
};

}  // namespace nb
