// Not a test of the project but of the thread sanitizer build: two pieces of a parallel loop write
// one plain integer. The sanitizer must say so, or its silence elsewhere means nothing.

#include <cstdio>

#include "harness/base/parallel.hpp"

int main() {
  nb::set_threads(2);
  int shared = 0;
  nb::parallel_for(1000, 1, [&shared](std::size_t) { ++shared; });
  std::printf("%d\n", shared);
}
