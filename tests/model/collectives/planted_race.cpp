// Not a test of the project but of the thread sanitizer build: two ranks of a World write one plain
// integer between two barriers. The sanitizer must say so, or its silence over the World's tests
// means nothing.

#include <cstdio>

#include "model/collectives/world.hpp"

int main() {
  const nb::DeviceProfile profile = *nb::load_profile("tiny");
  nb::Device first(profile, nb::ExecutionMode::kExecute, {.index = 0, .ranks = 2});
  nb::Device second(profile, nb::ExecutionMode::kExecute, {.index = 1, .ranks = 2});
  int shared = 0;
  nb::World world({&first, &second});
  const nb::Result<void> done = world.run([&](nb::Communicator& c) {
    c.barrier("before");
    ++shared;
    c.barrier("after");
  });
  std::printf("%d %d\n", shared, done.has_value() ? 1 : 0);
}
