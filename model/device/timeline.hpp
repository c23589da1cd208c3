// The simulated clock: a host that dispatches launches one after another, and streams of the device
// that run them in order. The host may be queue_depth launches ahead of a stream; so a program of
// many small kernels is as slow as its host. A launch passes two stages of the host: the
// framework's thread, which is free again after it, and a second thread that submits it
// (torch_npu's task queue). Integer ns. Not thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <vector>

#include "model/device/trace.hpp"

namespace nb {

struct Launch {
  std::int64_t dispatch_start_ns = 0;  // host
  std::int64_t dispatch_end_ns = 0;    // of the first stage
  std::int64_t submitted_ns = 0;       // of the second
  std::int64_t start_ns = 0;           // device
  std::int64_t end_ns = 0;
};

// What the host pays for.
struct HostTimes {
  std::int64_t dispatch_ns = 0;     // first stage: an op of the forward pass
  std::int64_t backward_ns = 0;     // the same, of the backward pass
  std::int64_t collective_ns = 0;   // the same, of a collective
  std::int64_t submit_ns = 0;       // second stage, beside the first
  std::int64_t synchronize_ns = 0;  // a wait for the device
  std::int64_t queue_depth = 1;
  bool is_blocking = false;  // every launch waits for its end
};
enum class Dispatch { kForward, kBackward };

class Timeline {
 public:
  explicit Timeline(const HostTimes& host);
  // One stage, which costs the same for everything.
  Timeline(std::int64_t dispatch_ns, std::int64_t synchronize_ns, std::int64_t queue_depth)
      : Timeline(HostTimes{.dispatch_ns = dispatch_ns,
                           .backward_ns = dispatch_ns,
                           .collective_ns = dispatch_ns,
                           .synchronize_ns = synchronize_ns,
                           .queue_depth = queue_depth}) {}

  // One kernel on a stream: dispatched by the host, started when the stream is free.
  Launch launch(Stream stream, std::int64_t duration_ns, Dispatch by = Dispatch::kForward);
  // When a collective launched now could start: dispatched, and both streams done with what was
  // before it.
  std::int64_t collective_ready_ns() const;
  // Dispatches it and runs it from start_ns (>= collective_ready_ns()) on the communication stream;
  // later kernels of the compute stream wait for it.
  Launch collective(std::int64_t start_ns, std::int64_t duration_ns);
  // The same beside compute: it starts when the kernels before it and the communication stream are
  // done, and only wait_for(its end) makes later kernels wait.
  Launch collective_beside(std::int64_t duration_ns);
  void wait_for(std::int64_t end_ns) { delay(Stream::kCompute, end_ns); }
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
    std::int64_t submit_ns = 0;       // when the second stage is free
    std::vector<std::int64_t> queue;  // end times of launches not known to be finished
    bool operator==(const State&) const = default;
  };
  State state() const;
  void restore(const State& state);
  // Times from the host's on, without what is over: two timelines with equal ones go on alike.
  State ahead_of_host() const;
  void shift(std::int64_t time_ns);  // everything later by it

 private:
  Launch dispatch(std::int64_t first_stage_ns);
  void delay(Stream stream, std::int64_t until_ns);
  void keep(std::int64_t end_ns);  // of a launch
  HostTimes times_;
  std::int64_t host_ns_ = 0, submit_ns_ = 0;
  std::array<std::int64_t, kStreams> stream_ns_{};
  std::deque<std::int64_t> queue_;  // end times, oldest first
};

}  // namespace nb
