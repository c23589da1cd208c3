#include "model/decoder/decoder.hpp"

#include <utility>

#include "harness/base/check.hpp"
#include "model/autograd/tape.hpp"
#include "model/decoder/cuts.hpp"
#include "model/decoder/parameters.hpp"
#include "model/decoder/sequence_cut.hpp"
#include "model/decoder/trunk.hpp"
#include "model/decoder/whole_pass.hpp"
#include "model/ops/head.hpp"
#include "model/ops/rotary.hpp"
#include "model/ops/transfer.hpp"

namespace nb {
namespace {

ops::RotaryTables tables_of(const DecoderConfig& config, Device& device) {
  if (!config.architecture.has_rotary()) return {};
  using Layout = ops::RotaryLayout;
  const PositionKind kind = config.architecture.positions;
  const Layout layout = kind == PositionKind::kRotaryHalves  ? Layout::kHalves
                        : kind == PositionKind::kRotaryPairs ? Layout::kPairs
                                                             : Layout::kHalvesReversed;
  return ops::rotary_tables(device, config.max_positions(), config.head_dim(),
                            {.base = config.architecture.rotary_base, .layout = layout});
}

// The weights of no block, as long as a pass takes.
class PassHooks {
 public:
  explicit PassHooks(WeightHooks* hooks) : hooks_(hooks) {
    if (hooks_ != nullptr) hooks_->before_pass();
  }
  // A pass that fails leaves them: its ranks end.
  void end() {
    if (hooks_ != nullptr) hooks_->after_pass();
  }

 private:
  WeightHooks* hooks_;
};

}  // namespace

struct Decoder::Impl {
  DecoderConfig config;
  Device& device;
  std::vector<Parameter> parameters, adapters;
  DecoderWeights weights;
  std::optional<LoraSettings> lora;
  LoraDropout dropout;
  ops::RotaryTables tables;
  ops::HeadScratch scratch;
  bool recomputes = false;
  OpListener listener;

  Impl(const DecoderConfig& c, Device& d)
      : config(c),
        device(d),
        parameters(make_parameters(parameter_specs(c), d)),
        weights(weights_of(config, parameters)),
        tables(tables_of(config, d)) {}

