#include "model/collectives/world.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <thread>
#include <utility>

#include "harness/base/check.hpp"
#include "harness/base/parallel.hpp"
#include "model/collectives/cost.hpp"
#include "model/collectives/meeting.hpp"
#include "model/collectives/ring_order.hpp"

namespace nb {
namespace {

// What the ranks of one run share.
struct Shared {
  Meeting meeting;
  std::uint64_t seed;
  double link_slowdown;
};

// "dp [0 1] [2 3]"
std::string groups_text(std::span<const std::vector<int>> groups, std::string_view name) {
  std::string text(name);
  for (const std::vector<int>& group : groups) text += fmt::format(" [{}]", fmt::join(group, " "));
  return text;
}

// One rank's end of a group. place.pieces[r] is written by member r between two rendezvous and read
// by the others after the second.
class RankCommunicator final : public Communicator {
 public:
  // parent: whose group it is; null: of all ranks.
  RankCommunicator(Device* device, int member, Shared* shared, Meeting::Place* place,
                   const Communicator* parent = nullptr)
      : Communicator(device, member, static_cast<int>(place->members.size())),
        shared_(shared),
        place_(place) {
    if (parent != nullptr) count_with(*parent);
  }

  void all_reduce(CollectiveBuffer x, Reduce op, std::string_view label) override {
    const CollectiveCall call = begin(OpKind::kAllReduce, x, x, x.count, op, 0, label);
    if (!device().executes()) return end(call);
    reduce_piece(call, piece_of(call.count, rank(), size()));
    wait_all();
    for (int r = 0; r < size(); ++r)
      std::ranges::copy(pieces(r), x.values.begin() + piece_of(call.count, r, size()).begin);
    end(call);
  }

  void reduce_scatter(CollectiveBuffer input, CollectiveBuffer output, Reduce op,
                      std::string_view label) override {
    NB_CHECK(output.count * size() == input.count && input.dtype == output.dtype,
             "[reduce_scatter] {}: {} of {} elements on {} ranks", label, output.count, input.count,
             size());
    const CollectiveCall call =
        begin(OpKind::kReduceScatter, input, output, input.count, op, 0, label);
    if (!device().executes()) return end(call);
    reduce_piece(call, piece_of(call.count, rank(), size()));
    wait_all();  // output may be part of an input that others still read
    std::ranges::copy(pieces(rank()), output.values.begin());
    end(call);
  }

  void all_gather(CollectiveBuffer input, CollectiveBuffer output,
                  std::string_view label) override {
    NB_CHECK(input.count * size() == output.count && input.dtype == output.dtype,
             "[all_gather] {}: {} into {} elements on {} ranks", label, input.count, output.count,
             size());
    const CollectiveCall call =
        begin(OpKind::kAllGather, input, output, output.count, Reduce::kSum, 0, label);
    hand_out(call);
    wait_all();
    auto out = output.values.begin();
    for (int r = 0; r < size(); ++r) out = std::ranges::copy(pieces(r), out).out;
    end(call);
  }

  void broadcast(CollectiveBuffer x, int root, std::string_view label) override {
    NB_CHECK(root >= 0 && root < size(), "[broadcast] {}: root {} of {} ranks", label, root,
             size());
    const CollectiveCall call = begin(OpKind::kBroadcast, x, x, x.count, Reduce::kSum, root, label);
    if (rank() == root) hand_out(call);
    wait_all();
    std::ranges::copy(pieces(root), x.values.begin());
    end(call);
  }

  void all_to_all(CollectiveBuffer input, CollectiveBuffer output,
                  std::string_view label) override {
    NB_CHECK(
        input.count == output.count && input.count % size() == 0 && input.dtype == output.dtype,
        "[all_to_all] {}: {} into {} elements on {} ranks", label, input.count, output.count,
        size());
    const CollectiveCall call =
        begin(OpKind::kAllToAll, input, output, input.count, Reduce::kSum, 0, label);
    if (!device().executes()) return end(call);
    hand_out(call);
    wait_all();
    const auto each = static_cast<std::size_t>(input.count / size());
    auto out = output.values.begin();
    for (int r = 0; r < size(); ++r)
      out = std::ranges::copy(
                std::span(pieces(r)).subspan(static_cast<std::size_t>(rank()) * each, each), out)
                .out;
    end(call);
  }

  void barrier(std::string_view label) override {
    end(begin(OpKind::kBarrier, {0, DType::kFp32}, {0, DType::kFp32}, 0, Reduce::kSum, 0, label));
  }

  void transfer(std::span<const Transfer> transfers, std::string_view label) override {
    std::vector<Meeting::Posted> posted;
    for (const Transfer& one : transfers) {
      NB_CHECK(one.peer >= 0 && one.peer < size(), "[transfer] {}: rank {} of {}", label, one.peer,
               size());
      NB_CHECK(!device().executes() || std::ssize(one.buffer.values) == one.buffer.count,
               "[transfer] {}: a rank of an executing World brings its values", label);
      posted.push_back({one});
      posted.back().transfer.peer = place_->members[static_cast<std::size_t>(one.peer)];
    }
    shared_->meeting.transfer(*place_, place_->members[static_cast<std::size_t>(rank())],
                              device().collective_ready_ns(), posted, label);
    for (const Meeting::Posted& one : posted) {
      const CollectiveBuffer& moved = one.transfer.buffer;
      charge(OpKind::kSendReceive, moved.count, moved.dtype, label, one.start_ns);
      if (one.transfer.sends)
        count_sent(OpKind::kSendReceive,
                   static_cast<std::uint64_t>(moved.count) * storage_bytes(moved.dtype));
    }
  }

