#include "model/collectives/rank_communicator.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "harness/base/check.hpp"
#include "model/collectives/cost.hpp"

namespace nb {
namespace {

// "dp [0 1] [2 3]"
std::string groups_text(std::span<const std::vector<int>> groups, std::string_view name) {
  std::string text(name);
  for (const std::vector<int>& group : groups) text += fmt::format(" [{}]", fmt::join(group, " "));
  return text;
}

}  // namespace

RankCommunicator::RankCommunicator(Device* device, int member, WorldShared* shared,
                                   Meeting::Place* place, const Communicator* parent)
    : Communicator(device, member, static_cast<int>(place->members.size())),
      shared_(shared),
      place_(place) {
  if (parent != nullptr) count_with(*parent);
}

void RankCommunicator::all_reduce(CollectiveBuffer x, Reduce op, std::string_view label) {
  const CollectiveCall call = begin(OpKind::kAllReduce, x, x, x.count, op, 0, label);
  if (!device().executes()) return end(call);
  const auto own = [&](const CollectiveCall& of, int r) {
    const Piece piece = piece_of(call.count, r, size());
    return of.output.subspan(static_cast<std::size_t>(piece.begin),
                             static_cast<std::size_t>(piece.end - piece.begin));
  };
  // In place: of a rank's own piece nobody else reads its values before wait_all().
  reduce_piece(call, piece_of(call.count, rank(), size()), own(call, rank()));
  wait_all();
  for (int r = 0; r < size(); ++r)
    if (r != rank())
      std::ranges::copy(own(place_->calls[static_cast<std::size_t>(r)], r), own(call, r).begin());
  end(call);
}

void RankCommunicator::reduce_scatter(CollectiveBuffer input, CollectiveBuffer output, Reduce op,
                                      std::string_view label) {
  NB_CHECK(output.count * size() == input.count && input.dtype == output.dtype,
           "[reduce_scatter] {}: {} of {} elements on {} ranks", label, output.count, input.count,
           size());
  const CollectiveCall call =
      begin(OpKind::kReduceScatter, input, output, input.count, op, 0, label);
  if (!device().executes()) return end(call);
  std::vector<float>& sum = pieces(rank());
  sum.resize(output.values.size());
  reduce_piece(call, piece_of(call.count, rank(), size()), sum);
  wait_all();  // output may be part of an input that others still read
  std::ranges::copy(sum, output.values.begin());
  end(call);
}

void RankCommunicator::all_gather(CollectiveBuffer input, CollectiveBuffer output,
                                  std::string_view label) {
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

void RankCommunicator::broadcast(CollectiveBuffer x, int root, std::string_view label) {
  NB_CHECK(root >= 0 && root < size(), "[broadcast] {}: root {} of {} ranks", label, root, size());
  const CollectiveCall call = begin(OpKind::kBroadcast, x, x, x.count, Reduce::kSum, root, label);
  if (rank() == root) hand_out(call);
  wait_all();
  std::ranges::copy(pieces(root), x.values.begin());
  end(call);
}

void RankCommunicator::all_to_all(CollectiveBuffer input, CollectiveBuffer output,
                                  std::string_view label) {
  NB_CHECK(input.count == output.count && input.count % size() == 0 && input.dtype == output.dtype,
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

void RankCommunicator::barrier(std::string_view label) {
  end(begin(OpKind::kBarrier, {0, DType::kFp32}, {0, DType::kFp32}, 0, Reduce::kSum, 0, label));
}

void RankCommunicator::transfer(std::span<const Transfer> transfers, std::string_view label) {
  std::vector<Meeting::Posted> posted;
  for (const Transfer& one : transfers) {
    NB_CHECK(one.peer >= 0 && one.peer < size(), "[transfer] {}: rank {} of {}", label, one.peer,
             size());
    NB_CHECK(!device().executes() || std::ssize(one.buffer.values) == one.buffer.count,
             "[transfer] {}: a rank of an executing World brings its values", label);
    posted.push_back({one});
    posted.back().transfer.peer = place_->members[static_cast<std::size_t>(one.peer)];
  }
  shared_->meeting.transfer(*place_, place_->members[static_cast<std::size_t>(rank())], ready_ns(),
                            posted, label);
  for (const Meeting::Posted& one : posted) {
    const CollectiveBuffer& moved = one.transfer.buffer;
    charge(OpKind::kSendReceive, moved.count, moved.dtype, label, one.start_ns);
    if (one.transfer.sends)
      count_sent(OpKind::kSendReceive,
                 static_cast<std::uint64_t>(moved.count) * storage_bytes(moved.dtype));
  }
}

std::unique_ptr<Communicator> RankCommunicator::split(std::span<const std::vector<int>> groups,
                                                      std::string_view name) {
  CollectiveCall call;
  call.kind = OpKind::kBarrier;
  call.label = std::string(name);
  call.ready_ns = ready_ns();
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
    own = group(static_cast<int>(at - groups[g].begin()), place);
  }
  shared_->meeting.leave(*place_, rank());
  return own;
}

// This rank's values for the others, as they go over the wire.
void RankCommunicator::hand_out(const CollectiveCall& call) {
  pieces(rank()).assign(call.input.begin(), call.input.end());
  round_to(call.dtype, pieces(rank()));
}

CollectiveCall RankCommunicator::begin(OpKind kind, const CollectiveBuffer& input,
                                       const CollectiveBuffer& output, std::int64_t count,
                                       Reduce op, int root, std::string_view label) {
  NB_CHECK(!device().executes() || (std::ssize(input.values) == input.count &&
                                    std::ssize(output.values) == output.count),
           "[{}] {}: a rank of an executing World brings its values", name(kind), label);
  CollectiveCall call{
      kind,          op,        root, count, input.dtype, std::string(label), input.values,
      output.values, ready_ns()};
  shared_->meeting.join(*place_, rank(), call);
  return call;
}

void RankCommunicator::reduce_piece(const CollectiveCall& call, const Piece& piece,
                                    std::span<float> sum) {
  std::vector<std::span<const float>> inputs;
  for (const CollectiveCall& other : place_->calls)
    inputs.push_back(other.input.subspan(static_cast<std::size_t>(piece.begin), sum.size()));
  const std::vector<int> order = summation_order(device().numerics().reduction_order, rank(),
                                                 size(), shared_->seed, place_->collectives);
  reduce_in_order(inputs, order, call.op, call.dtype, sum,
                  averaging_of(device().profile().links.library.value));
}

void RankCommunicator::end(const CollectiveCall& call) {
  const std::int64_t start_ns = place_->start_ns;
  shared_->meeting.leave(*place_, rank());
  if (size() > 1)
    count_sent(call.kind, static_cast<std::uint64_t>(call.count) * storage_bytes(call.dtype));
  charge(call.kind, call.count, call.dtype, call.label, start_ns);
}

std::unique_ptr<Communicator> RankCommunicator::group(int member, Meeting::Place& place) {
  return std::make_unique<RankCommunicator>(&device(), member, shared_, &place, this);
}

void RankCommunicator::charge(OpKind kind, std::int64_t count, DType dtype, std::string_view label,
                              std::int64_t start_ns) {
  charge_collective(device(), size(), shared_->link_slowdown, kind, count, dtype, label, start_ns);
}

void charge_collective(Device& device, int ranks, double link_slowdown, OpKind kind,
                       std::int64_t count, DType dtype, std::string_view label,
                       std::int64_t start_ns) {
  if (ranks == 1) return;
  const std::uint64_t size_bytes = static_cast<std::uint64_t>(count) * storage_bytes(dtype);
  OpDesc desc;
  desc.kind = kind;
  desc.label = label;
  desc.count = count;
  desc.dtype = dtype;
  LinkModel links = link_model(device.profile().links);
  if (link_slowdown != 1) links.bytes_per_ns /= link_slowdown;
  const std::int64_t time_ns = collective_time_ns(kind, links, size_bytes, ranks);
  // Transfers that were posted together follow each other.
  device.run_collective(desc, std::max(start_ns, device.collective_ready_ns()), time_ns,
                        size_bytes);
}

}  // namespace nb
