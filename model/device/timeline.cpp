#include "model/device/timeline.hpp"

#include <algorithm>

#include "harness/base/check.hpp"

namespace nb {

Timeline::Timeline(std::int64_t dispatch_ns, std::int64_t synchronize_ns, std::int64_t queue_depth)
    : dispatch_ns_(dispatch_ns), synchronize_ns_(synchronize_ns), queue_depth_(queue_depth) {
  NB_CHECK(dispatch_ns >= 0 && synchronize_ns >= 0 && queue_depth >= 1,
           "[timeline] dispatch {} ns, synchronize {} ns, queue depth {}", dispatch_ns,
           synchronize_ns, queue_depth);
}

Launch Timeline::dispatch() {
  while (!queue_.empty() && queue_.front() <= host_ns_) queue_.pop_front();
  while (static_cast<std::int64_t>(queue_.size()) >= queue_depth_) {
    host_ns_ = std::max(host_ns_, queue_.front());
    queue_.pop_front();
  }
  Launch launch;
  launch.dispatch_start_ns = host_ns_;
  host_ns_ += dispatch_ns_;
  launch.dispatch_end_ns = host_ns_;
  return launch;
}

Launch Timeline::launch(Stream stream, std::int64_t duration_ns) {
  NB_CHECK(duration_ns >= 0, "[timeline] a kernel of {} ns", duration_ns);
  Launch launch = dispatch();
  std::int64_t& stream_end = stream_ns_[static_cast<std::size_t>(stream)];
  launch.start_ns = std::max(stream_end, launch.dispatch_end_ns);
  launch.end_ns = launch.start_ns + duration_ns;
  stream_end = launch.end_ns;
  queue_.push_back(launch.end_ns);
  return launch;
}

std::int64_t Timeline::collective_ready_ns() const {
  Timeline trial = *this;
  std::int64_t ready = trial.dispatch().dispatch_end_ns;
  for (const std::int64_t end : stream_ns_) ready = std::max(ready, end);
  return ready;
}

Launch Timeline::collective(std::int64_t start_ns, std::int64_t duration_ns) {
  const std::int64_t ready = collective_ready_ns();
  NB_CHECK(start_ns >= ready, "[timeline] collective starts at {} ns, ready at {} ns", start_ns,
           ready);
  NB_CHECK(duration_ns >= 0, "[timeline] a collective of {} ns", duration_ns);
  Launch launch = dispatch();
  launch.start_ns = start_ns;
  launch.end_ns = start_ns + duration_ns;
  stream_ns_.fill(launch.end_ns);
  queue_.push_back(launch.end_ns);
  return launch;
}

void Timeline::synchronize() {
  host_ns_ = time_ns() + synchronize_ns_;
  queue_.clear();
}

void Timeline::advance_host(std::int64_t time_ns) {
  NB_CHECK(time_ns >= 0, "[timeline] host work of {} ns", time_ns);
  host_ns_ += time_ns;
}

std::int64_t Timeline::time_ns() const {
  std::int64_t time = host_ns_;
  for (const std::int64_t end : stream_ns_) time = std::max(time, end);
  return time;
}

Timeline::State Timeline::state() const {
  return {host_ns_, stream_ns_, {queue_.begin(), queue_.end()}};
}

void Timeline::restore(const State& state) {
  host_ns_ = state.host_ns;
  stream_ns_ = state.stream_ns;
  queue_.assign(state.queue.begin(), state.queue.end());
}

}  // namespace nb
