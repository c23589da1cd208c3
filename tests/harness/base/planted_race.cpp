// Not a test of the project but of the thread sanitizer build: two pieces of a parallel loop write
// one plain integer. The sanitizer must say so, or its silence elsewhere means nothing.

#include <atomic>
#include <cstdio>
#include <thread>

#include "harness/base/parallel.hpp"

int main() {
  nb::set_threads(2);
  int shared = 0;
  std::atomic<int> arrived{0};  // relaxed: it orders nothing, but both threads take part
  nb::parallel_for(2, 1, [&](std::size_t) {
    arrived.fetch_add(1, std::memory_order_relaxed);
    while (arrived.load(std::memory_order_relaxed) < 2) std::this_thread::yield();
    ++shared;
  });
  std::printf("%d\n", shared);
}
