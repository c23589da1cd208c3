#include "harness/cli/predict_megatron.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "harness/cli/own_constants.hpp"
#include "harness/suite/device_entry.hpp"
#include "model/decoder/presets.hpp"

namespace nb::cli {
namespace {

std::string text_of(const PredictQuestion& question, const std::string& field) {
  const auto given = question.given.find(field);
  return given == question.given.end() ? "" : given->second;
}

Result<void> put_whole(std::int64_t& value, const std::string& flag, const std::string& text) {
  if (text.empty()) return {};
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc() && at == end && value >= 1) return {};
  return bad_input(fmt::format("{}: \"{}\" is not a whole number from 1 on", flag, text));
}

Result<MegatronModel> model_of(const std::string& name) {
  if (!name.ends_with(".json")) return *find_megatron_model(name);
  NB_TRY(const Json json, read_json(name));
  return parse_struct<MegatronModel>(json, name);
}

Result<bool> recompute_of(const std::string& text) {
  if (text.empty() || text == "false" || text == "none") return false;
  if (text == "true" || text == "full") return true;
  return bad_input(fmt::format("--recompute: \"{}\" is not true (full) or false (none)", text));
}

Result<MegatronJob> job_of(const PredictQuestion& question, const MegatronFlags& flags) {
  for (const auto& [field, text] : question.given) {
    constexpr std::array kKnown = {"model", "recompute",         "sequence_len",      "cards",
                                   "nodes", "device_batch_size", "total_batch_tokens"};
    if (text.empty() || std::ranges::count(kKnown, field) > 0) continue;
    return bad_input(
        fmt::format("{}: decides nothing for {}, whose step is a closed form; leave "
                    "it out",
                    field, text_of(question, "model")));
  }
  MegatronJob job;
  job.name = text_of(question, "model");
  NB_TRY(job.model, model_of(job.name));
  if (job.model.kv_heads == 0) job.model.kv_heads = job.model.heads;
  MegatronRun& run = job.run;
  run.ranks = 8;
  std::int64_t tokens = PredictSettings{}.total_batch_tokens, nodes = 0;
  NB_TRY_VOID(put_whole(run.sequence_len, "--sequence-len", text_of(question, "sequence_len")));
  NB_TRY_VOID(put_whole(run.ranks, "--ranks", text_of(question, "cards")));
  NB_TRY_VOID(put_whole(nodes, "--nodes", text_of(question, "nodes")));
  NB_TRY_VOID(
      put_whole(run.micro_batch, "--device-batch-size", text_of(question, "device_batch_size")));
  NB_TRY_VOID(put_whole(tokens, "--total-batch-tokens", text_of(question, "total_batch_tokens")));
  NB_TRY_VOID(put_whole(run.tp, "--tp", flags.tp));
  NB_TRY_VOID(put_whole(run.pp, "--pp", flags.pp));
  NB_TRY_VOID(put_whole(run.vpp, "--vpp", flags.vpp));
  if (nodes > 0) run.nodes = nodes;
  NB_TRY(const bool recomputes, recompute_of(text_of(question, "recompute")));
  if (recomputes) run.recompute = MegatronRecompute::kFull;
  run.distributed_optimizer = flags.optimizer == "distributed";
  if (tokens % run.sequence_len != 0)
    return bad_input(
        fmt::format("--total-batch-tokens: {} are not whole rows of {} tokens; give "
                    "{} or {}",
                    tokens, run.sequence_len,
                    std::max<std::int64_t>(tokens / run.sequence_len, 1) * run.sequence_len,
                    (tokens / run.sequence_len + 1) * run.sequence_len));
  run.global_batch = tokens / run.sequence_len;
  NB_TRY_VOID(check_job(job), job.name);
  return job;
}

// Megatron's own software on that machine, where no stack is named.
Result<ResolvedDevice> device_of(const PredictQuestion& question) {
  DeviceEntry entry;
  entry.name = entry.profile = question.device;
  if (!question.stack.empty()) {
    entry.stack = question.stack;
    return resolve_device(entry, "--device");
  }
  NB_TRY(ResolvedDevice own, resolve_device(entry, "--device"));
  const std::string& kind = own.profile.identity.kind;
  if (kind != "npu" && kind != "gpu") return own;
  entry.stack = kind == "npu" ? "megatron_mindspeed" : "megatron_cuda";
  return resolve_device(entry, "--device");
}

}  // namespace

