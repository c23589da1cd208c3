#include "model/decoder/decoder.hpp"

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

const DecoderConfig& checked(const DecoderConfig& config) {
  const auto holds = check_config(config, "[decoder]");
  NB_CHECK(holds.has_value(), "{}", holds.error().message);
  return config;
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

Decoder::Decoder(const DecoderConfig& config, Device& device)
    : config_(checked(config)),
      device_(device),
      parameters_(make_parameters(parameter_specs(config), device)),
      weights_(weights_of(config_, parameters_)),
      adapters_(config_, device, parameters_, weights_),
      tables_(tables_of(config_, device)) {}

void Decoder::init(std::uint64_t seed) {
  init_parameters(parameter_specs(config_), parameters_, device_, seed);
}

std::vector<Parameter*> Decoder::trained_parameters() {
  std::vector<Parameter*> trained;
  for (std::vector<Parameter>* some : {&parameters_, &adapters_.parameters()})
    for (Parameter& p : *some)
      if (p.is_trained) trained.push_back(&p);
  return trained;
}

void Decoder::zero_grad() {
  for (Parameter* p : trained_parameters()) p->grad = {};
}

Tensor Decoder::run_trunk(Pass& pass) {
  return trunk(weights_, config_, tables_, pass, recomputes_);
}

template <class LossOf>
float Decoder::step(Pass& pass, const ops::RotaryTables& rotary, const LossOf& loss_of) {
  Tape tape;
  const Tensor input_ids = ops::upload_ids(device_, pass.rows(), 4, "inputs");
  const Tensor target_ids = ops::upload_ids(device_, pass.rows(), 8, "targets");
  PassHooks hooks(weights_.hooks);
  adapters_.begin_training();
  const Tensor x = trunk(weights_, config_, rotary, pass, recomputes_);
  Tensor loss = loss_of(x);
  tape.backward(loss);
  hooks.end();
  adapters_.end_training();
  return device_.executes() ? loss.host()[0] : 0.0F;
}

float Decoder::loss_and_backward(std::span<const int> inputs, std::span<const int> targets,
                                 std::int64_t batch, std::int64_t time, double scale) {
  if (SequenceCut* const cut = sequence_cut_of(weights_)) {
    const OwnTokens own = own_tokens(cut->positions(), inputs, targets, batch, time);
    CutPass pass(config_, *cut, own.inputs, batch, time);
    const float loss = step(pass, cut->tables(), [&](const Tensor& x) {
      return ops::head_loss(x, *weights_.lm_head, own.targets, own.share * scale,
                            head_options(config_));
    });
    return static_cast<float>(own.share * static_cast<double>(loss));
  }
  WholePass pass(config_, inputs, batch, time);
  return step(pass, tables_, [&](const Tensor& x) {
    return head_loss(weights_, x, targets, scale, head_options(config_));
  });
}

float Decoder::objective_and_backward(std::span<const int> inputs, std::span<const int> targets,
                                      std::int64_t batch, std::int64_t time,
                                      const TokenObjective& objective) {
  NB_CHECK(cuts_of(weights_) == nullptr, "[decoder] cut weights give no losses of single tokens");
  NB_CHECK(sequence_cut_of(weights_) == nullptr,
           "[decoder] cut sequences give no losses of single tokens");
  WholePass pass(config_, inputs, batch, time);
  return step(pass, tables_, [&](const Tensor& x) {
    return objective(ops::head_losses(x, *weights_.lm_head, targets, head_options(config_)));
  });
}

std::vector<float> Decoder::token_losses(std::span<const int> inputs, std::span<const int> targets,
                                         std::int64_t batch, std::int64_t time) {
  const Tensor input_ids = ops::upload_ids(device_, batch * time, 4, "inputs");
  const Tensor target_ids = ops::upload_ids(device_, batch * time, 8, "targets");
  PassHooks hooks(weights_.hooks);
  WholePass pass(config_, inputs, batch, time);
  const Tensor x = run_trunk(pass);
  std::vector<float> losses(device_.executes() ? targets.size() : 0);
  ops::head_losses(device_, x, weights_.lm_head->value, targets, false, losses,
                   head_options(config_));
  hooks.end();
  return losses;
}

void Decoder::forward_logits(std::span<const int> tokens, std::int64_t batch, std::int64_t time,
                             std::span<const std::int64_t> rows, const LogitSink& sink,
                             const OpListener& listener) {
  const Tensor ids = ops::upload_ids(device_, batch * time, 4, "tokens");
  PassHooks hooks(weights_.hooks);
  WholePass pass(config_, tokens, batch, time);
  if (listener) pass.listener = &listener;
  const Tensor x = run_trunk(pass);
  ops::head_logits(device_, x, weights_.lm_head->value, rows, sink, scratch_,
                   head_options(config_));
  hooks.end();
}

void Decoder::score_tokens(std::span<const int> tokens, std::span<const int> targets,
                           std::int64_t batch, std::int64_t time, std::span<float> log_probs,
                           std::span<int> argmax) {
  const Tensor ids = ops::upload_ids(device_, batch * time, 4, "tokens");
  const Tensor target_ids = ops::upload_ids(device_, batch * time, 8, "targets");
  PassHooks hooks(weights_.hooks);
  WholePass pass(config_, tokens, batch, time);
  const Tensor x = run_trunk(pass);
  ops::head_scores(device_, x, weights_.lm_head->value, targets, log_probs, argmax,
                   head_options(config_));
  hooks.end();
}

ops::HeadOptions head_options(const DecoderConfig& config) {
  return {.softcap = static_cast<float>(config.architecture.softcap),
          .caps_in_fp32 = config.architecture.softcap_fp32,
          .vocab = config.vocab_size};
}

}  // namespace nb
