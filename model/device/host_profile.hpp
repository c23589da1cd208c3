// Where the host's own time goes, op by op: Device::run adds one entry per call while recording,
// and costs nothing but a branch while not. Time of the host's clock, so never part of a metric or
// checkpoint. Not here: how it is shown. One device, one thread.
//
// Where one host kernel does the arithmetic of several ops (model/host), each gets a share of its
// time by the work that it asked for.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/device/op_desc.hpp"

namespace nb {

// All calls of one op kind with one label.
struct HostProfileEntry {
  OpKind kind{};
  std::string label;  // of the OpDesc: "transformer.h.0.attn.c_q.weight"
  std::int64_t calls = 0;
  std::int64_t time_ns = 0;       // of the arithmetic alone
  double flops = 0;               // of the products, as the device's lowering counts them
  std::uint64_t moved_bytes = 0;  // that the device's kernels would read and write
};

class HostProfile {
 public:
  using Clock = std::chrono::steady_clock;

  void start();  // forgets what was recorded before
  void stop();
  void resume();  // after stop(): goes on with what is there; without start(): starts
  bool recording() const { return is_recording_; }
  void add(const OpDesc& desc, std::int64_t time_ns, double flops, std::uint64_t moved_bytes);
  void add_time(OpKind kind, std::string_view label,
                std::int64_t time_ns);  // of an op added before
  void add_bookkeeping(std::int64_t time_ns) { bookkeeping_ns_ += time_ns; }

  const std::vector<HostProfileEntry>& entries() const { return entries_; }  // by first call
  std::int64_t elapsed_ns() const;                                           // without the pauses
  std::int64_t spans() const { return spans_; }  // times that it was started or resumed: steps
  // What Device::run itself took: lowering, simulated memory and time.
  std::int64_t bookkeeping_ns() const { return bookkeeping_ns_; }

 private:
  bool is_recording_ = false;
  Clock::time_point started_{};
  std::int64_t elapsed_ns_ = 0, spans_ = 0;  // elapsed: of the spans that ended
  std::int64_t bookkeeping_ns_ = 0;
  std::vector<HostProfileEntry> entries_;
  std::map<std::pair<OpKind, std::string>, std::size_t, std::less<>> index_;
};

}  // namespace nb
