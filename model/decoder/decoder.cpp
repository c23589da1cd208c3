#include "model/decoder/decoder.hpp"

#include <utility>

#include "harness/base/check.hpp"
#include "model/autograd/tape.hpp"
#include "model/decoder/block.hpp"
#include "model/decoder/init.hpp"
#include "model/ops/embedding.hpp"
#include "model/ops/head.hpp"
#include "model/ops/rms_norm.hpp"
#include "model/ops/rotary.hpp"
#include "model/ops/transfer.hpp"

namespace nb {

struct Decoder::Impl {
  DecoderConfig config;
  Device& device;
  std::vector<Parameter> parameters;
  ops::RotaryTables tables;
  ops::HeadScratch scratch;
  bool recomputes = false;

  Impl(const DecoderConfig& c, Device& d)
      : config(c),
        device(d),
        parameters(make_parameters(c, d)),
        tables(ops::rotary_tables(d, c.rotary_positions(), c.head_dim())) {}

  Parameter& wte() { return parameters.front(); }
  Parameter& lm_head() { return parameters.back(); }
  BlockWeights weights(std::int64_t layer) {
    Parameter* p = &parameters[1 + static_cast<std::size_t>(layer) * kBlockParameters];
    return {p[0], p[1], p[2], p[3], p[4], p[5]};
  }
  Tensor trunk(std::span<const int> ids, std::int64_t batch, std::int64_t time);
};

// ids (B,T) → normalised output of the last block, (B·T, C).
Tensor Decoder::Impl::trunk(std::span<const int> ids, std::int64_t batch, std::int64_t time) {
  NB_CHECK(batch > 0 && time > 0 && time <= config.rotary_positions(),
           "[decoder] batch (B,T) = ({}, {}) with {} positions", batch, time,
           config.rotary_positions());
  const ops::HeadShape heads = {batch, time, config.n_head, config.n_kv_head, config.head_dim()};
  Tensor x = ops::embedding(wte(), ids, batch * time);
  x = ops::rms_norm(x, config.n_embd, "norm");
  for (std::int64_t layer = 0; layer < config.n_layer; ++layer) {
    const auto here = [this, heads, w = weights(layer)](const Tensor& in) {
      return block(in, w, tables, heads);
    };
    x = recomputes ? recomputed(x, here) : here(x);
  }
  return ops::rms_norm(x, config.n_embd, "norm");
}

Decoder::Decoder(const DecoderConfig& config, Device& device) {
  const auto checked = check_config(config, "[decoder]");
  NB_CHECK(checked.has_value(), "{}", checked.error().message);
  impl_ = std::make_unique<Impl>(config, device);
}
Decoder::~Decoder() = default;

const DecoderConfig& Decoder::config() const { return impl_->config; }
Device& Decoder::device() const { return impl_->device; }
const ops::RotaryTables& Decoder::rotary_tables() const { return impl_->tables; }
std::vector<Parameter>& Decoder::parameters() { return impl_->parameters; }
const std::vector<Parameter>& Decoder::parameters() const { return impl_->parameters; }

void Decoder::init(std::uint64_t seed) { init_parameters(impl_->parameters, impl_->device, seed); }

void Decoder::set_recompute(bool on) { impl_->recomputes = on; }

void Decoder::zero_grad() {
  for (Parameter& p : impl_->parameters) p.grad = {};
}

float Decoder::loss_and_backward(std::span<const int> inputs, std::span<const int> targets,
                                 std::int64_t batch, std::int64_t time, double scale) {
  Impl& m = *impl_;
  Tape tape;
  const Tensor input_ids = ops::upload_ids(m.device, batch * time, 4, "inputs");
  const Tensor target_ids = ops::upload_ids(m.device, batch * time, 8, "targets");
  const Tensor x = m.trunk(inputs, batch, time);
  Tensor loss = ops::head_loss(x, m.lm_head(), targets, scale);
  tape.backward(loss);
  return m.device.executes() ? loss.host()[0] : 0.0F;
}

std::vector<float> Decoder::token_losses(std::span<const int> inputs, std::span<const int> targets,
                                         std::int64_t batch, std::int64_t time) {
  Impl& m = *impl_;
  const Tensor input_ids = ops::upload_ids(m.device, batch * time, 4, "inputs");
  const Tensor target_ids = ops::upload_ids(m.device, batch * time, 8, "targets");
  const Tensor x = m.trunk(inputs, batch, time);
  std::vector<float> losses(m.device.executes() ? targets.size() : 0);
  ops::head_losses(m.device, x, m.lm_head().value, targets, false, losses);
  return losses;
}

void Decoder::forward_logits(std::span<const int> tokens, std::int64_t batch, std::int64_t time,
                             std::span<const std::int64_t> rows, const LogitSink& sink) {
  Impl& m = *impl_;
  const Tensor ids = ops::upload_ids(m.device, batch * time, 4, "tokens");
  const Tensor x = m.trunk(tokens, batch, time);
  ops::head_logits(m.device, x, m.lm_head().value, rows, sink, m.scratch);
}

void Decoder::score_tokens(std::span<const int> tokens, std::span<const int> targets,
                           std::int64_t batch, std::int64_t time, std::span<float> log_probs,
                           std::span<int> argmax) {
  Impl& m = *impl_;
  const Tensor ids = ops::upload_ids(m.device, batch * time, 4, "tokens");
  const Tensor target_ids = ops::upload_ids(m.device, batch * time, 8, "targets");
  const Tensor x = m.trunk(tokens, batch, time);
  ops::head_scores(m.device, x, m.lm_head().value, targets, log_probs, argmax);
}

}  // namespace nb
