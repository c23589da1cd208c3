#include "model/collectives/world.hpp"

#include <algorithm>
#include <thread>
#include <utility>

#include "harness/base/check.hpp"
#include "harness/base/parallel.hpp"
#include "model/collectives/cost.hpp"
#include "model/collectives/meeting.hpp"
#include "model/collectives/ring_order.hpp"

namespace nb {
namespace {

// What the ranks of one run share. pieces[r] is written by rank r between two rendezvous and read
// by the others after the second.
struct Shared {
  Meeting meeting;
  std::vector<std::vector<float>> pieces;
  std::uint64_t seed;
};

class RankCommunicator final : public Communicator {
 public:
  RankCommunicator(Device* device, int rank, int size, Shared* shared)
      : Communicator(device, rank, size), shared_(shared) {}

  void all_reduce(CollectiveBuffer x, Reduce op, std::string_view label) override {
    const CollectiveCall call = begin(OpKind::kAllReduce, x, x, x.count, op, 0, label);
    reduce_piece(call, piece_of(call.count, rank(), size()));
    shared_->meeting.wait_all(rank());
    for (int r = 0; r < size(); ++r) {
      const std::vector<float>& piece = shared_->pieces[static_cast<std::size_t>(r)];
      std::copy(piece.begin(), piece.end(),
                x.values.begin() + piece_of(call.count, r, size()).begin);
    }
    end(call);
  }

  void reduce_scatter(CollectiveBuffer input, CollectiveBuffer output, Reduce op,
                      std::string_view label) override {
    NB_CHECK(output.count * size() == input.count && input.dtype == output.dtype,
             "[reduce_scatter] {}: {} of {} elements on {} ranks", label, output.count, input.count,
             size());
    const CollectiveCall call =
        begin(OpKind::kReduceScatter, input, output, input.count, op, 0, label);
    reduce_piece(call, piece_of(call.count, rank(), size()));
    shared_->meeting.wait_all(rank());  // output may be part of an input that others still read
    const std::vector<float>& piece = shared_->pieces[static_cast<std::size_t>(rank())];
    std::copy(piece.begin(), piece.end(), output.values.begin());
    end(call);
  }

  void all_gather(CollectiveBuffer input, CollectiveBuffer output,
                  std::string_view label) override {
    NB_CHECK(input.count * size() == output.count && input.dtype == output.dtype,
             "[all_gather] {}: {} into {} elements on {} ranks", label, input.count, output.count,
             size());
    const CollectiveCall call =
        begin(OpKind::kAllGather, input, output, output.count, Reduce::kSum, 0, label);
    std::vector<float>& own = shared_->pieces[static_cast<std::size_t>(rank())];
    own.assign(input.values.begin(), input.values.end());
    round_to(call.dtype, own);
    shared_->meeting.wait_all(rank());
    auto out = output.values.begin();
    for (const std::vector<float>& piece : shared_->pieces) {
      out = std::copy(piece.begin(), piece.end(), out);
    }
    end(call);
  }

  void broadcast(CollectiveBuffer x, int root, std::string_view label) override {
    NB_CHECK(root >= 0 && root < size(), "[broadcast] {}: root {} of {} ranks", label, root,
             size());
    const CollectiveCall call = begin(OpKind::kBroadcast, x, x, x.count, Reduce::kSum, root, label);
    if (rank() == root) {
      std::vector<float>& sent = shared_->pieces[static_cast<std::size_t>(root)];
      sent.assign(x.values.begin(), x.values.end());
      round_to(call.dtype, sent);
    }
    shared_->meeting.wait_all(rank());
    const std::vector<float>& sent = shared_->pieces[static_cast<std::size_t>(root)];
    std::copy(sent.begin(), sent.end(), x.values.begin());
    end(call);
  }

  void barrier(std::string_view label) override {
    end(begin(OpKind::kBarrier, {0, DType::kFp32}, {0, DType::kFp32}, 0, Reduce::kSum, 0, label));
  }

 private:
  CollectiveCall begin(OpKind kind, const CollectiveBuffer& input, const CollectiveBuffer& output,
                       std::int64_t count, Reduce op, int root, std::string_view label) {
    NB_CHECK(std::ssize(input.values) == input.count && std::ssize(output.values) == output.count,
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
    shared_->meeting.join(rank(), call);
    return call;
  }

  void reduce_piece(const CollectiveCall& call, const Piece& piece) {
    std::vector<float>& sum = shared_->pieces[static_cast<std::size_t>(rank())];
    sum.resize(static_cast<std::size_t>(piece.end - piece.begin));
    std::vector<std::span<const float>> inputs;
    for (const CollectiveCall& other : shared_->meeting.calls()) {
      inputs.push_back(other.input.subspan(static_cast<std::size_t>(piece.begin), sum.size()));
    }
    const std::vector<int> order =
        summation_order(device().numerics().reduction_order, rank(), size(), shared_->seed,
                        shared_->meeting.sequence());
    reduce_in_order(inputs, order, call.op, call.dtype, sum);
  }

  void end(const CollectiveCall& call) {
    const std::uint64_t size_bytes =
        static_cast<std::uint64_t>(call.count) * storage_bytes(call.dtype);
    OpDesc desc;
    desc.kind = call.kind;
    desc.label = call.label;
    desc.count = call.count;
    desc.dtype = call.dtype;
    const std::int64_t start_ns = shared_->meeting.start_ns();
    shared_->meeting.leave(rank());
    if (size() == 1) return;
    const std::int64_t time_ns =
        collective_time_ns(call.kind, link_model(device().profile().links), size_bytes, size());
    device().run_collective(desc, start_ns, time_ns, size_bytes);
  }

  Shared* shared_;
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
    NB_CHECK(device != nullptr && device->executes(),
             "[world] its ranks execute; a dry run is one symmetric rank");
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
  Shared shared{{ranks, options_.host_timeout, links.timeout.whole() * 1000000000, words_of(links)},
                std::vector<std::vector<float>>(devices_.size()),
                options_.seed};
  std::vector<std::thread> threads;
  threads.reserve(devices_.size());
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      const SharedThreads share(ranks);
      RankCommunicator communicator(devices_[static_cast<std::size_t>(rank)], rank, ranks, &shared);
      try {
        body(communicator);
        shared.meeting.finished(rank);
      } catch (const CollectiveFailure&) {
        shared.meeting.finished(rank);  // told by the rank that failed first
      } catch (const std::exception& e) {
        shared.meeting.failed(rank, e.what());
      } catch (...) {
        shared.meeting.failed(rank, "an exception that is no std::exception");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (const auto failure = shared.meeting.first_failure()) return run_error(failure->text);
  return {};
}

}  // namespace nb
