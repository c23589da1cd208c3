#include "model/decoder/part.hpp"

#include <charconv>
#include <utility>

#include "harness/base/check.hpp"
#include "model/autograd/cut.hpp"
#include "model/decoder/cuts.hpp"
#include "model/decoder/trunk.hpp"
#include "model/decoder/weights.hpp"
#include "model/ops/transfer.hpp"

namespace nb {
namespace {

// The block in "transformer.h.3.attn.c_q.weight" or "value_embeds.3.weight".
std::optional<std::int64_t> block_of(std::string_view parameter) {
  for (const std::string_view prefix : {"transformer.h.", "value_embeds."}) {
    if (!parameter.starts_with(prefix)) continue;
    std::int64_t block = 0;
    const std::string_view rest = parameter.substr(prefix.size());
    std::from_chars(rest.data(), rest.data() + rest.size(), block);
    return block;
  }
  return std::nullopt;
}

bool has_middle(const DecoderConfig& config, std::int64_t block) {
  return config.architecture.backout && block > config.n_layer / 2 + 1;
}

bool reads_ids(const DecoderConfig& config, const DecoderPart& part) {
  if (part.has_embedding()) return true;
  for (std::int64_t block = part.first; block < part.end; ++block)
    if (config.has_value_embedding(block)) return true;
  return false;
}

}  // namespace

DecoderPart part_of(const DecoderConfig& config, int stage, int stages) {
  NB_CHECK(stages > 0 && stage >= 0 && stage < stages && config.n_layer % stages == 0,
           "[part] {} blocks in {} parts, of which {}", config.n_layer, stages, stage);
  const std::int64_t each = config.n_layer / stages;
  return {stage * each, (stage + 1) * each};
}

bool reads(const DecoderConfig& config, const DecoderPart& part, std::string_view parameter) {
  if (const auto block = block_of(parameter)) return *block >= part.first && *block < part.end;
  if (parameter == "resid_lambdas" || parameter == "x0_lambdas") return true;
  const bool is_of_head = parameter.starts_with("transformer.ln_f.") ||
                          parameter == "lm_head.weight" || parameter == "backout_lambda";
  if (is_of_head) return part.has_head(config);
  const bool is_tied = config.architecture.tied_head && parameter == "transformer.wte.weight";
  return part.has_embedding() || (is_tied && part.has_head(config));
}

int carried_tensors(const DecoderConfig& config, std::int64_t block) {
  return 1 + (config.architecture.residual_lambdas ? 1 : 0) + (has_middle(config, block) ? 1 : 0);
}

PartPass::PartPass(Decoder& decoder, const DecoderPart& part, std::span<const int> inputs,
                   std::span<const int> targets, std::int64_t batch, std::int64_t time)
    : decoder_(decoder),
      part_(part),
      targets_(targets),
      rows_(batch * time),
      pass_(decoder.config(), inputs, batch, time) {
  NB_CHECK(decoder.weights().hooks == nullptr || cuts_of(decoder.weights()) != nullptr,
           "[part] weights that come and go");
}

std::vector<Tensor> PartPass::expect(int tensors, std::string_view name) const {
  Device& device = decoder_.device();
  const Cuts* const cuts = cuts_of(decoder_.weights());
  const std::int64_t rows = cuts == nullptr ? rows_ : cuts->rows_here(rows_);
  std::vector<Tensor> expected;
  for (int k = 0; k < tensors; ++k)
    expected.push_back(
        device.allocate({rows, decoder_.config().n_embd}, device.numerics().storage, name));
  return expected;
}

std::vector<Tensor> PartPass::expect_inputs() {
  if (part_.has_embedding()) return {};
  inputs_ = expect(carried_tensors(decoder_.config(), part_.first), "pipeline.input");
  return inputs_;
}

std::vector<Tensor> PartPass::expect_gradients() {
  const DecoderConfig& config = decoder_.config();
  if (part_.has_head(config)) return {};
  output_gradients_ = expect(carried_tensors(config, part_.end), "pipeline.gradient");
  return output_gradients_;
}

// Leaves of the tape: their gradients are what backward() returns.
void PartPass::open_inputs(Residuals& stream) {
  const DecoderConfig& config = decoder_.config();
  input_gradients_.resize(inputs_.size());
  for (std::size_t k = 0; k < inputs_.size(); ++k)
    begin_at(inputs_[k], [this, k](const Tensor& gradient) { input_gradients_[k] = gradient; });
  std::size_t next = 0;
  stream.x = inputs_[next++];
  if (config.architecture.residual_lambdas) stream.x0 = inputs_[next++];
  if (has_middle(config, part_.first)) stream.middle = inputs_[next++];
  if (config.architecture.backout && part_.first == config.n_layer / 2 + 1)
    stream.middle = stream.x;
  inputs_.clear();
}

std::vector<Tensor> PartPass::forward(double scale) {
  const DecoderConfig& config = decoder_.config();
  const DecoderWeights& weights = decoder_.weights();
  Device& device = decoder_.device();
  tape_.emplace();
  if (reads_ids(config, part_)) input_ids_ = ops::upload_ids(device, rows_, 4, "inputs");
  if (part_.has_head(config)) target_ids_ = ops::upload_ids(device, rows_, 8, "targets");
  Residuals stream;
  if (part_.has_embedding())
    stream = embedded(weights, config, pass_);
  else
    open_inputs(stream);
  run_blocks(weights, config, decoder_.rotary_tables(), pass_, decoder_.recomputes(), part_.first,
             part_.end, stream);
  std::vector<Tensor> results;
  if (part_.has_head(config)) {
    const Tensor x = ended(weights, config, pass_, stream);
    root_ = head_loss(weights, x, targets_, scale, head_options(decoder_.config()));
  } else {
    if (!has_middle(config, part_.end)) stream.middle = {};
    // Gradients reach x behind those of what later blocks read again, as in the whole decoder.
    root_ = end_at({&stream.middle, &stream.x0, &stream.x}, [this, with_x0 = !stream.x0.empty(),
                                                             with_middle = !stream.middle.empty()] {
      std::vector<Tensor> d = std::exchange(output_gradients_, {});
      return Tape::Gradients{with_middle ? d.back() : Tensor(), with_x0 ? d[1] : Tensor(), d[0]};
    });
    for (Tensor* one : {&stream.x, &stream.x0, &stream.middle})
      if (!one->empty()) results.push_back(*one);
  }
  paused_.emplace();
  return results;
}

std::vector<Tensor> PartPass::backward() {
  paused_.reset();
  if (part_.has_head(decoder_.config()))
    tape_->backward(root_);
  else
    tape_->backward(root_, output_gradients_.front());
  tape_.reset();
  input_ids_ = target_ids_ = {};
  if (!part_.has_head(decoder_.config())) root_ = {};
  return std::exchange(input_gradients_, {});
}

float PartPass::loss() const { return decoder_.device().executes() ? root_.host()[0] : 0.0F; }

}  // namespace nb
