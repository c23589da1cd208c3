#include "model/device/timeline.hpp"

#include <algorithm>

#include "harness/base/check.hpp"

namespace nb {

Timeline::Timeline(const HostTimes& host) : times_(host) {
  NB_CHECK(host.dispatch_ns >= 0 && host.backward_ns >= 0 && host.collective_ns >= 0 &&
               host.submit_ns >= 0 && host.synchronize_ns >= 0 && host.queue_depth >= 1,
           "[timeline] dispatch {} and {} ns, collective {} ns, submit {} ns, synchronize {} ns, "
           "queue depth {}",
           host.dispatch_ns, host.backward_ns, host.collective_ns, host.submit_ns,
           host.synchronize_ns, host.queue_depth);
}

Launch Timeline::dispatch(std::int64_t first_stage_ns) {
  while (!queue_.empty() && queue_.front() <= host_ns_) queue_.pop_front();
  while (static_cast<std::int64_t>(queue_.size()) >= times_.queue_depth) {
    host_ns_ = std::max(host_ns_, queue_.front());
    queue_.pop_front();
  }
  Launch launch;
  launch.dispatch_start_ns = host_ns_;
  host_ns_ += first_stage_ns;
  submit_ns_ = std::max(submit_ns_, host_ns_) + times_.submit_ns;
  launch.dispatch_end_ns = host_ns_;
  launch.submitted_ns = submit_ns_;
  return launch;
}

void Timeline::delay(Stream stream, std::int64_t until_ns) {
  std::int64_t& end = stream_ns_[static_cast<std::size_t>(stream)];
  end = std::max(end, until_ns);
}

void Timeline::keep(std::int64_t end_ns) {
  queue_.push_back(end_ns);
  if (times_.is_blocking) synchronize();
}

Launch Timeline::launch(Stream stream, std::int64_t duration_ns, Dispatch by) {
  NB_CHECK(duration_ns >= 0, "[timeline] a kernel of {} ns", duration_ns);
  Launch launch = dispatch(by == Dispatch::kForward ? times_.dispatch_ns : times_.backward_ns);
  std::int64_t& stream_end = stream_ns_[static_cast<std::size_t>(stream)];
  launch.start_ns = std::max(stream_end, launch.submitted_ns);
  launch.end_ns = launch.start_ns + duration_ns;
  stream_end = launch.end_ns;
  keep(launch.end_ns);
  return launch;
}

std::int64_t Timeline::collective_ready_ns() const {
  // As dispatch() would make the host wait: the queue's first entries that must be gone.
  std::int64_t host = host_ns_;
  std::size_t first = 0;
  while (first < queue_.size() && queue_[first] <= host) ++first;
  while (static_cast<std::int64_t>(queue_.size() - first) >= times_.queue_depth)
    host = std::max(host, queue_[first++]);
  std::int64_t ready = std::max(submit_ns_, host + times_.collective_ns) + times_.submit_ns;
  for (const std::int64_t end : stream_ns_) ready = std::max(ready, end);
  return ready;
}

Launch Timeline::collective(std::int64_t start_ns, std::int64_t duration_ns) {
  const std::int64_t ready = collective_ready_ns();
  NB_CHECK(start_ns >= ready, "[timeline] collective starts at {} ns, ready at {} ns", start_ns,
           ready);
  NB_CHECK(duration_ns >= 0, "[timeline] a collective of {} ns", duration_ns);
  Launch launch = dispatch(times_.collective_ns);
  launch.start_ns = start_ns;
  launch.end_ns = start_ns + duration_ns;
  stream_ns_.fill(launch.end_ns);
  keep(launch.end_ns);
  return launch;
}

Launch Timeline::collective_beside(std::int64_t duration_ns) {
  NB_CHECK(duration_ns >= 0, "[timeline] a collective of {} ns", duration_ns);
  Launch launch = dispatch(times_.collective_ns);
  launch.start_ns = launch.submitted_ns;
  for (const std::int64_t end : stream_ns_) launch.start_ns = std::max(launch.start_ns, end);
  launch.end_ns = launch.start_ns + duration_ns;
  delay(Stream::kCommunication, launch.end_ns);
  keep(launch.end_ns);
  return launch;
}

void Timeline::synchronize() {
  host_ns_ = time_ns() + times_.synchronize_ns;
  queue_.clear();
}

void Timeline::advance_host(std::int64_t time_ns) {
  NB_CHECK(time_ns >= 0, "[timeline] host work of {} ns", time_ns);
  host_ns_ += time_ns;
}

std::int64_t Timeline::time_ns() const {
  std::int64_t time = std::max(host_ns_, submit_ns_);
  for (const std::int64_t end : stream_ns_) time = std::max(time, end);
  return time;
}

Timeline::State Timeline::state() const {
  return {host_ns_, stream_ns_, submit_ns_, {queue_.begin(), queue_.end()}};
}

Timeline::State Timeline::ahead_of_host() const {
  State ahead = state();
  const auto relative = [this](std::int64_t end) {
    return std::max<std::int64_t>(end - host_ns_, 0);
  };
  for (std::int64_t& end : ahead.stream_ns) end = relative(end);
  for (std::int64_t& end : ahead.queue) end = relative(end);
  std::erase(ahead.queue, 0);
  ahead.submit_ns = relative(ahead.submit_ns);
  ahead.host_ns = 0;
  return ahead;
}

void Timeline::shift(std::int64_t time_ns) {
  host_ns_ += time_ns;
  submit_ns_ += time_ns;
  for (std::int64_t& end : stream_ns_) end += time_ns;
  for (std::int64_t& end : queue_) end += time_ns;
}

void Timeline::restore(const State& state) {
  host_ns_ = state.host_ns;
  stream_ns_ = state.stream_ns;
  submit_ns_ = state.submit_ns;
  queue_.assign(state.queue.begin(), state.queue.end());
}

}  // namespace nb
