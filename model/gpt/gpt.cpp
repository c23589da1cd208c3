#include "model/gpt/gpt.hpp"

#include <utility>

#include "harness/base/check.hpp"
#include "model/gpt/activations.hpp"
#include "model/gpt/block.hpp"
#include "model/gpt/context.hpp"
#include "model/gpt/init.hpp"
#include "model/ops/activation_buffer.hpp"
#include "model/ops/embedding.hpp"
#include "model/ops/head.hpp"
#include "model/ops/rms_norm.hpp"
#include "model/ops/rotary.hpp"
#include "model/ops/transfer.hpp"

namespace nb {

struct Gpt::Impl {
  GptConfig config;
  Device& device;
  std::vector<Parameter> parameters;
  ops::RotaryTables tables;
  std::vector<BlockActivations> blocks;
  Tensor embedded;  // E[idx], before the first norm
  Tensor last;      // residual stream after the last block
  std::vector<float> embedded_rstd, last_rstd;
  SavedBlocks embedding, embedded_norm, last_norm;
  ops::HeadScratch scratch;

  Impl(const GptConfig& c, Device& d)
      : config(c),
        device(d),
        parameters(make_parameters(c, d)),
        tables(ops::rotary_tables(d, c.rotary_positions(), c.head_dim())),
        blocks(static_cast<std::size_t>(c.n_layer)) {}

  Parameter& wte() { return parameters.front(); }
  Parameter& lm_head() { return parameters.back(); }
  BlockWeights weights(std::size_t layer) {
    Parameter* p = &parameters[1 + layer * kBlockParameters];
    return {p[0], p[1], p[2], p[3], p[4], p[5]};
  }
  PassContext context(std::int64_t batch, std::int64_t time, bool saves) const;
  Tensor trunk(const PassContext& context, std::span<const int> ids);
  void trunk_backward(const PassContext& context, std::span<const int> ids, Tensor dx);
};

PassContext Gpt::Impl::context(std::int64_t batch, std::int64_t time, bool saves) const {
  NB_CHECK(batch > 0 && time > 0 && time <= config.rotary_positions(),
           "[gpt] batch (B,T) = ({}, {}) with {} positions", batch, time,
           config.rotary_positions());
  return {device, config, tables, batch, time, saves};
}

// ids (B,T) → normalised output of the last block, (B·T, C).
Tensor Gpt::Impl::trunk(const PassContext& context, std::span<const int> ids) {
  const std::int64_t width = config.n_embd;
  embedded = ops::embedding(device, wte().value, ids, context.batch * context.time, wte().name,
                            context.slot(embedding));
  Tensor x = ops::rms_norm(device, embedded, width, "norm", context.slot(embedded_rstd),
                           context.slot(embedded_norm), ops::activation_buffer(device));
  embedded.drop_block();
  if (!context.saves) embedded = {};
  for (std::size_t layer = 0; layer < blocks.size(); ++layer) {
    x = block_forward(context, weights(layer), std::move(x), blocks[layer]);
  }
  last = std::move(x);
  Tensor normalised =
      ops::rms_norm(device, last, width, "norm", context.slot(last_rstd), context.slot(last_norm));
  last.drop_block();
  if (!context.saves) last = {};
  return normalised;
}

void Gpt::Impl::trunk_backward(const PassContext& context, std::span<const int> ids, Tensor dx) {
  const std::int64_t width = config.n_embd;
  dx = ops::rms_norm_backward(device, dx, last, width, last_rstd, "norm", std::move(last_norm),
                              ops::activation_buffer(device));
  last = {};
  for (std::size_t layer = blocks.size(); layer-- > 0;) {
    dx = block_backward(context, weights(layer), std::move(dx), blocks[layer]);
  }
  dx = ops::rms_norm_backward(device, dx, embedded, width, embedded_rstd, "norm",
                              std::move(embedded_norm));
  embedded = {};
  const GradientSlot slot = gradient_slot(device, wte());
  ops::embedding_backward(device, dx, ids, slot.tensor, slot.accumulate, wte().name,
                          std::move(embedding));
}

Gpt::Gpt(const GptConfig& config, Device& device) {
  const auto checked = check_config(config, "[gpt]");
  NB_CHECK(checked.has_value(), "{}", checked.error().message);
  impl_ = std::make_unique<Impl>(config, device);
}
Gpt::~Gpt() = default;

const GptConfig& Gpt::config() const { return impl_->config; }
Device& Gpt::device() const { return impl_->device; }
const ops::RotaryTables& Gpt::rotary_tables() const { return impl_->tables; }
std::vector<Parameter>& Gpt::parameters() { return impl_->parameters; }
const std::vector<Parameter>& Gpt::parameters() const { return impl_->parameters; }

void Gpt::init(std::uint64_t seed) { init_parameters(impl_->parameters, impl_->device, seed); }

void Gpt::zero_grad() {
  for (Parameter& p : impl_->parameters) p.grad = {};
}

float Gpt::loss_and_backward(std::span<const int> inputs, std::span<const int> targets,
                             std::int64_t batch, std::int64_t time, double scale) {
  Impl& m = *impl_;
  const PassContext context = m.context(batch, time, true);
  const Tensor input_ids = ops::upload_ids(m.device, batch * time, 4, "inputs");
  const Tensor target_ids = ops::upload_ids(m.device, batch * time, 8, "targets");
  const Tensor x = m.trunk(context, inputs);
  const GradientSlot slot = gradient_slot(m.device, m.lm_head());
  ops::HeadResult head = ops::head_loss_and_backward(m.device, x, m.lm_head().value, targets, scale,
                                                     slot.tensor, slot.accumulate, m.scratch);
  m.trunk_backward(context, inputs, std::move(head.dx));
  return head.loss;
}

std::vector<float> Gpt::token_losses(std::span<const int> inputs, std::span<const int> targets,
                                     std::int64_t batch, std::int64_t time) {
  Impl& m = *impl_;
  const PassContext context = m.context(batch, time, false);
  const Tensor input_ids = ops::upload_ids(m.device, batch * time, 4, "inputs");
  const Tensor target_ids = ops::upload_ids(m.device, batch * time, 8, "targets");
  const Tensor x = m.trunk(context, inputs);
  std::vector<float> losses(m.device.executes() ? targets.size() : 0);
  ops::head_losses(m.device, x, m.lm_head().value, targets, false, losses);
  return losses;
}

void Gpt::forward_logits(std::span<const int> tokens, std::int64_t batch, std::int64_t time,
                         std::span<const std::int64_t> rows, const LogitSink& sink) {
  Impl& m = *impl_;
  const PassContext context = m.context(batch, time, false);
  const Tensor ids = ops::upload_ids(m.device, batch * time, 4, "tokens");
  const Tensor x = m.trunk(context, tokens);
  ops::head_logits(m.device, x, m.lm_head().value, rows, sink, m.scratch);
}

void Gpt::score_tokens(std::span<const int> tokens, std::span<const int> targets,
                       std::int64_t batch, std::int64_t time, std::span<float> log_probs,
                       std::span<int> argmax) {
  Impl& m = *impl_;
  const PassContext context = m.context(batch, time, false);
  const Tensor ids = ops::upload_ids(m.device, batch * time, 4, "tokens");
  const Tensor target_ids = ops::upload_ids(m.device, batch * time, 8, "targets");
  const Tensor x = m.trunk(context, tokens);
  ops::head_scores(m.device, x, m.lm_head().value, targets, log_probs, argmax);
}

}  // namespace nb
