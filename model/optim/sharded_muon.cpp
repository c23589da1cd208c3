#include "model/optim/sharded_muon.hpp"

#include <algorithm>
#include <map>
#include <span>
#include <utility>

#include "harness/base/check.hpp"
#include "model/ops/optimizer_ops.hpp"
#include "model/ops/transfer.hpp"
#include "model/optim/row_shards.hpp"

namespace nb {

ShardedMuon::ShardedMuon(std::vector<ParameterRows> matrices, double learning_rate, Device& device,
                         Communicator& communicator)
    : matrices_(std::move(matrices)),
      learning_rate_(learning_rate),
      device_(device),
      communicator_(communicator) {}

// As many matrices of one shape as ranks, at most, by their place in matrices_; member r is
// orthogonalised by rank r.
struct ShardedMuon::Block {
  std::vector<std::size_t> members;
};

// Shapes in ascending order; within one, the order of the model: as Muon's.
std::vector<ShardedMuon::Block> ShardedMuon::blocks() const {
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<std::size_t>> by_shape;
  for (std::size_t i = 0; i < matrices_.size(); ++i)
    by_shape[{matrices_[i].whole[0], matrices_[i].whole[1]}].push_back(i);
  const auto ranks = static_cast<std::size_t>(communicator_.size());
  std::vector<Block> all;
  for (const auto& [shape, members] : by_shape)
    for (std::size_t base = 0; base < members.size(); base += ranks) {
      const auto begin = members.begin() + static_cast<std::ptrdiff_t>(base);
      all.push_back(
          {{begin, begin + static_cast<std::ptrdiff_t>(std::min(ranks, members.size() - base))}});
    }
  return all;
}

void ShardedMuon::allocate_state() {
  if (!buffers_.empty()) return;
  buffers_.resize(matrices_.size());
  for (std::size_t i = 0; i < matrices_.size(); ++i) {
    const Parameter& p = *matrices_[i].rows;
    if (p.value.empty()) continue;
    buffers_[i] =
        device_.allocate(p.value.shape(), device_.numerics().muon_momentum, "muon.buffer." + p.name,
                         Lifetime::kLasting, BlockUse::kOptimizer);
    ops::zero(device_, buffers_[i], buffers_[i].name());
  }
}

void ShardedMuon::step(const SchedulePoint& point) {
  allocate_state();
  for (std::size_t i = 0; i < matrices_.size(); ++i) {
    Parameter& p = *matrices_[i].rows;
    if (p.value.empty()) continue;
    NB_CHECK(!p.grad.empty(), "[sharded_muon] {} has no gradient", p.name);
    ops::muon_momentum(device_, p.grad, buffers_[i], point.momentum, p.name);
  }
  for (const Block& block : blocks()) update_block(block, point);
}

namespace {

// body(place in the whole, place in the pieces, count) for what each rank has of a matrix.
template <class Body>
void each_run(const ParameterRows& matrix, int ranks, std::size_t piece, const Body& body) {
  const auto count = static_cast<std::size_t>(matrix.whole.count());
  if (!matrix.is_columns) return body(std::size_t{0}, std::size_t{0}, count);  // padded at the end
  const auto rows = static_cast<std::size_t>(matrix.whole[0]);
  const std::size_t width = count / rows / static_cast<std::size_t>(ranks);
  for (std::size_t r = 0; r < static_cast<std::size_t>(ranks); ++r)
    for (std::size_t i = 0; i < rows; ++i)
      body((i * static_cast<std::size_t>(ranks) + r) * width, r * piece + i * width, width);
}

void join(std::span<const float> pieces, std::size_t piece, const ParameterRows& matrix, int ranks,
          std::span<float> whole) {
  each_run(matrix, ranks, piece, [&](std::size_t at, std::size_t from, std::size_t count) {
    std::ranges::copy(pieces.subspan(from, count), whole.subspan(at, count).begin());
  });
}

void cut(std::span<const float> whole, const ParameterRows& matrix, int ranks, std::size_t piece,
         std::span<float> pieces) {
  each_run(matrix, ranks, piece, [&](std::size_t at, std::size_t to, std::size_t count) {
    std::ranges::copy(whole.subspan(at, count), pieces.subspan(to, count).begin());
  });
}

}  // namespace

// `send` and `received` have a piece a rank: the rows of one matrix, padded with zeros, or its
// columns.
void ShardedMuon::update_block(const Block& block, const SchedulePoint& point) {
  const int ranks = communicator_.size(), rank = communicator_.rank();
  const ParameterRows& first = matrices_[block.members.front()];
  const auto shard_of = [&](int r) { return row_shard(first.whole, r, ranks); };
  const RowShard mine = shard_of(rank);
  const auto piece = static_cast<std::size_t>(mine.padded_elements());
  const std::int64_t count = mine.padded_elements() * ranks;
  const DType wire = device_.numerics().muon_matmul;
  const Tensor buffer = device_.allocate({count}, wire, "muon.exchanged"),
               other = device_.allocate({count}, wire, "muon.exchanged");
  const bool executes = device_.executes();
  std::vector<float> send(executes ? piece * static_cast<std::size_t>(ranks) : 0);
  std::vector<float> received(send.size());
  const auto exchange = [&] {
    if (executes)
      communicator_.all_to_all({send, wire}, {received, wire}, first.rows->name);
    else
      communicator_.all_to_all({count, wire}, {count, wire}, first.rows->name);
  };
  if (executes)
    for (std::size_t m = 0; m < block.members.size(); ++m)
      if (const Parameter& p = *matrices_[block.members[m]].rows; !p.value.empty())
        std::ranges::copy(std::as_const(p.grad).host(),
                          send.begin() + static_cast<std::ptrdiff_t>(m * piece));
  exchange();
  if (static_cast<std::size_t>(rank) < block.members.size()) {
    const ParameterRows& own = matrices_[block.members[static_cast<std::size_t>(rank)]];
    Tensor x = device_.allocate(own.whole, wire, own.rows->name);
    if (executes) join(received, piece, own, ranks, x.host());
    ops::orthogonalise(device_, x, own.rows->name);
    std::ranges::fill(send, 0.0F);
    if (executes) cut(std::as_const(x).host(), own, ranks, piece, send);
  } else {
    std::ranges::fill(send, 0.0F);
  }
  exchange();
  for (std::size_t m = 0; m < block.members.size(); ++m) {
    const ParameterRows& matrix = matrices_[block.members[m]];
    Parameter& p = *matrix.rows;
    if (p.value.empty()) continue;
    if (executes)
      std::copy_n(received.begin() + static_cast<std::ptrdiff_t>(m * piece), p.value.count(),
                  p.grad.host().begin());
    ops::muon_update(device_, p.value, p.grad, learning_rate_ * point.lr_multiplier, matrix.whole,
                     p.name);
  }
}

std::vector<NamedState> ShardedMuon::state() {
  std::vector<NamedState> named;
  for (std::size_t i = 0; i < buffers_.size(); ++i)
    if (!buffers_[i].empty())
      named.push_back({"muon.buffer." + matrices_[i].rows->name, &buffers_[i]});
  return named;
}

}  // namespace nb
