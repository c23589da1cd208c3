// Data-parallel loops over a team of threads (team.hpp). Work is cut by shape, never by thread
// count, so results cannot depend on it. A loop inside a loop stays on its thread. An exception in
// the body stops the loop and is rethrown to the caller.
#pragma once

#include <cstddef>
#include <functional>

#include "harness/base/team.hpp"

namespace nb {

// Threads for all later loops; 0: every usable core. Call from main, before work starts.
void set_threads(int count);
// What a loop of the calling thread gets, itself included.
int threads();

// For threads that start loops side by side (ranks): while it lives, each of `starters` has its
// share of the threads, at least one.
class SharedThreads {
 public:
  explicit SharedThreads(int starters);
  ~SharedThreads();
  SharedThreads(const SharedThreads&) = delete;
  SharedThreads& operator=(const SharedThreads&) = delete;

 private:
  int before_;
};

// body(i) for i in [0, count), each once, in any order; grain: indices handed out together.
void parallel_for(std::size_t count, std::size_t grain,
                  const std::function<void(std::size_t)>& body);
// body(begin, end) over [0, count) cut into pieces of `chunk` (the last may be shorter).
void parallel_chunks(std::size_t count, std::size_t chunk,
                     const std::function<void(std::size_t, std::size_t)>& body);
// body(pieces) once on each thread that takes part, for loops that prepare the next index while
// they are at one: together they take every index of [0, count).
void parallel_pieces(std::size_t count, const std::function<void(Pieces&)>& body);

}  // namespace nb
