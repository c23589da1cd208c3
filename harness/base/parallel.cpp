#include "harness/base/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "harness/base/check.hpp"

#ifdef NB_PLAIN_THREADS
#include <exception>
#include <mutex>
#else
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

#include <memory>
#endif

namespace nb {

namespace {

using Piece = std::function<void(std::size_t)>;

std::atomic<int>& wanted_threads() {
  static std::atomic<int> count{0};
  return count;
}

// True inside a piece of a loop: a loop started there stays with the threads of the outer one.
thread_local bool inside_loop = false;

class InsideLoop {
 public:
  InsideLoop() { inside_loop = true; }
  ~InsideLoop() { inside_loop = before_; }
  InsideLoop(const InsideLoop&) = delete;
  InsideLoop& operator=(const InsideLoop&) = delete;

 private:
  bool before_ = inside_loop;
};

// Hands out the pieces of one loop. Each worker has the same part of every loop, whose rows its
// cache may still hold from the loop before, and then helps the next worker.
class Pieces {
 public:
  Pieces(std::size_t count, std::size_t workers) : slices_(workers) {
    for (std::size_t w = 0; w < workers; ++w) {
      slices_[w].next = count * w / workers;
      slices_[w].end = count * (w + 1) / workers;
    }
  }

  void run(std::size_t worker, const Piece& piece) {
    const InsideLoop mark;
    try {
      for (std::size_t i = 0; i < slices_.size(); ++i) {
        Slice& slice = slices_[(worker + i) % slices_.size()];
        for (std::size_t p = slice.take(); p < slice.end; p = slice.take()) piece(p);
      }
    } catch (...) {
      for (Slice& slice : slices_) slice.next = slice.end;
      throw;
    }
  }

 private:
  struct alignas(64) Slice {
    std::atomic<std::size_t> next{0};
    std::size_t end = 0;
    // Relaxed: handing out pieces orders nothing between them, so a sanitizer sees every race.
    std::size_t take() { return next.fetch_add(1, std::memory_order_relaxed); }
  };
  std::vector<Slice> slices_;
};

#ifdef NB_PLAIN_THREADS

void run_pieces(std::size_t count, const Piece& piece) {
  const std::size_t wanted = inside_loop ? 1 : static_cast<std::size_t>(threads());
  const std::size_t workers = std::min(wanted, count);
  Pieces pieces(count, workers);
  std::exception_ptr first_failure;
  std::mutex failure_lock;
  const auto work = [&](std::size_t worker) {
    try {
      pieces.run(worker, piece);
    } catch (...) {
      const std::lock_guard lock(failure_lock);
      if (first_failure == nullptr) first_failure = std::current_exception();
    }
  };
  std::vector<std::thread> helpers;
  for (std::size_t i = 1; i < workers; ++i) helpers.emplace_back(work, i);
  work(0);
  for (std::thread& helper : helpers) helper.join();
  if (first_failure != nullptr) std::rethrow_exception(first_failure);
}

#else

// One arena for each thread that starts loops (main, every rank), so that ranks never wait for each
// other's slots, and so that more threads than cores can be had where a test asks for them.
tbb::task_arena& own_arena() {
  struct Arena {
    int size = 0;
    std::unique_ptr<tbb::task_arena> arena;
  };
  thread_local Arena own;
  if (own.size != threads()) {
    own.arena = std::make_unique<tbb::task_arena>(threads());
    own.size = threads();
  }
  return *own.arena;
}

void run_pieces(std::size_t count, const Piece& piece) {
  const std::size_t workers = std::min(static_cast<std::size_t>(threads()), count);
  Pieces pieces(count, workers);
  const auto work = [&](std::size_t) {
    const int slot = tbb::this_task_arena::current_thread_index();
    pieces.run(static_cast<std::size_t>(std::max(0, slot)), piece);
  };
  const auto loop = [&] {
    tbb::parallel_for(std::size_t{0}, workers, work, tbb::simple_partitioner());
  };
  // Isolated: a thread that waits inside a piece never starts another piece of the outer loop, so
  // thread-local scratch memory is safe in bodies.
  if (inside_loop)
    tbb::this_task_arena::isolate(loop);
  else
    own_arena().execute(loop);
}

// TBB's own limit on workers, raised or lowered to the wanted count.
void limit_workers(int count) {
  static std::unique_ptr<tbb::global_control> limit;
  limit.reset();
  limit = std::make_unique<tbb::global_control>(tbb::global_control::max_allowed_parallelism,
                                                static_cast<std::size_t>(count));
}

#endif

}  // namespace

void set_threads(int count) {
  NB_CHECK(count >= 0, "[set_threads] count is {}", count);
  wanted_threads() = count;
#ifndef NB_PLAIN_THREADS
  limit_workers(threads());
#endif
}

int threads() {
  const int wanted = wanted_threads();
  return wanted > 0 ? wanted : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

void parallel_for(std::size_t count, std::size_t grain,
                  const std::function<void(std::size_t)>& body) {
  parallel_chunks(count, grain, [&body](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) body(i);
  });
}

void parallel_chunks(std::size_t count, std::size_t chunk,
                     const std::function<void(std::size_t, std::size_t)>& body) {
  NB_CHECK(chunk > 0, "[parallel] pieces of 0 indices");
  const std::size_t pieces = count / chunk + (count % chunk != 0 ? 1 : 0);
  const auto piece = [&](std::size_t i) {
    body(i * chunk, i + 1 == pieces ? count : (i + 1) * chunk);
  };
  if (pieces <= 1 || threads() == 1) {
    for (std::size_t i = 0; i < pieces; ++i) piece(i);
    return;
  }
  run_pieces(pieces, piece);
}

}  // namespace nb
