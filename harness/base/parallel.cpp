#include "harness/base/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <memory>

#include "harness/base/check.hpp"
#include "harness/base/host_info.hpp"
#include "harness/base/team.hpp"

namespace nb {

namespace {

std::atomic<int>& wanted_threads() {
  static std::atomic<int> count{0};
  return count;
}

thread_local int threads_shared_by = 1;

// True inside a piece of a loop: a loop started there stays on its thread.
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

// One team for each thread that starts loops (main, every rank).
Team& own_team() {
  thread_local std::unique_ptr<Team> own;
  const auto workers = static_cast<std::size_t>(threads());
  if (own == nullptr || own->workers() != workers) own = std::make_unique<Team>(workers);
  return *own;
}

}  // namespace

void set_threads(int count) {
  NB_CHECK(count >= 0, "[set_threads] count is {}", count);
  wanted_threads() = count;
}

int threads() {
  // Asked once: it is a call into the kernel, and every loop comes here.
  static const int cores = usable_cores();
  const int wanted = wanted_threads();
  const int all = wanted > 0 ? wanted : cores;
  return std::max(1, all / threads_shared_by);
}

SharedThreads::SharedThreads(int starters) : before_(threads_shared_by) {
  NB_CHECK(starters > 0, "[parallel] threads shared by {}", starters);
  threads_shared_by = starters;
}

SharedThreads::~SharedThreads() { threads_shared_by = before_; }

void parallel_for(std::size_t count, std::size_t grain,
                  const std::function<void(std::size_t)>& body) {
  parallel_chunks(count, grain, [&body](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) body(i);
  });
}

void parallel_chunks(std::size_t count, std::size_t chunk,
                     const std::function<void(std::size_t, std::size_t)>& body) {
  NB_CHECK(chunk > 0, "[parallel] pieces of 0 indices");
  const std::size_t chunks = count / chunk + (count % chunk != 0 ? 1 : 0);
  parallel_pieces(chunks, [&](Pieces& pieces) {
    while (const auto i = pieces.take())
      body(*i * chunk, *i + 1 == chunks ? count : (*i + 1) * chunk);
  });
}

void parallel_pieces(std::size_t count, const std::function<void(Pieces&)>& body) {
  if (count <= 1 || inside_loop || threads() == 1) {
    Pieces::Part all;
    all.end = count;
    Pieces pieces({&all, 1}, 0);
    return body(pieces);
  }
  own_team().run(count, [&body](Pieces& pieces) {
    const InsideLoop mark;
    body(pieces);
  });
}

}  // namespace nb
