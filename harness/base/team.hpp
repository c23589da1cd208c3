// A team is the threads that run one thread's loops. Its helpers stay awake for a moment after a
// loop, so that the next loop starts within a microsecond: a decoded token has some seventy loops
// of 2 to 20 microseconds. parallel.hpp decides how work is cut. One thread makes a team and starts
// all its loops. oneTBB's parallel_for (static partitioner, the same parts) in its place: of two
// threads' peak a d2 step reaches 0.526 in place of 0.537, a d4 that decodes 64 sequences 0.552 in
// place of 0.572 (npubench_microbench step and engine in turn, Zen 4, two cores).
//
// 1. A loop has pieces [0, count). They are shared out as one part per worker; workers have the
//    same parts in every loop of as many pieces, because their caches may still hold those rows.
// 2. A worker takes the pieces of its own part in ascending order, then those that are left in the
//    parts of the next workers.
// 3. Each piece is taken once. run() returns when all have been taken and no worker is inside.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>

namespace nb {

// The pieces that one worker takes of a loop.
class Pieces {
 public:
  struct alignas(64) Part {
    std::atomic<std::size_t> next{0};
    std::size_t end = 0;
  };

  Pieces(std::span<Part> parts, std::size_t own) : parts_(parts), own_(own) {}

  // Pieces in a row, at least one.
  struct Range {
    std::size_t begin = 0, end = 0;
    bool operator==(const Range&) const = default;
  };

  // The next pieces, which are now this worker's: `most` of them, or, towards the end of a part,
  // half of what is left there, so that all workers end at nearly the same time. None: the loop has
  // no more.
  std::optional<Range> take(std::size_t most);
  std::optional<std::size_t> take();
  // What take(most) will give unless another worker is quicker. None: that is unlikely.
  std::optional<Range> expected(std::size_t most) const;

 private:
  Part& part() const { return parts_[(own_ + passed_) % parts_.size()]; }
  Range some(std::size_t next, std::size_t most) const;

  std::span<Part> parts_;
  std::size_t own_, passed_ = 0;
};

class Team {
 public:
  using Work = std::function<void(Pieces&)>;

  // The calling thread and workers - 1 helpers; fewer where the system gives no more threads.
  explicit Team(std::size_t workers);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  std::size_t workers() const { return workers_; }

  // Calls work(pieces) at most once on each worker. No work may call run() of the same team. The
  // first exception stops the loop and is rethrown here.
  void run(std::size_t count, const Work& work);

 private:
  struct Shared;

  std::size_t workers_;
  std::shared_ptr<Shared> shared_;  // helpers may outlive the team by a moment
};

}  // namespace nb
