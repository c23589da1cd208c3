#include "harness/predict/megatron_request.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "harness/base/fields.hpp"
#include "harness/predict/own_constants.hpp"
#include "harness/suite/device_entry.hpp"
#include "model/collectives/cost.hpp"
#include "model/decoder/presets.hpp"
#include "model/predict/hugging_face_sizes.hpp"
#include "model/train/fit_batch.hpp"

namespace nb {
namespace {

std::string text_of(const PredictRequest& request, const std::string& field) {
  const auto given = request.given.find(field);
  return given == request.given.end() ? "" : given->second;
}

Result<void> put_whole(std::int64_t& value, const std::string& flag, const std::string& text) {
  if (text.empty()) return {};
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc() && at == end && value >= 1) return {};
  return bad_input(fmt::format("{}: \"{}\" is not a whole number from 1 on", flag, text));
}

// Of fields that shared flags spell differently.
constexpr std::array<std::string_view, 10> kSpelledOtherwise = {
    "sequence_len", "micro_batch", "global_batch", "ranks",     "nodes",
    "tp",           "pp",          "vpp",          "recompute", "distributed_optimizer"};

// Of a name, a file of sizes, or a Hugging Face config.json; `stated`: the run's fields that it
// has.
Result<void> read_model(MegatronJob& job, std::set<std::string>& stated) {
  if (!job.name.ends_with(".json")) {
    job.model = *find_megatron_model(job.name);
    return {};
  }
  NB_TRY(const Json json, read_json(job.name));
  if (is_hugging_face_config(json)) {
    NB_TRY(job.model, parse_hugging_face_sizes(json, job.name));
    return {};
  }
  FieldList fields = job.model.fields();
  for (Field& field : job.run.fields()) {
    if (json.is_object() && json.contains(field.name)) stated.insert(field.name);
    fields.push_back(std::move(field));
  }
  return parse_fields(fields, json, job.name);
}

Result<void> read_flags(MegatronRun& run, const MegatronFlags& flags,
                        std::set<std::string>& stated) {
  Json given = Json::object();
  for (const auto& [field, text] : flags.run) {
    if (text.empty()) continue;
    stated.insert(field);
    const Json value = Json::parse(text, nullptr, /*allow_exceptions=*/false);
    given[field] = text == "on"           ? Json(true)
                   : text == "off"        ? Json(false)
                   : value.is_discarded() ? Json(text)
                                          : value;
  }
  return parse_fields(run.fields(), given, "predict");
}

Result<bool> recompute_of(const std::string& text) {
  if (text.empty() || text == "false" || text == "none") return false;
  if (text == "true" || text == "full") return true;
  return bad_input(fmt::format("--recompute: \"{}\" is not true (full) or false (none)", text));
}

Result<MegatronJob> job_of(const PredictRequest& request, const MegatronFlags& flags,
                           std::set<std::string>& stated) {
  for (const auto& [field, text] : request.given) {
    constexpr std::array kKnown = {"model", "recompute",         "sequence_len",       "cards",
                                   "nodes", "device_batch_size", "total_batch_tokens", "steps"};
    if (text.empty() || std::ranges::count(kKnown, field) > 0) continue;
    return bad_input(
        fmt::format("{}: decides nothing for {}, whose step is a closed form; leave "
                    "it out",
                    field, text_of(request, "model")));
  }
  MegatronJob job;
  job.name = text_of(request, "model");
  MegatronRun& run = job.run;
  run.ranks = 8;
  run.global_batch = 0;
  NB_TRY_VOID(read_model(job, stated));
  if (job.model.kv_heads == 0) job.model.kv_heads = job.model.heads;
  std::int64_t tokens = PredictSettings{}.total_batch_tokens, nodes = 0;
  NB_TRY_VOID(put_whole(run.sequence_len, "--sequence-len", text_of(request, "sequence_len")));
  NB_TRY_VOID(put_whole(run.ranks, "--ranks", text_of(request, "cards")));
  NB_TRY_VOID(put_whole(nodes, "--nodes", text_of(request, "nodes")));
  NB_TRY_VOID(
      put_whole(run.micro_batch, "--device-batch-size", text_of(request, "device_batch_size")));
  NB_TRY_VOID(put_whole(tokens, "--total-batch-tokens", text_of(request, "total_batch_tokens")));
  NB_TRY_VOID(put_whole(run.tp, "--tp", flags.tp));
  NB_TRY_VOID(put_whole(run.pp, "--pp", flags.pp));
  NB_TRY_VOID(put_whole(run.vpp, "--vpp", flags.vpp));
  if (nodes > 0) run.nodes = nodes;
  NB_TRY_VOID(read_flags(run, flags, stated));
  if (const std::string& text = text_of(request, "recompute"); !text.empty()) {
    NB_TRY(const bool recomputes, recompute_of(text));
    run.recompute = recomputes ? MegatronRecompute::kFull : MegatronRecompute::kNone;
    stated.insert("recompute");
  }
  if (!flags.optimizer.empty()) {
    run.distributed_optimizer = flags.optimizer == "distributed";
    stated.insert("distributed_optimizer");
  }
  if (run.global_batch > 0 && text_of(request, "total_batch_tokens").empty())
    tokens = run.global_batch * run.sequence_len;
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

Result<void> check_dtype(const MegatronRun& run, const DeviceProfile& profile) {
  const DType asked = run.is_fp16 ? DType::kFp16 : DType::kBf16,
              other = run.is_fp16 ? DType::kBf16 : DType::kFp16;
  if (profile.matrix.peak.of(asked)) return {};
  return bad_input(fmt::format("--dtype: {} has no products in {}; {}", profile.name(), name(asked),
                               profile.matrix.peak.of(other)
                                   ? fmt::format("give --dtype {}", name(other))
                                   : "nor in another 16-bit type"));
}

// What decides something here and was said by nobody.
std::vector<std::pair<std::string, std::string>> assumed_of(const MegatronJob& job,
                                                            const std::set<std::string>& stated,
                                                            bool is_npu) {
  const MegatronRun& run = job.run;
  const std::pair<const char*, bool> decides[] = {{"dtype", true},
                                                  {"recompute", true},
                                                  {"distributed_optimizer", run.dp() > 1},
                                                  {"sequence_parallel", run.tp > 1},
                                                  {"mc2", is_npu && run.tp > 1},
                                                  {"overlap_grad_reduce", run.dp() > 1},
                                                  {"fused_norm", true},
                                                  {"fused_swiglu", job.model.is_gated},
                                                  {"fused_rope", true},
                                                  {"fused_gradient_accumulation", true}};
  const Json values = print_struct(run);
  std::vector<std::pair<std::string, std::string>> assumed;
  for (const auto& [field, is_asked] : decides) {
    if (!is_asked || stated.contains(field)) continue;
    const Json& value = values.at(field);
    assumed.emplace_back(field, value.is_string() ? value.get<std::string>()
                                : value == true   ? "on"
                                                  : "off");
  }
  return assumed;
}

// Megatron's own software on that machine, where no stack is named.
Result<ResolvedDevice> device_of(const PredictRequest& request) {
  DeviceEntry entry;
  entry.name = entry.profile = request.device;
  if (!request.stack.empty()) {
    entry.stack = request.stack;
    return resolve_device(entry, "--device");
  }
  NB_TRY(ResolvedDevice own, resolve_device(entry, "--device"));
  const std::string& kind = own.profile.identity.kind;
  if (kind != "npu" && kind != "gpu") return own;
  entry.stack = kind == "npu" ? "megatron_mindspeed" : "megatron_cuda";
  return resolve_device(entry, "--device");
}

}  // namespace

Result<bool> asks_megatron(const PredictRequest& request, const MegatronFlags& flags) {
  const std::string model = text_of(request, "model");
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
  for (const auto& [field, text] : flags.run)
    if (!text.empty())
      return bad_input(fmt::format(
          "{}: decides nothing for the decoder's presets; it is of Megatron's models: {}",
          flag_of(field), megatron_models().front().name));
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

std::span<const Field> megatron_run_flags() {
  static const FieldList fields = [] {
    static MegatronRun defaults;
    FieldList own = defaults.fields();
    std::erase_if(own, [](const Field& field) {
      return std::ranges::count(kSpelledOtherwise, field.name) > 0;
    });
    return own;
  }();
  return fields;
}

Result<MegatronAnswer> ask_megatron(const PredictRequest& request, const MegatronFlags& flags) {
  MegatronAnswer answer;
  std::set<std::string> stated;
  NB_TRY(answer.job, job_of(request, flags, stated));
  NB_TRY(ResolvedDevice device, device_of(request));
  NB_TRY(const auto between_nodes, parse_node_links(device.content, "--device"));
  if (!request.alloc_conf.empty())
    return bad_input("--alloc-conf: the memory of a closed form knows no allocator; leave it out");
  answer.profile = std::move(device.profile);
  NB_TRY_VOID(put_own_constants(answer.profile, request.own_constants));
  NB_TRY_VOID(check_dtype(answer.job.run, answer.profile));
  NB_TRY_VOID(lay_out_ranks(answer.profile, answer.job.run.ranks, answer.job.run.nodes,
                            between_nodes.has_value()));
  const MegatronMachine machine = megatron_machine(answer.profile, between_nodes);
  NB_TRY(answer.step, megatron_step(answer.job, machine), answer.job.name);
  const bool is_npu = answer.profile.identity.kind == "npu";
  answer.assumed = assumed_of(answer.job, stated, is_npu);
  if (const std::string text = text_of(request, "steps"); !text.empty())
    NB_TRY_VOID(put_whole(answer.steps.emplace(), "--steps", text));
  if (is_npu && answer.job.run.tp > 1 && !stated.contains("mc2")) {
    MegatronJob with_mc2 = answer.job;
    with_mc2.run.mc2 = true;
    NB_TRY(answer.step_with_mc2, megatron_step(with_mc2, machine), answer.job.name);
  }
  answer.memory = megatron_memory(answer.job);
  const MemoryBudget budget = answer.profile.memory_budget(
      static_cast<int>(std::min<std::int64_t>(answer.job.run.ranks, 2)));
  answer.capacity_bytes = static_cast<double>(budget.capacity_bytes - budget.reserve_bytes);
  return answer;
}

Result<void> ask_against(PredictRequest request, const MegatronFlags& flags,
                         const std::string& device, MegatronAnswer& answer) {
  request.device = answer.against = device;
  request.stack.clear();
  NB_TRY(const MegatronAnswer other, ask_megatron(request, flags), "--against");
  answer.step_of_other = other.step;
  return {};
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

}  // namespace nb
