#include "model/collectives/world.hpp"

#include <exception>
#include <thread>
#include <utility>

#include "harness/base/check.hpp"
#include "harness/base/common_work.hpp"
#include "harness/base/parallel.hpp"
#include "model/collectives/cost.hpp"
#include "model/collectives/meeting.hpp"
#include "model/collectives/rank_communicator.hpp"
#include "model/collectives/remote_ranks.hpp"

namespace nb {
namespace {

// How the library opens its error texts.
Meeting::Words words_of(const LinkProfile& links) {
  if (links.library.value == "hccl") return {"EI0005: ", "EI0002: "};
  if (links.library.value == "nccl") {
    return {"NCCL: ", "Watchdog caught collective operation timeout: "};
  }
  return {"", ""};
}

}  // namespace

World::World(std::vector<Device*> devices, const WorldOptions& options)
    : devices_(std::move(devices)), options_(options) {
  NB_CHECK(!devices_.empty(), "[world] no devices");
  for (const Device* device : devices_) {
    NB_CHECK(device != nullptr && device->executes() == devices_.front()->executes(),
             "[world] some of its ranks execute, others are dry");
    NB_CHECK(device->profile().name() == devices_.front()->profile().name() &&
                 device->numerics() == devices_.front()->numerics(),
             "[world] ranks on {} and {}", devices_.front()->profile().name(),
             device->profile().name());
  }
  // Sums over several nodes would be made in another order; only their time is modelled.
  const auto layout = lay_out_ranks(devices_.front()->profile(),
                                    static_cast<std::int64_t>(devices_.size()), 1, false);
  NB_CHECK(layout.has_value(), "[world] {}", layout.error().message);
}

namespace {

// body on one rank of this process, and how it ended.
void run_rank(const std::function<void(Communicator&)>& body, Meeting& meeting,
              Communicator& communicator) {
  const int rank = communicator.rank();
  const auto failed = [&](const char* why) {
    meeting.failed(rank, communicator.device().collective_ready_ns(), why);
  };
  try {
    body(communicator);
    meeting.finished(rank);
  } catch (const CollectiveFailure&) {
    meeting.stopped(rank);  // told by the rank that failed first
  } catch (const std::exception& e) {
    failed(e.what());
  } catch (...) {
    failed("an exception that is no std::exception");
  }
}

}  // namespace

Result<void> World::run(const std::function<void(Communicator&)>& body) {
  const LinkProfile& links = devices_.front()->profile().links;
  const auto ranks = static_cast<int>(devices_.size());
  const RemoteRanks* const remote = options_.remote;
  const auto is_here = [&](int rank) { return remote == nullptr || remote->is_here(rank); };
  const int sharing = remote == nullptr ? ranks : remote->on_this_machine();
  WorldShared shared{
      {ranks, options_.host_timeout,
       options_.sim_timeout_ns.value_or(links.timeout.whole() * 1000000000), words_of(links)},
      options_.seed,
      options_.link_slowdown};
  CommonWorkOfThreads common(ranks);
  const bool shares_work = ranks > 1 && devices_.front()->executes();
  const bool meets_here = remote == nullptr || remote->processes.leads();
  std::vector<std::thread> threads;
  threads.reserve(devices_.size());
  for (int rank = 0; rank < ranks; ++rank) {
    Device* const device = devices_[static_cast<std::size_t>(rank)];
    if (!meets_here && !is_here(rank)) continue;
    threads.emplace_back([&, rank, device] {
      if (!is_here(rank))
        return serve_rank(*remote, rank, *device, shared, common, options_.host_timeout);
      const SharedThreads share(sharing);
      if (!meets_here) return run_remote_rank(*remote, rank, *device, options_.link_slowdown, body);
      const CommonWork::Scope scope(shares_work ? &common : nullptr);
      RankCommunicator communicator(device, rank, &shared, &shared.meeting.all_ranks());
      run_rank(body, shared.meeting, communicator);
    });
  }
  for (std::thread& thread : threads) thread.join();
  const auto failure = shared.meeting.first_failure();
  if (remote != nullptr) return end_of_run(*remote, failure ? failure->text : "");
  if (failure) return run_error(failure->text);
  return {};
}

}  // namespace nb
