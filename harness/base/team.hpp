// The threads of one thread's loops. They stay awake for a moment after a loop, so that the next
// one starts within a microsecond: a decoded token has some seventy loops of 2 to 20 microseconds.
// How work is cut is parallel.hpp's business. One thread makes a team and starts all its loops.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace nb {

class Team {
 public:
  using Piece = std::function<void(std::size_t)>;

  // The calling thread and workers - 1 helpers; fewer where the system gives no more threads.
  explicit Team(std::size_t workers);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  std::size_t workers() const { return workers_; }

  // piece(p) for p in [0, count), each once. Each worker has the same part of every loop of as many
  // pieces, whose rows its cache may still hold, and then helps the next worker. No piece may call
  // run of the same team. The first exception stops the loop and is rethrown here.
  void run(std::size_t count, const Piece& piece);

 private:
  struct Shared;

  std::size_t workers_;
  std::shared_ptr<Shared> shared_;  // helpers may outlive the team by a moment
};

}  // namespace nb
