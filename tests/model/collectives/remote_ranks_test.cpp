// Ranks of a World in two processes, which are threads here. Over MPI:
// tests/e2e/processes_test.cpp.
#include "model/collectives/remote_ranks.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "model/collectives/world.hpp"

namespace nb {
namespace {

// What is under way between the processes.
struct Wires {
  std::mutex mutex;
  std::condition_variable came;
  std::map<std::tuple<int, int, int>, std::deque<std::string>> queues;  // from, to, queue
};

class WiredProcess final : public Processes {
 public:
  WiredProcess(Wires& wires, int index, int count)
      : Processes(index, count, count), wires_(wires) {}
  void send(int to, int queue, std::string_view bytes) override {
    const std::lock_guard lock(wires_.mutex);
    wires_.queues[{index(), to, queue}].emplace_back(bytes);
    wires_.came.notify_all();
  }
  std::optional<std::string> receive(int from, int queue,
                                     std::optional<std::chrono::milliseconds> limit) override {
    std::unique_lock lock(wires_.mutex);
    std::deque<std::string>& own = wires_.queues[{from, index(), queue}];
    const auto is_there = [&] { return !own.empty(); };
    if (!limit)
      wires_.came.wait(lock, is_there);
    else if (!wires_.came.wait_for(lock, *limit, is_there))
      return std::nullopt;
    std::string bytes = std::move(own.front());
    own.pop_front();
    return bytes;
  }

 private:
  Wires& wires_;
};

// body on every rank, in `processes` processes; what the leading one says of it.
Result<void> run_in_processes(int processes, int ranks,
                              const std::function<void(Communicator&)>& body) {
  Wires wires;
  std::vector<std::string> failures(static_cast<std::size_t>(processes));
  const auto run = [&](int index) {
    WiredProcess process(wires, index, processes);
    const RemoteRanks remote{process, ranks};
    std::vector<std::unique_ptr<Device>> devices;
    std::vector<Device*> all;
    for (int r = 0; r < ranks; ++r)
      all.push_back(
          devices
              .emplace_back(std::make_unique<Device>(*load_profile("tiny"), ExecutionMode::kExecute,
                                                     DeviceOptions{.index = r, .ranks = ranks}))
              .get());
    WorldOptions options;
    options.remote = &remote;
    const Result<void> done = World(all, options).run(body);
    if (!done) failures[static_cast<std::size_t>(index)] = done.error().message;
  };
  std::vector<std::thread> others;
  for (int index = 1; index < processes; ++index) others.emplace_back(run, index);
  run(0);
  for (std::thread& other : others) other.join();
  for (const std::string& failure : failures) EXPECT_EQ(failure, failures.front());
  if (!failures.front().empty()) return run_error(failures.front());
  return {};
}

// values doubled, where nobody has done it; how many pieces of work this was.
std::size_t double_in_common(std::vector<std::vector<float>>& values, std::size_t at_once) {
  std::size_t done = 0;
  const std::vector<std::span<float>> spans(values.begin(), values.end());
  const std::vector<std::string> kinds(values.size(), "double");
  CommonWork::of_thread()->run(kinds, spans, at_once, [&](std::span<const std::size_t> some) {
    for (const std::size_t place : some)
      for (float& value : values[place]) value *= 2;
    done += some.size();
  });
  return done;
}

TEST(RemoteRanks, WorkOnEqualBytesIsDoneOnceInAllProcesses) {
  for (const auto& [processes, ranks] : {std::pair{2, 2}, std::pair{2, 4}, std::pair{3, 3}})
    for (const std::size_t at_once : {1, 2, 8}) {
      std::atomic<std::size_t> pieces = 0;
      const auto done = run_in_processes(processes, ranks, [&](Communicator& world) {
        for (int step = 0; step < 3; ++step) {
          const auto first = static_cast<float>(step);
          std::vector<std::vector<float>> values = {{first, 2, 3}, {4, 5}, {6}, {7, 8}};
          pieces += double_in_common(values, at_once);
          EXPECT_EQ(values,
                    (std::vector<std::vector<float>>{{2 * first, 4, 6}, {8, 10}, {12}, {14, 16}}));
          world.barrier("step");
        }
      });
      ASSERT_TRUE(done.has_value()) << done.error().message;
      EXPECT_EQ(pieces, 3 * 4);
    }
}

TEST(RemoteRanks, WhoDiffersInABitWorksAlone) {
  std::atomic<std::size_t> pieces = 0;
  const auto done = run_in_processes(2, 4, [&](Communicator& world) {
    const bool differs = world.rank() == 2;
    std::vector<std::vector<float>> values = {{differs ? -0.0F : 0.0F, 1}, {5}};
    pieces += double_in_common(values, 1);
    EXPECT_EQ(std::signbit(values[0][0]), differs);
    EXPECT_EQ(values, (std::vector<std::vector<float>>{{0, 2}, {10}}));
  });
  ASSERT_TRUE(done.has_value()) << done.error().message;
  EXPECT_EQ(pieces, 3);
}

// Waits until `asked` is there, so that the other rank gets its part, however fast this one is.
void wait_for(const std::atomic<bool>& asked) {
  const auto begin = std::chrono::steady_clock::now();
  while (!asked && std::chrono::steady_clock::now() - begin < std::chrono::seconds(20))
    std::this_thread::yield();
}

// What a rank did in another process is everybody's.
TEST(RemoteRanks, ARankInAnotherProcessDoesItsPart) {
  for (const int waits : {0, 1}) {
    std::atomic<bool> asked = false;
    std::atomic<std::size_t> pieces = 0;
    const auto done = run_in_processes(2, 2, [&](Communicator& world) {
      std::vector<std::vector<float>> values = {{1}, {2}, {3}, {4}};
      const std::vector<std::span<float>> spans(values.begin(), values.end());
      const std::vector<std::string> kinds(values.size(), "double");
      CommonWork::of_thread()->run(kinds, spans, 1, [&](std::span<const std::size_t> some) {
        if (world.rank() == waits)
          wait_for(asked);
        else
          asked = true;
        for (const std::size_t place : some) values[place][0] *= 2;
        pieces += some.size();
      });
      EXPECT_EQ(values, (std::vector<std::vector<float>>{{2}, {4}, {6}, {8}}));
      world.barrier("end");
    });
    ASSERT_TRUE(done.has_value()) << done.error().message;
    EXPECT_TRUE(asked);
    EXPECT_EQ(pieces, 4);
  }
}

// The rank that fails is named, and nobody waits for what it was to do.
TEST(RemoteRanks, WhoFailsAtItsWorkLeavesItToTheOthers) {
  for (const int fails : {0, 1}) {
    std::atomic<bool> asked = false;
    const auto done = run_in_processes(2, 2, [&](Communicator& world) {
      std::vector<std::vector<float>> values = {{1}, {2}, {3}, {4}};
      const std::vector<std::span<float>> spans(values.begin(), values.end());
      const std::vector<std::string> kinds(values.size(), "double");
      CommonWork::of_thread()->run(kinds, spans, 1, [&](std::span<const std::size_t> some) {
        if (world.rank() == fails) {
          asked = true;
          throw std::runtime_error("no more");
        }
        wait_for(asked);
        for (const std::size_t place : some) values[place][0] *= 2;
      });
      EXPECT_EQ(values, (std::vector<std::vector<float>>{{2}, {4}, {6}, {8}}));
      world.barrier("end");
    });
    ASSERT_FALSE(done.has_value());
    EXPECT_EQ(done.error().message, fmt::format("rank {}: no more", fails));
  }
}

}  // namespace
}  // namespace nb
