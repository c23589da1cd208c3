// Where the ranks of a World meet: a collective begins when all ranks of its group have called it
// with matching arguments, a transfer when its sender and its receiver have, and each fails on all
// when one cannot come. Not for other folders. Thread-safe: one thread per rank.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "model/collectives/communicator.hpp"
#include "model/device/op_desc.hpp"

namespace nb {

struct CollectiveCall {
  OpKind kind{};
  Reduce op = Reduce::kSum;
  int root = 0;            // in the group
  std::int64_t count = 0;  // of the whole vector
  DType dtype = DType::kFp32;
  std::string label;
  std::span<float> input, output;
  std::int64_t ready_ns = 0;  // on the rank's device
  std::string groups = {};    // of a split: "dp [0 1] [2 3]"
};

struct RankFailure {
  std::int64_t time_ns = 0;  // simulated, on the clock of the rank that met it
  int rank = 0;              // of the run
  std::string text;
  bool is_thrown = false;  // by the rank itself; else the others noticed it
  auto order() const { return std::tuple(time_ns, !is_thrown, rank, std::string_view(text)); }
};

class Meeting {
 public:
  struct Words {
    std::string mismatch;  // before the text of a mismatch ("EI0005: ")
    std::string timeout;
  };

  // The ranks of a group, by their numbers in the run, and what they are at. Members of it are
  // read between join() and leave() without the lock: nobody writes them then.
  struct Place {
    std::string name;  // "": all ranks
    std::vector<int> members;
    std::vector<CollectiveCall> calls;
    std::vector<std::vector<float>> pieces;  // what each member hands to the others
    std::int64_t start_ns = 0;               // simulated: the slowest rank's
    std::uint64_t collectives = 0;           // number of the present one

    std::vector<bool> here;
    int arrived = 0;
    std::uint64_t round = 0;  // rendezvous so far
  };

  Meeting(int ranks, std::chrono::milliseconds host_timeout, std::int64_t sim_timeout_ns,
          Words words);

  Place& all_ranks() { return all_; }
  // The place of group `index` of the split that `parent` is at: for each of its members the same.
  Place& place_of(const Place& parent, int index, std::string name, std::vector<int> members);

  // Returns when all members are here; then the place may be read until leave(). Throws
  // CollectiveFailure. `member` counts in the group.
  void join(Place& place, int member, CollectiveCall call);
  void wait_all(Place& place, int member);  // all have come this far in the present collective
  void leave(Place& place, int member);     // it is over for this rank once it is over for all

  // Of one rank: `transfers` in any order; returns when each has met its counterpart and its values
  // are there. start_ns of each is when both were ready.
  struct Posted {
    Transfer transfer;  // peers by their numbers in the run
    std::int64_t start_ns = 0;
  };
  void transfer(const Place& place, int rank, std::int64_t ready_ns, std::vector<Posted>& posted,
                std::string_view label);

  void finished(int rank);  // its body returned
  void stopped(int rank);   // its body ended with a failure that it was told
  void failed(int rank, std::int64_t time_ns, const std::string& text);  // its body threw
  std::optional<RankFailure> first_failure() const;  // after all threads have ended

 private:
  enum class Gone : std::uint8_t { kNo, kReturned, kFailed };
  // One end of a transfer that waits for the other.
  struct End {
    int rank = 0;
    std::int64_t ready_ns = 0;
    Posted* posted = nullptr;
    bool* is_met = nullptr;
  };
  // Group, sender, receiver, tag, and which end waits.
  using Line = std::tuple<const Place*, int, int, int, bool>;

  void check_calls(Place& place);
  void fail(const RankFailure& failure);
  void rendezvous(std::unique_lock<std::mutex>& lock, Place& place, int member);
  // What a rank waits for, in words and as questions.
  struct Wait {
    std::int64_t ready_ns = 0;
    std::string what;  // "send of 8 fp32 to rank 1 (grads, tag 0)"
    std::function<bool()> is_over;
    std::function<int()> absent;   // a rank that has not come
    std::function<int()> missing;  // one that never will, -1: none
  };
  void wait(std::unique_lock<std::mutex>& lock, int rank, const Wait& wait);
  void meet(const Line& line, const End& mine, const End& other, std::string_view label);
  [[noreturn]] void throw_failure() const;
  void throw_if_over(std::int64_t ready_ns) const;
  void check_deadlock();
  void leave_for_good(int rank, Gone how);
  std::string describe(const Place& place, int member) const;
  std::string place_text(const Place& place, std::string_view label) const;

  const std::chrono::milliseconds host_timeout_;
  const std::int64_t sim_timeout_ns_;
  const Words words_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Place all_;
  std::map<std::tuple<const Place*, std::uint64_t, int>, std::unique_ptr<Place>> places_;
  std::map<Line, End> waiting_ends_;
  std::map<int, const Wait*> blocked_;  // ranks that wait for what has not come
  std::vector<Gone> gone_;
  bool nobody_goes_on_ = false;
  std::optional<RankFailure> announced_;  // the first of failures_
  std::vector<RankFailure> failures_;
};

}  // namespace nb
