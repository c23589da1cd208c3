// Not a test of the project but of the thread sanitizer build: two ranks of a World write one plain
// integer between two barriers. The sanitizer must say so, or its silence over the World's tests
// means nothing.

#include <atomic>
#include <cstdio>
#include <thread>

#include "model/collectives/world.hpp"

int main() {
  const nb::DeviceProfile profile = *nb::load_profile("tiny");
  nb::Device first(profile, nb::ExecutionMode::kExecute, {.index = 0, .ranks = 2});
  nb::Device second(profile, nb::ExecutionMode::kExecute, {.index = 1, .ranks = 2});
  // Each alone on its line: the sanitizer's memory of a line is short, and the spinning would fill
  // it. The counter is relaxed: it orders nothing, but both ranks are past the barrier before
  // either writes.
  alignas(64) int shared = 0;
  alignas(64) std::atomic<int> inside{0};
  nb::World world({&first, &second});
  const nb::Result<void> done = world.run([&](nb::Communicator& c) {
    c.barrier("before");
    inside.fetch_add(1, std::memory_order_relaxed);
    while (inside.load(std::memory_order_relaxed) < 2) std::this_thread::yield();
    ++shared;
    c.barrier("after");
  });
  std::printf("%d %d\n", shared, done.has_value() ? 1 : 0);
}