  Tensor trunk(Pass& pass) { return nb::trunk(weights, config, tables, pass, recomputes); }
  // A pass whose result is made a loss, and back.
  template <class LossOf>
  float step(std::span<const int> inputs, std::int64_t batch, std::int64_t time,
             const LossOf& loss_of) {
    WholePass pass(config, inputs, batch, time);
    return step(pass, tables, loss_of);
  }
  // Its rotary tables have the positions of the pass.
  template <class LossOf>
  float step(Pass& pass, const ops::RotaryTables& of_pass, const LossOf& loss_of) {
    Tape tape;
    const Tensor input_ids = ops::upload_ids(device, pass.rows(), 4, "inputs");
    const Tensor target_ids = ops::upload_ids(device, pass.rows(), 8, "targets");
    PassHooks hooks(weights.hooks);
    dropout.is_on = dropout.rate > 0;
    const Tensor x = nb::trunk(weights, config, of_pass, pass, recomputes);
    Tensor loss = loss_of(x);
    tape.backward(loss);
    hooks.end();
    dropout.is_on = false;
    ++dropout.pass;
    return device.executes() ? loss.host()[0] : 0.0F;
  }
  const Tensor& head() const { return weights.lm_head->value; }
  ops::HeadOptions options() const {
    return {.softcap = static_cast<float>(config.architecture.softcap),
            .caps_in_fp32 = config.architecture.softcap_fp32,
            .vocab = config.vocab_size};
  }
};

Decoder::Decoder(const DecoderConfig& config, Device& device) {
  const auto checked = check_config(config, "[decoder]");
  NB_CHECK(checked.has_value(), "{}", checked.error().message);
  impl_ = std::make_unique<Impl>(config, device);
}
Decoder::~Decoder() = default;

const DecoderConfig& Decoder::config() const { return impl_->config; }
Device& Decoder::device() const { return impl_->device; }
const ops::RotaryTables& Decoder::rotary_tables() const { return impl_->tables; }
const DecoderWeights& Decoder::weights() const { return impl_->weights; }
ops::HeadOptions Decoder::head_options() const { return impl_->options(); }
std::vector<Parameter>& Decoder::parameters() { return impl_->parameters; }
const std::vector<Parameter>& Decoder::parameters() const { return impl_->parameters; }
std::vector<Parameter>& Decoder::adapters() { return impl_->adapters; }
const std::vector<Parameter>& Decoder::adapters() const { return impl_->adapters; }
const std::optional<LoraSettings>& Decoder::lora() const { return impl_->lora; }

void Decoder::init(std::uint64_t seed) {
  init_parameters(parameter_specs(impl_->config), impl_->parameters, impl_->device, seed);
}

void Decoder::set_weight_hooks(WeightHooks* hooks) { impl_->weights.hooks = hooks; }
void Decoder::set_recompute(bool on) { impl_->recomputes = on; }
bool Decoder::recomputes() const { return impl_->recomputes; }

void Decoder::add_lora(const LoraSettings& settings, std::uint64_t seed) {
  Impl& m = *impl_;
  NB_CHECK(!m.lora, "[lora] this decoder has adapters already");
  m.adapters = make_lora(settings, m.config, m.device, seed);
  m.lora = settings;
  set_adapters(m.weights, settings, m.adapters, &m.dropout);
  for (Parameter& p : m.parameters) p.is_trained = false;
}

void Decoder::set_adapter_dropout(double rate, std::uint64_t seed) {
  impl_->dropout = {.rate = rate, .seed = seed};
}

void Decoder::begin_step(std::int64_t step) {
  impl_->dropout.step = step;
  impl_->dropout.pass = 0;
}

void Decoder::begin_pass(std::int64_t pass) { impl_->dropout.pass = pass; }

void Decoder::merge_lora() {
  Impl& m = *impl_;
  merge_adapters(m.weights);
  remove_adapters(m.weights);
  m.adapters.clear();
  m.lora.reset();
  for (Parameter& p : m.parameters) p.is_trained = true;
}

std::vector<Parameter*> Decoder::trained_parameters() {
  std::vector<Parameter*> trained;
  for (std::vector<Parameter>* some : {&impl_->parameters, &impl_->adapters})
    for (Parameter& p : *some)
      if (p.is_trained) trained.push_back(&p);
  return trained;
}

void Decoder::zero_grad() {
  for (Parameter* p : trained_parameters()) p->grad = {};
}

float Decoder::loss_and_backward(std::span<const int> inputs, std::span<const int> targets,
                                 std::int64_t batch, std::int64_t time, double scale) {
  Impl& m = *impl_;
  if (SequenceCut* const cut = sequence_cut_of(m.weights)) {
    const OwnTokens own = own_tokens(cut->positions(), inputs, targets, batch, time);
    CutPass pass(m.config, *cut, own.inputs, batch, time);
    const float loss = m.step(pass, cut->tables(), [&](const Tensor& x) {
      return ops::head_loss(x, *m.weights.lm_head, own.targets, own.share * scale, m.options());
    });
    return static_cast<float>(own.share * static_cast<double>(loss));
  }
  return m.step(inputs, batch, time, [&](const Tensor& x) {
    return head_loss(m.weights, x, targets, scale, m.options());
  });
}

float Decoder::objective_and_backward(std::span<const int> inputs, std::span<const int> targets,
                                      std::int64_t batch, std::int64_t time,
                                      const TokenObjective& objective) {
  NB_CHECK(cuts_of(impl_->weights) == nullptr,
           "[decoder] cut weights give no losses of single tokens");
  NB_CHECK(sequence_cut_of(impl_->weights) == nullptr,
           "[decoder] cut sequences give no losses of single tokens");
  return impl_->step(inputs, batch, time, [&](const Tensor& x) {
    return objective(ops::head_losses(x, *impl_->weights.lm_head, targets, impl_->options()));
  });
}

std::vector<float> Decoder::token_losses(std::span<const int> inputs, std::span<const int> targets,
                                         std::int64_t batch, std::int64_t time) {
  Impl& m = *impl_;
  const Tensor input_ids = ops::upload_ids(m.device, batch * time, 4, "inputs");
  const Tensor target_ids = ops::upload_ids(m.device, batch * time, 8, "targets");
  PassHooks hooks(m.weights.hooks);
  WholePass pass(m.config, inputs, batch, time);
  const Tensor x = m.trunk(pass);
  std::vector<float> losses(m.device.executes() ? targets.size() : 0);
  ops::head_losses(m.device, x, m.head(), targets, false, losses, m.options());
  hooks.end();
  return losses;
}

void Decoder::forward_logits(std::span<const int> tokens, std::int64_t batch, std::int64_t time,
                             std::span<const std::int64_t> rows, const LogitSink& sink) {
  Impl& m = *impl_;
  const Tensor ids = ops::upload_ids(m.device, batch * time, 4, "tokens");
  PassHooks hooks(m.weights.hooks);
  WholePass pass(m.config, tokens, batch, time);
  if (m.listener) pass.listener = &m.listener;
  const Tensor x = m.trunk(pass);
  ops::head_logits(m.device, x, m.head(), rows, sink, m.scratch, m.options());
  hooks.end();
}

void Decoder::listen(OpListener listener) { impl_->listener = std::move(listener); }

void Decoder::score_tokens(std::span<const int> tokens, std::span<const int> targets,
                           std::int64_t batch, std::int64_t time, std::span<float> log_probs,
                           std::span<int> argmax) {
  Impl& m = *impl_;
  const Tensor ids = ops::upload_ids(m.device, batch * time, 4, "tokens");
  const Tensor target_ids = ops::upload_ids(m.device, batch * time, 8, "targets");
  PassHooks hooks(m.weights.hooks);
  WholePass pass(m.config, tokens, batch, time);
  const Tensor x = m.trunk(pass);
  ops::head_scores(m.device, x, m.head(), targets, log_probs, argmax, m.options());
  hooks.end();
}

}  // namespace nb