  std::unique_ptr<Communicator> split(std::span<const std::vector<int>> groups,
                                      std::string_view name) override {
    CollectiveCall call;
    call.kind = OpKind::kBarrier;
    call.label = std::string(name);
    call.ready_ns = device().collective_ready_ns();
    call.groups = groups_text(groups, name);
    shared_->meeting.join(*place_, rank(), call);
    std::unique_ptr<Communicator> own;
    for (std::size_t g = 0; g < groups.size(); ++g) {
      const auto at = std::ranges::find(groups[g], rank());
      if (at == groups[g].end()) continue;
      NB_CHECK(own == nullptr, "[split] {}: rank {} is in two groups", name, rank());
      std::vector<int> members;
      for (const int member : groups[g]) {
        NB_CHECK(member >= 0 && member < size(), "[split] {}: rank {} of {}", name, member, size());
        members.push_back(place_->members[static_cast<std::size_t>(member)]);
      }
      Meeting::Place& place = shared_->meeting.place_of(*place_, static_cast<int>(g),
                                                        std::string(name), std::move(members));
      own = std::make_unique<RankCommunicator>(&device(), static_cast<int>(at - groups[g].begin()),
                                               shared_, &place, this);
    }
    shared_->meeting.leave(*place_, rank());
    return own;
  }

 private:
  std::vector<float>& pieces(int member) {
    return place_->pieces[static_cast<std::size_t>(member)];
  }
  void wait_all() { shared_->meeting.wait_all(*place_, rank()); }

  // This rank's values for the others, as they go over the wire.
  void hand_out(const CollectiveCall& call) {
    pieces(rank()).assign(call.input.begin(), call.input.end());
    round_to(call.dtype, pieces(rank()));
  }

  CollectiveCall begin(OpKind kind, const CollectiveBuffer& input, const CollectiveBuffer& output,
                       std::int64_t count, Reduce op, int root, std::string_view label) {
    NB_CHECK(!device().executes() || (std::ssize(input.values) == input.count &&
                                      std::ssize(output.values) == output.count),
             "[{}] {}: a rank of an executing World brings its values", name(kind), label);
    CollectiveCall call{kind,
                        op,
                        root,
                        count,
                        input.dtype,
                        std::string(label),
                        input.values,
                        output.values,
                        device().collective_ready_ns()};
    shared_->meeting.join(*place_, rank(), call);
    return call;
  }

  void reduce_piece(const CollectiveCall& call, const Piece& piece) {
    std::vector<float>& sum = pieces(rank());
    sum.resize(static_cast<std::size_t>(piece.end - piece.begin));
    std::vector<std::span<const float>> inputs;
    for (const CollectiveCall& other : place_->calls)
      inputs.push_back(other.input.subspan(static_cast<std::size_t>(piece.begin), sum.size()));
    const std::vector<int> order = summation_order(device().numerics().reduction_order, rank(),
                                                   size(), shared_->seed, place_->collectives);
    reduce_in_order(inputs, order, call.op, call.dtype, sum,
                    averaging_of(device().profile().links.library.value));
  }

  void end(const CollectiveCall& call) {
    const std::int64_t start_ns = place_->start_ns;
    shared_->meeting.leave(*place_, rank());
    if (size() > 1)
      count_sent(call.kind, static_cast<std::uint64_t>(call.count) * storage_bytes(call.dtype));
    charge(call.kind, call.count, call.dtype, call.label, start_ns);
  }

  void charge(OpKind kind, std::int64_t count, DType dtype, std::string_view label,
              std::int64_t start_ns) {
    if (size() == 1) return;
    const std::uint64_t size_bytes = static_cast<std::uint64_t>(count) * storage_bytes(dtype);
    OpDesc desc;
    desc.kind = kind;
    desc.label = label;
    desc.count = count;
    desc.dtype = dtype;
    LinkModel links = link_model(device().profile().links);
    if (shared_->link_slowdown != 1) links.bytes_per_ns /= shared_->link_slowdown;
    const std::int64_t time_ns = collective_time_ns(kind, links, size_bytes, size());
    // Transfers that were posted together follow each other.
    device().run_collective(desc, std::max(start_ns, device().collective_ready_ns()), time_ns,
                            size_bytes);
  }

  Shared* shared_;
  Meeting::Place* place_;
};

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

Result<void> World::run(const std::function<void(Communicator&)>& body) {
  const LinkProfile& links = devices_.front()->profile().links;
  const auto ranks = static_cast<int>(devices_.size());
  Shared shared{
      {ranks, options_.host_timeout,
       options_.sim_timeout_ns.value_or(links.timeout.whole() * 1000000000), words_of(links)},
      options_.seed,
      options_.link_slowdown};
  std::vector<std::thread> threads;
  threads.reserve(devices_.size());
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      const SharedThreads share(ranks);
      Device* const device = devices_[static_cast<std::size_t>(rank)];
      RankCommunicator communicator(device, rank, &shared, &shared.meeting.all_ranks());
      const auto failed = [&](const char* why) {
        shared.meeting.failed(rank, device->collective_ready_ns(), why);
      };
      try {
        body(communicator);
        shared.meeting.finished(rank);
      } catch (const CollectiveFailure&) {
        shared.meeting.stopped(rank);  // told by the rank that failed first
      } catch (const std::exception& e) {
        failed(e.what());
      } catch (...) {
        failed("an exception that is no std::exception");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (const auto failure = shared.meeting.first_failure()) return run_error(failure->text);
  return {};
}

}  // namespace nb
