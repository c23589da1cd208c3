#include "model/decoder/whole_pass.hpp"

#include "harness/base/check.hpp"
#include "model/ops/attention.hpp"
#include "model/ops/rows.hpp"

namespace nb {

WholePass::WholePass(const DecoderConfig& config, std::span<const int> ids, std::int64_t batch,
                     std::int64_t time)
    : config_(config), ids_(ids), batch_(batch), time_(time) {
  NB_CHECK(batch > 0 && time > 0 && time <= config.max_positions(),
           "[decoder] batch (B,T) = ({}, {}) with {} positions", batch, time,
           config.max_positions());
}

std::vector<int> WholePass::position_ids() const {
  std::vector<int> positions;
  positions.reserve(static_cast<std::size_t>(rows()));
  for (std::int64_t row = 0; row < rows(); ++row)
    positions.push_back(static_cast<int>(row % time_));
  return positions;
}

Tensor WholePass::attend(std::int64_t layer, const Tensor& q, const Tensor& k, const Tensor& v) {
  return ops::attention(q, k, v,
                        {.batch = batch_,
                         .time = time_,
                         .heads = config_.n_head,
                         .kv_heads = config_.n_kv_head,
                         .head_dim = config_.head_dim(),
                         .window = config_.window(layer)},
                        "attn");
}

Tensor WholePass::previous(const Tensor& x) {
  return ops::previous_rows(x, time_, "smear.previous");
}

}  // namespace nb
