#include <fmt/format.h>

#include "evals/probes/probes.hpp"
#include "harness/base/hash.hpp"
#include "harness/base/rng.hpp"
#include "harness/run/device_card.hpp"
#include "harness/run/stages.hpp"
#include "harness/run/write_evaluation.hpp"
#include "model/decoder/decoder.hpp"
#include "model/device/device.hpp"
#include "model/engine/decoder_language_model.hpp"
#include "model/tokenizer/byte_tokenizer.hpp"

namespace nb {
namespace {

constexpr std::uint64_t kSeed = 7;

DecoderConfig probed_config() {
  DecoderConfig config;
  config.sequence_len = kProbeContext;
  config.vocab_size = kProbeVocab;
  config.n_layer = 2;
  config.n_head = 2;
  config.n_kv_head = 2;
  config.n_embd = 32;
  return config;
}

// Something in every weight: a fresh nanochat has zero output projections, and all its logits tie.
void fill(Decoder& decoder) {
  constexpr double kSpread = .3;
  for (Parameter& parameter : decoder.parameters()) {
    const Rng rng(kSeed, parameter.name);
    std::uint64_t i = 0;
    for (float& value : parameter.value.host())
      value = round_to(DType::kBf16, static_cast<float>(kSpread * rng.normal(i++)));
  }
}

}  // namespace

Result<void> run_probe_stage(const ProbeWork& work, const StageContext& context, Record& record) {
  NB_TRY(const ResolvedDevice resolved, resolve_device(work.device, "device"));
  Device device(resolved.profile, ExecutionMode::kExecute);
  const Tokenizer tokenizer = byte_tokenizer();
  Decoder decoder(probed_config(), device), fresh(probed_config(), device);
  fresh.init(kSeed);
  decoder.init(kSeed);
  fill(decoder);
  DecoderLanguageModel cached(decoder, tokenizer),
      plain(decoder, tokenizer, {.share_prefixes = false}), flat(fresh, tokenizer);
  std::vector<EvalResult> results;
  for (const std::string& name : work.probes) {
    NB_TRY(EvalResult result, run_probe(name, {cached, plain, flat}), "probe " + name);
    for (const ItemRecord& item : result.items)
      if (!item.ok)
        context.log(fmt::format("{}: {} in place of {}", result.task, item.prediction, item.gold));
    results.push_back(std::move(result));
  }
  describe_device(resolved, std::vector<Use>{Use::kScore, Use::kGenerate}, /*cards=*/1, record);
  // What answers is made of code alone and the same on both sides of a comparison.
  record.subject["weights"] = sha256_hex("npubench probes");
  return write_evaluation(results, context.folder, record);
}

}  // namespace nb
