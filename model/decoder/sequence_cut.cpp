#include "model/decoder/sequence_cut.hpp"

#include <algorithm>

#include "harness/base/check.hpp"

namespace nb {

OwnTokens own_tokens(std::span<const std::int64_t> positions, std::span<const int> inputs,
                     std::span<const int> targets, std::int64_t batch, std::int64_t time) {
  OwnTokens own;
  own.tokens = std::ssize(positions);
  NB_CHECK(own.tokens > 0 && time % own.tokens == 0,
           "[sequence_cut] {} tokens are no part of sequences of {}", own.tokens, time);
  if (targets.empty()) return own;
  for (std::int64_t b = 0; b < batch; ++b)
    for (const std::int64_t position : positions) {
      own.inputs.push_back(inputs[static_cast<std::size_t>(b * time + position)]);
      own.targets.push_back(targets[static_cast<std::size_t>(b * time + position)]);
    }
  const auto valid = [](std::span<const int> some) {
    return static_cast<double>(std::ssize(some) - std::ranges::count(some, -1));
  };
  const double all = valid(targets);
  if (all > 0) own.share = static_cast<double>(time / own.tokens) * valid(own.targets) / all;
  return own;
}

ops::RotaryTables rows_of(const ops::RotaryTables& tables, std::span<const std::int64_t> positions,
                          Device& device) {
  if (tables.cos.empty()) return {};
  const Shape shape = {std::ssize(positions), tables.cos.shape().last()};
  const auto rows = [&](const Tensor& from, std::string_view label) {
    Tensor to = device.allocate(shape, from.dtype(), label);
    static_cast<void>(device.run({.kind = OpKind::kEmbedding,
                                  .label = label,
                                  .rows = shape[0],
                                  .cols = shape[1],
                                  .vocab = from.shape()[0],
                                  .dtype = from.dtype(),
                                  .inputs = {&from},
                                  .output = &to},
                                 [&] {
                                   const ConstMatrix all = from.matrix();
                                   const Matrix own = to.matrix();
                                   for (std::int64_t i = 0; i < own.rows; ++i)
                                     std::copy_n(all.row(positions[static_cast<std::size_t>(i)]),
                                                 own.cols, own.row(i));
                                 }));
    return to;
  };
  return {rows(tables.cos, "rotary.cos"), rows(tables.sin, "rotary.sin"), tables.layout};
}

CutPass::CutPass(const DecoderConfig& config, SequenceCut& cut, std::span<const int> ids,
                 std::int64_t batch, std::int64_t time)
    : config_(config), cut_(cut), ids_(ids), batch_(batch), time_(time) {
  NB_CHECK(batch > 0 && time <= config.max_positions() && cut.positions().back() < time,
           "[sequence_cut] batch (B,T) = ({}, {}), {} positions, the last token at {}", batch, time,
           config.max_positions(), cut.positions().back());
}

std::vector<int> CutPass::position_ids() const {
  std::vector<int> positions;
  for (std::int64_t b = 0; b < batch_; ++b)
    for (const std::int64_t position : cut_.positions())
      positions.push_back(static_cast<int>(position));
  return positions;
}

Tensor CutPass::attend(std::int64_t layer, const Tensor& q, const Tensor& k, const Tensor& v) {
  return cut_.attend(q, k, v,
                     {.batch = batch_,
                      .time = time_,
                      .heads = config_.n_head,
                      .kv_heads = config_.n_kv_head,
                      .head_dim = config_.head_dim(),
                      .window = config_.window(layer)});
}

Tensor CutPass::previous(const Tensor&) {
  NB_CHECK(false, "[sequence_cut] smear reads tokens of other parts");
  return {};
}

}  // namespace nb
