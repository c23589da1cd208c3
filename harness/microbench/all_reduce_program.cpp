// Gradient exchange on the simulated clock: one symmetric rank of up to 8 cards.
#include <vector>

#include "harness/microbench/programs.hpp"
#include "harness/microbench/timing.hpp"
#include "model/collectives/communicator.hpp"
#include "model/collectives/cost.hpp"
#include "model/collectives/world.hpp"
#include "model/device/device.hpp"

namespace nb {
namespace {

struct Size {
  const char* name;
  std::uint64_t bytes;
};
constexpr Size kSizes[] = {
    {"64KiB", 64u << 10}, {"1MiB", 1u << 20}, {"16MiB", 16u << 20}, {"256MiB", 256u << 20}};
constexpr int kMaxCards = 8;

int cards(const DeviceProfile& profile) {
  int count = kMaxCards;
  while (count > 1 && !lay_out_ranks(profile, count, 1, false)) count /= 2;
  return count;
}

// Two executing ranks: small whole numbers, so that every order of the sum gives the same.
bool sums_right(const DeviceProfile& profile) {
  Device first(profile, ExecutionMode::kExecute, {.index = 0, .ranks = 2, .trace_steps = 0});
  Device second(profile, ExecutionMode::kExecute, {.index = 1, .ranks = 2, .trace_steps = 0});
  World world({&first, &second});
  bool right = true;
  std::vector<std::vector<float>> values(2, std::vector<float>(100));
  const Result<void> done = world.run([&](Communicator& rank) {
    std::vector<float>& own = values[static_cast<std::size_t>(rank.rank())];
    for (std::size_t i = 0; i < own.size(); ++i)
      own[i] = static_cast<float>(static_cast<int>(i) * (rank.rank() + 1));
    rank.all_reduce({std::span(own), profile.numerics.collective}, Reduce::kSum, "verify");
  });
  for (const std::vector<float>& own : values)
    for (std::size_t i = 0; i < own.size(); ++i)
      right = right && own[i] == static_cast<float>(3 * i);
  return done.has_value() && right;
}

}  // namespace

void register_all_reduce(const MicrobenchRequest&, const DeviceProfile& profile) {
  const int count = cards(profile);
  for (const Size& size : kSizes) {
    register_simulated(std::string("all_reduce/") + size.name, [size, count,
                                                                &profile](benchmark::State& state) {
      if (count == 1) {
        state.SkipWithError((std::string(kUnmeasured) + "one card has no all-reduce").c_str());
        return std::int64_t{0};
      }
      if (!sums_right(profile)) state.SkipWithError("two ranks do not agree on the sum");
      Device device(profile, ExecutionMode::kDry, {.ranks = count, .trace_steps = 0});
      const auto communicator = symmetric_communicator(device, count);
      const DType wire = profile.numerics.collective;
      device.synchronize();
      const std::int64_t start_ns = device.time_ns();
      communicator->all_reduce({static_cast<std::int64_t>(size.bytes / storage_bytes(wire)), wire},
                               Reduce::kSum, "gradients");
      device.synchronize();
      const std::int64_t time_ns = device.time_ns() - start_ns;
      state.counters["bus_bandwidth_gb_s"] =
          bus_bandwidth_gb_s(OpKind::kAllReduce, size.bytes, count, time_ns);
      return time_ns;
    });
  }
}

}  // namespace nb