Result<bool> asks_megatron(const PredictQuestion& question, const MegatronFlags& flags) {
  const std::string model = text_of(question, "model");
  std::vector<std::string> known;
  for (const DecoderPreset& preset : decoder_presets()) known.emplace_back(preset.name);
  const bool is_preset = model.empty() || std::ranges::count(known, model) > 0;
  for (const NamedModel& named : megatron_models()) known.emplace_back(named.name);
  if (!is_preset && !model.ends_with(".json") && std::ranges::count(known, model) == 0)
    return bad_input(
        fmt::format("--model: no model \"{}\"{} (known: {}; or the path of a model "
                    "file that ends in .json)",
                    model, did_you_mean(model, known), fmt::join(known, ", ")));
  if (!is_preset) {
    if (flags.optimizer.empty() || flags.optimizer == "adam" || flags.optimizer == "distributed")
      return true;
    return bad_input(
        fmt::format("--optimizer: \"{}\" is not adam or distributed, which {} trains "
                    "with",
                    flags.optimizer, model));
  }
  for (const auto& [flag, text] :
       {std::pair{"--tp", flags.tp}, std::pair{"--pp", flags.pp}, std::pair{"--vpp", flags.vpp}})
    if (!text.empty() && text != "1")
      return bad_input(
          fmt::format("{}: presets of the decoder are not cut over cards; take a model "
                      "of Megatron's kind: {}",
                      flag, megatron_models().front().name));
  if (!flags.optimizer.empty() && flags.optimizer != "muon")
    return bad_input(
        fmt::format("--optimizer: \"{}\": presets of the decoder train with muon (and "
                    "AdamW for tables); adam and distributed are of Megatron's models",
                    flags.optimizer));
  return false;
}

Result<MegatronAnswer> ask_megatron(const PredictQuestion& question, const MegatronFlags& flags) {
  MegatronAnswer answer;
  NB_TRY(answer.job, job_of(question, flags));
  NB_TRY(ResolvedDevice device, device_of(question));
  NB_TRY(const auto between_nodes, parse_node_links(device.content, "--device"));
  if (!question.alloc_conf.empty())
    return bad_input("--alloc-conf: the memory of a closed form knows no allocator; leave it out");
  answer.profile = std::move(device.profile);
  NB_TRY_VOID(put_own_constants(answer.profile, question.own_constants));
  NB_TRY(answer.step, megatron_step(answer.job, megatron_machine(answer.profile, between_nodes)),
         answer.job.name);
  answer.memory = megatron_memory(answer.job);
  const MemoryBudget budget = answer.profile.memory_budget(
      static_cast<int>(std::min<std::int64_t>(answer.job.run.ranks, 2)));
  answer.capacity_bytes = static_cast<double>(budget.capacity_bytes - budget.reserve_bytes);
  return answer;
}

bool MegatronAnswer::is_borderline() const {
  return std::abs(memory.steady_peak_bytes / capacity_bytes - 1) <= kBorderlineShare;
}

std::optional<double> MegatronAnswer::mfu() const {
  const auto& peak = profile.matrix.peak.of(job.run.is_fp16 ? DType::kFp16 : DType::kBf16);
  if (!peak) return std::nullopt;
  return megatron_flops_per_token(job, FlopConvention::kFull) * step.rate_tok_s_card /
         (peak->value * 1e12);
}

}  // namespace nb::cli
