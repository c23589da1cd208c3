#include "model/collectives/world.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "harness/base/parallel.hpp"
#include "model/collectives/cost.hpp"
#include "model/collectives/ring_order.hpp"

namespace nb {
namespace {

// Ranks of `count` tiny devices; each test has its own.
class Ranks {
 public:
  explicit Ranks(int count, ReductionOrder order = ReductionOrder::kRing,
                 const std::string& profile = "tiny") {
    DeviceProfile p = *load_profile(profile);
    p.numerics.reduction_order = order;
    for (int r = 0; r < count; ++r) {
      devices_.push_back(std::make_unique<Device>(p, ExecutionMode::kExecute,
                                                  DeviceOptions{.index = r, .ranks = count}));
    }
  }
  std::vector<Device*> all() const {
    std::vector<Device*> devices;
    for (const auto& device : devices_) devices.push_back(device.get());
    return devices;
  }
  Device& operator[](std::size_t rank) { return *devices_[rank]; }

 private:
  std::vector<std::unique_ptr<Device>> devices_;
};

CollectiveBuffer fp32(std::vector<float>& values) { return {std::span(values), DType::kFp32}; }

std::string error_of(const Result<void>& result) {
  return result.has_value() ? "" : result.error().message;
}

// Values whose fp32 sum depends on the order.
float value_of(int rank, std::size_t i) {
  return (rank % 2 == 0 ? 1.0f : -1.0f) * (1.0f + static_cast<float>(rank) * 16777.25f) /
         (1.0f + static_cast<float>(i));
}

TEST(World, AllReduceAddsInRingOrderOnEveryRank) {
  constexpr std::size_t kCount = 37;
  for (const int p : {1, 2, 3, 8}) {
    Ranks ranks(p);
    std::vector<std::vector<float>> x(static_cast<std::size_t>(p), std::vector<float>(kCount));
    World world(ranks.all());
    const Result<void> done = world.run([&](Communicator& c) {
      auto& mine = x[static_cast<std::size_t>(c.rank())];
      for (std::size_t i = 0; i < kCount; ++i) mine[i] = value_of(c.rank(), i);
      c.all_reduce(fp32(mine), Reduce::kSum, "grads");
    });
    ASSERT_TRUE(done.has_value()) << error_of(done);
    for (int piece = 0; piece < p; ++piece) {
      const Piece range = piece_of(kCount, piece, p);
      for (auto i = static_cast<std::size_t>(range.begin); i < static_cast<std::size_t>(range.end);
           ++i) {
        float sum = value_of((piece + 1) % p, i);
        for (int r = 2; r <= p; ++r) sum += value_of((piece + r) % p, i);
        for (const auto& mine : x) ASSERT_EQ(mine[i], sum) << p << " ranks, element " << i;
      }
    }
  }
}

TEST(World, RanksShareTheThreadsOfTheProcess) {
  for (const auto& [all, each] : {std::pair{8, 4}, std::pair{1, 1}}) {
    set_threads(all);
    Ranks ranks(2);
    World world(ranks.all());
    std::vector<int> threads_of(2);
    ASSERT_TRUE(world.run(
        [&](Communicator& c) { threads_of[static_cast<std::size_t>(c.rank())] = threads(); }));
    EXPECT_EQ(threads_of, std::vector<int>(2, each)) << all;
    EXPECT_EQ(threads(), all);
  }
  set_threads(0);
}

TEST(World, EveryOrderGivesTheSameBitsEveryTime) {
  for (const ReductionOrder order :
       {ReductionOrder::kRing, ReductionOrder::kMesh, ReductionOrder::kUnordered}) {
    std::vector<float> first;
    for (int repeat = 0; repeat < 10; ++repeat) {
      Ranks ranks(4, order);
      std::vector<std::vector<float>> x(4, std::vector<float>(100));
      World world(ranks.all(), {.seed = 5});
      ASSERT_TRUE(world
                      .run([&](Communicator& c) {
                        auto& mine = x[static_cast<std::size_t>(c.rank())];
                        for (int call = 0; call < 3; ++call) {
                          for (std::size_t i = 0; i < mine.size(); ++i)
                            mine[i] += value_of(c.rank(), i);
                          c.all_reduce(fp32(mine), Reduce::kAverage, "grads");
                        }
                      })
                      .has_value());
      if (repeat == 0) first = x[0];
      for (const auto& mine : x) ASSERT_EQ(mine, first);
    }
  }
}

TEST(World, ScatterThenGatherIsAnAllReduce) {
  Ranks ranks(4);
  std::vector<std::vector<float>> whole(4, std::vector<float>(40)), gathered = whole;
  World world(ranks.all());
  ASSERT_TRUE(world
                  .run([&](Communicator& c) {
                    const auto r = static_cast<std::size_t>(c.rank());
                    std::vector<float> input(40), piece(10);
                    for (std::size_t i = 0; i < 40; ++i)
                      input[i] = whole[r][i] = value_of(c.rank(), i);
                    c.reduce_scatter(fp32(input), fp32(piece), Reduce::kAverage, "grads");
                    c.all_gather(fp32(piece), fp32(gathered[r]), "weights");
                    c.all_reduce(fp32(whole[r]), Reduce::kAverage, "grads");
                    c.barrier("end");
                  })
                  .has_value());
  for (std::size_t r = 0; r < 4; ++r) EXPECT_EQ(gathered[r], whole[0]);
}

TEST(World, ScatterAndGatherWorkInPlace) {
  Ranks ranks(2);
  std::vector<std::vector<float>> x = {{1, 2, 3, 4}, {10, 20, 30, 40}};
  World world(ranks.all());
  ASSERT_TRUE(world
                  .run([&](Communicator& c) {
                    auto& mine = x[static_cast<std::size_t>(c.rank())];
                    const auto piece =
                        std::span<float>(mine).subspan(static_cast<std::size_t>(c.rank()) * 2, 2);
                    c.reduce_scatter(fp32(mine), {piece, DType::kFp32}, Reduce::kSum, "grads");
                    c.all_gather({piece, DType::kFp32}, fp32(mine), "weights");
                  })
                  .has_value());
  EXPECT_EQ(x[0], (std::vector<float>{11, 22, 33, 44}));
  EXPECT_EQ(x[1], x[0]);
}

TEST(World, BroadcastGivesTheRootsValues) {
  Ranks ranks(3);
  std::vector<std::vector<float>> x = {{1, 1}, {2, 2}, {3.0078125f, 3}};
  World world(ranks.all());
  ASSERT_TRUE(world
                  .run([&](Communicator& c) {
                    auto& mine = x[static_cast<std::size_t>(c.rank())];
                    c.broadcast({std::span<float>(mine), DType::kBf16}, 2, "w");
                  })
                  .has_value());
  for (const auto& mine : x) EXPECT_EQ(mine, (std::vector<float>{3, 3}));
}

TEST(World, CollectiveStartsWithTheSlowestRank) {
  Ranks ranks(2);
  World world(ranks.all());
  ASSERT_TRUE(world
                  .run([&](Communicator& c) {
                    OpDesc add;
                    add.kind = OpKind::kAdd;
                    add.rows = c.rank() == 1 ? 500 : 1;  // 1 operation an element, 1 ns each
                    add.cols = 2;
                    c.device().run(add, [] {});
                    std::vector<float> x(10);
                    c.all_reduce(fp32(x), Reduce::kSum, "grads");
                  })
                  .has_value());
  const std::int64_t expected = 1000 + 2 * (1 + 20);
  EXPECT_EQ(ranks[0].time_ns(), expected);
  EXPECT_EQ(ranks[1].time_ns(), expected);
}

TEST(World, ThrowingRankIsNamedAndEndsTheOthers) {
  for (int repeat = 0; repeat < 20; ++repeat) {
    Ranks ranks(4);
    World world(ranks.all());
    std::vector<int> told(4, -1);
    const Result<void> done = world.run([&](Communicator& c) {
      std::vector<float> x(8);
      c.all_reduce(fp32(x), Reduce::kSum, "first");
      if (c.rank() == 2) throw std::runtime_error("NPU out of memory.");
      try {
        c.all_reduce(fp32(x), Reduce::kSum, "second");
      } catch (const CollectiveFailure& e) {
        told[static_cast<std::size_t>(c.rank())] = e.rank();
        throw;
      }
    });
    EXPECT_EQ(error_of(done), "rank 2: NPU out of memory.");
    EXPECT_EQ(told, (std::vector<int>{2, 2, -1, 2}));
  }
}

TEST(World, FirstOfSeveralFailuresIsReported) {
  for (int repeat = 0; repeat < 20; ++repeat) {
    Ranks ranks(4);
    World world(ranks.all());
    const Result<void> done = world.run([&](Communicator& c) {
      std::vector<float> x(8);
      if (c.rank() == 3) throw std::runtime_error("three");
      if (c.rank() == 1) throw std::runtime_error("one");
      c.all_reduce(fp32(x), Reduce::kSum, "x");
    });
    EXPECT_EQ(error_of(done), "rank 1: one");
  }
}

TEST(World, MismatchedCallsFailAsOnTheDevice) {
  Ranks ranks(3, ReductionOrder::kMesh, "ascend_910b3");
  World world(ranks.all());
  const Result<void> done = world.run([&](Communicator& c) {
    std::vector<float> x(c.rank() == 1 ? 8320 : 16512);
    c.all_reduce(fp32(x), Reduce::kSum, "grads");
  });
  EXPECT_EQ(error_of(done),
            "EI0005: collective 0 (grads): rank 1 calls all_reduce of 8320 fp32, rank 0 calls "
            "all_reduce of 16512 fp32");
}

TEST(World, OtherKindsAndTypesAreMismatchesToo) {
  Ranks ranks(2);
  World world(ranks.all());
  const auto run = [&](auto second) {
    return error_of(world.run([&](Communicator& c) {
      std::vector<float> x(8);
      if (c.rank() == 1) {
        second(c, x);
      } else {
        c.all_reduce(fp32(x), Reduce::kSum, "x");
      }
    }));
  };
  EXPECT_NE(run([](Communicator& c, auto&) { c.barrier("y"); }).find("rank 1 calls barrier"),
            std::string::npos);
  EXPECT_NE(run([](Communicator& c, auto& x) {
              c.all_reduce({std::span<float>(x), DType::kBf16}, Reduce::kSum, "y");
            }).find("all_reduce of 8 bf16"),
            std::string::npos);
  EXPECT_NE(run([](Communicator& c, auto& x) {
              c.all_reduce(fp32(x), Reduce::kMax, "y");
            }).find("all_reduce maximum of 8"),
            std::string::npos);
}

TEST(World, ALostRankIsNamed) {
  for (int repeat = 0; repeat < 20; ++repeat) {
    Ranks ranks(3);
    World world(ranks.all());
    const Result<void> done = world.run([&](Communicator& c) {
      std::vector<float> x(8);
      c.all_reduce(fp32(x), Reduce::kSum, "first");
      if (c.rank() == 1) return;  // uneven batches: this rank has one step less
      c.all_reduce(fp32(x), Reduce::kSum, "second");
    });
    EXPECT_EQ(error_of(done),
              "rank 1 has ended; the others are waiting in all_reduce (second), collective 1");
  }
}

TEST(World, ARankThatIsFarBehindTimesOut) {
  Ranks ranks(2, ReductionOrder::kRing, "h100_sxm");
  World world(ranks.all());
  const Result<void> done = world.run([&](Communicator& c) {
    if (c.rank() == 1) {
      OpDesc copy;  // 601 s of the host link at 50 GB/s
      copy.kind = OpKind::kHostToDevice;
      copy.count = 601ll * 50 * 1000000000 / 4;
      c.device().run(copy, [] {});
    }
    c.barrier("step");
  });
  EXPECT_EQ(
      error_of(done),
      "Watchdog caught collective operation timeout: collective 0 (step): rank 1 is 601000 ms "
      "behind, more than 600000 ms (simulated)");
}

TEST(World, ARankThatNeverComesTimesOut) {
  Ranks ranks(2);
  World world(ranks.all(), {.host_timeout = std::chrono::milliseconds(30)});
  std::promise<void> given_up;
  const Result<void> done = world.run([&](Communicator& c) {
    if (c.rank() == 1) return given_up.get_future().wait();  // longer than the other waits
    try {
      c.barrier("step");
    } catch (const CollectiveFailure&) {
      given_up.set_value();
      throw;
    }
  });
  EXPECT_EQ(error_of(done), "rank 1 did not reach barrier (step), collective 0, within 30 ms");
}

TEST(World, CanRunAgain) {
  Ranks ranks(2);
  World world(ranks.all());
  EXPECT_FALSE(world.run([](Communicator&) { throw std::runtime_error("x"); }).has_value());
  EXPECT_TRUE(world.run([](Communicator& c) { c.barrier("x"); }).has_value());
}

}  // namespace
}  // namespace nb
