// The threads of one thread's loops. They stay awake for a moment after a loop, so that the next
// one starts within a microsecond: a decoded token has some seventy loops of 2 to 20 microseconds.
// How work is cut is parallel.hpp's business. One thread makes a team and starts all its loops.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>

namespace nb {

// What one worker takes of a loop: the pieces of its own part in order, then those that the next
// workers have left.
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

  // The next pieces, which are now this worker's: `most` of them, and towards the end of a part
  // half of what is left, so that all workers end at nearly the same time. None: the loop has no
  // more.
  std::optional<Range> take(std::size_t most);
  std::optional<std::size_t> take();
  // What take(most) will give, unless another worker is quicker; none where that is unlikely.
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

  // work(pieces) at most once on each worker: together they take every piece of [0, count) once.
  // Each worker has the same part of every loop of as many pieces, whose rows its cache may still
  // hold. No work may call run of the same team. The first exception stops the loop and is rethrown
  // here.
  void run(std::size_t count, const Work& work);

 private:
  struct Shared;

  std::size_t workers_;
  std::shared_ptr<Shared> shared_;  // helpers may outlive the team by a moment
};

}  // namespace nb
