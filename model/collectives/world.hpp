// World: N ranks, each a thread with its own Device, that meet in collectives. Of dry devices they
// bring no values, and meet for the simulated clock alone: for ranks that do not do the same, as
// stages of a pipeline. A call that does not match, a rank that throws or leaves, and a wait that
// is too long end the collective on every rank with the first failing rank named. Used from one
// thread; ranks live inside run(), and share what they do alike (harness/base/common_work.hpp).
// With options.remote every process runs the ranks that are its own, with the same bits and times
// (remote_ranks.hpp).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "harness/base/result.hpp"
#include "model/collectives/communicator.hpp"

namespace nb {

struct RemoteRanks;

struct WorldOptions {
  std::chrono::milliseconds host_timeout{600000};  // real time that a rank waits for the others
  std::uint64_t seed = 0;  // of the permutation when the order is "unordered"
  // How long a rank waits for the slowest on the simulated clock; none: the profile's time-out.
  std::optional<std::int64_t> sim_timeout_ns = {};
  double link_slowdown = 1;  // of the slowest link, which all others wait for
  // Where some of the ranks run, of a World that is made in several processes; null: all here.
  const RemoteRanks* remote = nullptr;
};

class World {
 public:
  // One rank for each device; the devices outlive the World.
  explicit World(std::vector<Device*> devices, const WorldOptions& options = {});

  // Runs body on every rank and waits for all. Error (exit 4): "rank 3: …" of the first failure, by
  // collective number, then rank.
  Result<void> run(const std::function<void(Communicator&)>& body);

 private:
  std::vector<Device*> devices_;
  WorldOptions options_;
};

}  // namespace nb
