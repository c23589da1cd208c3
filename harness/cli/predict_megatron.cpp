#include "harness/cli/predict_megatron.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <vector>

#include "harness/base/table.hpp"
#include "harness/base/text_width.hpp"
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

std::vector<std::pair<const char*, double>> parts_of(const MegatronStep& step) {
  return {{"product", step.product_ns},
          {"attention", step.attention_ns},
          {"vector", step.vector_ns},
          {"communication", step.communication_ns},
          {"host", step.host_ns},
          {"bubble", step.bubble_ns},
          {"data_parallel", step.data_parallel_ns},
          {"optimizer", step.optimizer_ns}};
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
  NB_TRY(answer.step, megatron_step(answer.job, megatron_machine(answer.profile, between_nodes)),
         answer.job.name);
  answer.memory = megatron_memory(answer.job);
  const MemoryBudget budget = answer.profile.memory_budget(
      static_cast<int>(std::min<std::int64_t>(answer.job.run.ranks, 2)));
  answer.capacity_bytes = static_cast<double>(budget.capacity_bytes - budget.reserve_bytes);
  return answer;
}

Json megatron_json(const PredictQuestion& question, const MegatronAnswer& answer) {
  const MegatronJob& job = answer.job;
  const MegatronRun& run = job.run;
  MegatronModel model = job.model;
  Json parts = Json::object();
  for (const auto& [part, time_ns] : parts_of(answer.step)) parts[part] = time_ns;
  const double rate = answer.step.rate_tok_s_card * static_cast<double>(run.ranks);
  const double flops = megatron_flops_per_token(job, FlopConvention::kFull);
  const auto& peak = answer.profile.matrix.peak.of(run.is_fp16 ? DType::kFp16 : DType::kBf16);
  Json json{{"device", question.device},
            {"stack", answer.profile.stack},
            {"clock", "sim"},
            {"method", "closed form"},
            {"model", print_fields(model.fields())},
            {"settings",
             {{"model", job.name},
              {"ranks", run.ranks},
              {"tp", run.tp},
              {"pp", run.pp},
              {"vpp", run.vpp},
              {"dp", run.dp()},
              {"sequence_len", run.sequence_len},
              {"micro_batch", run.micro_batch},
              {"global_batch", run.global_batch},
              {"micro_batches", run.micro_batches()},
              {"recompute", run.recompute == MegatronRecompute::kFull ? "full" : "none"},
              {"optimizer", run.distributed_optimizer ? "distributed" : "adam"}}},
            {"fits", answer.fits()},
            {"parameters", job.model.parameter_count()},
            {"flops_per_token", flops},
            {"flop_convention",
             "a token: 6 x parameters of products + 12 x layers x query width x keys of the row; "
             "forward and backward; recomputation not counted"},
            {"step_time_ns", answer.step.step_ns},
            {"time_by_part_ns", std::move(parts)},
            {"throughput_tok_s", rate},
            {"throughput_tok_s_card", answer.step.rate_tok_s_card},
            {"static_bytes", answer.memory.static_bytes},
            {"peak_memory",
             {{"rule",
               "of the fullest stage: first_iteration before the moments exist, steady with "
               "them"},
              {"first_iteration", {{"allocated_bytes", answer.memory.first_peak_bytes}}},
              {"steady", {{"allocated_bytes", answer.memory.steady_peak_bytes}}}}},
            {"capacity_bytes", answer.capacity_bytes}};
  if (peak) {
    json["mfu_peak"] = {{"value", peak->value},
                        {"unit", peak->unit},
                        {"of", "card"},
                        {"dtype", run.is_fp16 ? "fp16" : "bf16"}};
    json["mfu"] = flops * answer.step.rate_tok_s_card / (peak->value * 1e12);
  }
  return json;
}

std::string megatron_text(const PredictQuestion& question, const MegatronAnswer& answer) {
  const MegatronJob& job = answer.job;
  const MegatronRun& run = job.run;
  TextTable table{{"simulated", ""}, {}};
  auto& rows = table.rows;
  rows.push_back({"device", fmt::format("{} × {}, stack {}", run.ranks, question.device,
                                        answer.profile.stack)});
  rows.push_back({"model", fmt::format("{}, {} parameters", job.name,
                                       with_commas(job.model.parameter_count()))});
  rows.push_back(
      {"cut", fmt::format("tp {}, pp {}{}, dp {}", run.tp, run.pp,
                          run.vpp > 1 ? fmt::format(" × vpp {}", run.vpp) : "", run.dp())});
  rows.push_back(
      {"step", fmt::format("{} tokens: {} of {} × {} per replica",
                           with_commas(static_cast<long long>(job.tokens_per_step())),
                           count_text(run.micro_batches(), "micro-batch", "micro-batches"),
                           run.micro_batch, run.sequence_len)});
  rows.push_back({"step time", human_time_ns(answer.step.step_ns)});
  std::vector<std::string> shares;
  for (const auto& [part, time_ns] : parts_of(answer.step))
    if (const double share = 100 * time_ns / answer.step.step_ns; share >= .5)
      shares.push_back(fmt::format("{} {:.0f} %", part, share));
  std::ranges::for_each(shares, [](std::string& s) { std::ranges::replace(s, '_', ' '); });
  rows.push_back({"  spent on", fmt::format("{}", fmt::join(shares, ", "))});
  rows.push_back({"throughput", fmt::format("{}, {} per card",
                                            human_rate(answer.step.rate_tok_s_card *
                                                           static_cast<double>(run.ranks),
                                                       "tok/s"),
                                            human_rate(answer.step.rate_tok_s_card, "tok/s"))});
  const auto& peak = answer.profile.matrix.peak.of(DType::kBf16);
  if (peak)
    rows.push_back({"MFU", fmt::format("{:.1f} % of {:.4g} {} bf16 per card, all keys counted",
                                       100 * answer.step.rate_tok_s_card *
                                           megatron_flops_per_token(job, FlopConvention::kFull) /
                                           (peak->value * 1e12),
                                       peak->value, peak->unit)});
  rows.push_back({"memory, static", human_bytes(answer.memory.static_bytes)});
  rows.push_back({"peak memory", fmt::format("first step {}, later steps {}",
                                             human_bytes(answer.memory.first_peak_bytes),
                                             human_bytes(answer.memory.steady_peak_bytes))});
  rows.push_back({"  of", human_bytes(answer.capacity_bytes)});
  return to_text(table, kTextWidth);
}

}  // namespace nb::cli
