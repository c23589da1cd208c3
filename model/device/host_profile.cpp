#include "model/device/host_profile.hpp"

namespace nb {

void HostProfile::start() {
  *this = {};
  resume();
}

void HostProfile::stop() {
  if (!is_recording_) return;
  elapsed_ns_ = elapsed_ns();
  is_recording_ = false;
}

void HostProfile::resume() {
  if (is_recording_) return;
  is_recording_ = true;
  ++spans_;
  started_ = Clock::now();
}

std::int64_t HostProfile::elapsed_ns() const {
  if (!is_recording_) return elapsed_ns_;
  return elapsed_ns_ +
         std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - started_).count();
}

void HostProfile::add_time(OpKind kind, std::string_view label, std::int64_t time_ns) {
  const auto at = index_.find(std::pair(kind, std::string(label)));
  if (at != index_.end()) entries_[at->second].time_ns += time_ns;
}

void HostProfile::add(const OpDesc& desc, std::int64_t time_ns, double flops,
                      std::uint64_t moved_bytes) {
  const auto [at, is_new] =
      index_.try_emplace({desc.kind, std::string(desc.label)}, entries_.size());
  if (is_new) {
    entries_.push_back({});
    entries_.back().kind = desc.kind;
    entries_.back().label = std::string(desc.label);
  }
  HostProfileEntry& entry = entries_[at->second];
  ++entry.calls;
  entry.time_ns += time_ns;
  entry.flops += flops;
  entry.moved_bytes += moved_bytes;
}

}  // namespace nb
