// Where the ranks of a World meet: every collective begins when all have called it with matching
// arguments, and fails on all when one cannot come. Not for other folders. Thread-safe: one thread
// a rank.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "model/collectives/communicator.hpp"
#include "model/device/op_desc.hpp"

namespace nb {

struct CollectiveCall {
  OpKind kind{};
  Reduce op = Reduce::kSum;
  int root = 0;
  std::int64_t count = 0;  // of the whole vector
  DType dtype = DType::kFp32;
  std::string label;
  std::span<float> input, output;
  std::int64_t ready_ns = 0;  // on the rank's device
};

struct RankFailure {
  std::uint64_t sequence = 0;  // collectives that the rank had finished
  int rank = 0;
  std::string text;
  bool is_thrown = false;  // by the rank itself; else the others noticed it
  bool operator<(const RankFailure& other) const {
    if (sequence != other.sequence) return sequence < other.sequence;
    if (is_thrown != other.is_thrown) return is_thrown;
    return rank < other.rank;
  }
};

class Meeting {
 public:
  struct Words {
    std::string mismatch;  // before the text of a mismatch ("EI0005: ")
    std::string timeout;
  };

  Meeting(int ranks, std::chrono::milliseconds host_timeout, std::int64_t sim_timeout_ns,
          Words words);

  // Returns when all ranks are here; then calls() may be read until leave(). Throws
  // CollectiveFailure.
  void join(int rank, CollectiveCall call);
  void wait_all(int rank);  // all have come this far in the present collective
  void leave(int rank);     // the collective is over for this rank once it is for all

  const std::vector<CollectiveCall>& calls() const { return calls_; }
  std::int64_t start_ns() const { return start_ns_; }      // simulated: the slowest rank's
  std::uint64_t sequence() const { return collectives_; }  // number of the present collective

  void finished(int rank);                           // its body returned
  void failed(int rank, const std::string& text);    // its body threw
  std::optional<RankFailure> first_failure() const;  // after all threads have ended

 private:
  void check_calls();
  void fail_all(int rank, const std::string& text, bool is_thrown = false);
  void rendezvous(std::unique_lock<std::mutex>& lock, int rank);
  [[noreturn]] void throw_failure() const;
  std::string describe(int rank) const;

  const int ranks_;
  const std::chrono::milliseconds host_timeout_;
  const std::int64_t sim_timeout_ns_;
  const Words words_;

  mutable std::mutex mutex_;
  std::condition_variable all_here_;
  std::vector<CollectiveCall> calls_;
  std::vector<bool> here_, gone_;
  int arrived_ = 0;
  std::uint64_t round_ = 0;  // rendezvous so far
  std::uint64_t collectives_ = 0;
  std::int64_t start_ns_ = 0;
  std::optional<RankFailure> announced_;  // what waiting ranks are told
  std::vector<RankFailure> failures_;
};

}  // namespace nb
