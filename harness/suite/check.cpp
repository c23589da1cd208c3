#include "harness/suite/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "evals/probes/probes.hpp"
#include "evals/task_registry.hpp"
#include "harness/suite/check_defects.hpp"
#include "harness/suite/device_entry.hpp"
#include "harness/suite/microbenchmarks.hpp"
#include "harness/suite/plain_name.hpp"
#include "model/decoder/config.hpp"
#include "model/train/context_rank.hpp"
#include "model/train/mesh_settings.hpp"

namespace nb {
namespace {

// Names that end in folder and node names: plain and unique.
class Names {
 public:
  explicit Names(std::string where) : where_(std::move(where)) {}
  Result<void> add(const std::string& name, const std::string& pointer) {
    if (!is_plain_name(name))
      return bad_input(fmt::format("{}: {}: {}", where_, pointer, not_a_name(name)));
    if (!seen_.insert(name).second)
      return bad_input(fmt::format("{}: {}: \"{}\" appears twice; give one of them another name",
                                   where_, pointer, name));
    return {};
  }

 private:
  std::string where_;
  std::set<std::string> seen_;
};

Result<void> check_devices(const Suite& suite, const std::string& where) {
  Names names(where);
  const bool has_all_reduce =
      std::ranges::find(suite.microbenchmarks, "all_reduce", &MicrobenchmarkSettings::name) !=
      suite.microbenchmarks.end();
  for (std::size_t i = 0; i < suite.devices.size(); ++i) {
    const std::string pointer = fmt::format("/devices/{}", i);
    auto device = resolve_device(suite.devices[i], where + ": " + pointer);
    if (!device) return tl::unexpected<Error>(device.error());
    for (const auto& [key, value] : suite.devices[i].numerics_overrides)
      if (needs_several_cards(key) && !has_all_reduce)
        return bad_input(fmt::format(
            "{}: {}/numerics_overrides/{}: decides nothing here: training and evaluation run on "
            "one card; only the microbenchmark all_reduce has several",
            where, pointer, key));
    NB_TRY_VOID(names.add(suite.devices[i].name, pointer + "/name"));
  }
  return {};
}

Result<void> check_seeds(const Suite& suite, const std::string& where) {
  const std::set<std::uint64_t> unique(suite.seeds.begin(), suite.seeds.end());
  if (unique.size() != suite.seeds.size())
    return bad_input(fmt::format("{}: /seeds: a seed appears twice", where));
  return {};
}

Result<void> check_adapters(const std::optional<AdapterSettings>& lora, const DecoderConfig& config,
                            const std::string& where) {
  if (!lora) return {};
  return check_lora(lora->lora, config, where + "/lora");
}

// The cards of every device share the parts of a step of that stage, and its model where the stage
// can (config).
Result<void> check_meshes(const Suite& suite, std::int64_t parts, Shared shared,
                          std::string_view stage, const std::string& where,
                          const DecoderConfig* config = nullptr) {
  for (std::size_t i = 0; i < suite.devices.size(); ++i) {
    if (!suite.devices[i].mesh) continue;
    const std::string entry = fmt::format("{}: /devices/{}", where, i);
    NB_TRY(const ResolvedDevice device, resolve_device(suite.devices[i], entry));
    const std::string at = fmt::format("{}, /stages/{}", entry, stage);
    const Parallel parallel = config == nullptr ? Parallel::kData : Parallel::kTensor;
    NB_TRY_VOID(check_ranks(suite.devices[i].mesh, parts, device.profile, shared, parallel), at);
    if (config == nullptr) continue;
    NB_TRY_VOID(check_context(*config, suite.devices[i].mesh->context_ranks(),
                              context_kind(suite.devices[i].mesh->context_name())),
                at);
  }
  return {};
}

// Pipelines and tensor parallel ranks of the model, in every stage that there is.
Result<void> check_model_ranks_of(const Suite& suite, const DecoderConfig& config,
                                  const std::string& where) {
  const StageSettings& stages = suite.stages;
  for (std::size_t i = 0; i < suite.devices.size(); ++i) {
    const auto check = [&](TrainingStage stage, bool has_adapters) -> Result<void> {
      NB_TRY_VOID(check_model_ranks(suite.devices[i].mesh, config, stage, has_adapters),
                  fmt::format("{}: /devices/{}, /stages/{}", where, i, name(stage)));
      return {};
    };
    NB_TRY_VOID(check(TrainingStage::kBase, false));
    if (stages.mid) NB_TRY_VOID(check(TrainingStage::kMid, stages.mid->settings.lora.has_value()));
    if (stages.sft) NB_TRY_VOID(check(TrainingStage::kSft, stages.sft->settings.lora.has_value()));
    if (stages.dpo) NB_TRY_VOID(check(TrainingStage::kDpo, false));
    if (stages.rl) NB_TRY_VOID(check(TrainingStage::kRl, false));
  }
  return {};
}

// Stages on conversations: which ones, and batches that divide.
Result<void> check_chat_stages(const Suite& suite, const DecoderConfig& config,
                               const std::string& where) {
  const bool has_microworld = suite.corpus->microworld.has_value();
  const auto check = [&](const auto& stage, const char* name, const auto&... size) -> Result<void> {
    if (!stage) return {};
    const std::string pointer = fmt::format("{}: /stages/{}", where, name);
    const MixtureOf kind =
        std::string_view(name) == "dpo" ? MixtureOf::kPairs : MixtureOf::kConversations;
    NB_TRY_VOID(check_mixture(stage->conversations, has_microworld, pointer, kind));
    NB_TRY_VOID(check_adapters(stage->settings.lora, config, pointer));
    auto steps = accumulation_steps(stage->settings, size...);
    if (!steps) return tl::unexpected<Error>(with_context(steps.error(), pointer));
    return check_meshes(suite, *steps, Shared::kMicroBatches, name, where);
  };
  const std::int64_t length =
      suite.stages.mid ? suite.stages.mid->settings.sequence_len.value_or(config.sequence_len) : 0;
  NB_TRY_VOID(check(suite.stages.mid, "mid", length));
  const bool is_packed = suite.stages.sft && suite.stages.sft->settings.packed;
  NB_TRY_VOID(check(
      suite.stages.sft, "sft",
      is_packed ? suite.stages.sft->settings.packed->sequence_len.value_or(config.sequence_len)
                : 0));
  NB_TRY_VOID(check(suite.stages.dpo, "dpo"));
  if (!suite.stages.rl) return {};
  const std::string pointer = where + ": /stages/rl";
  NB_TRY_VOID(check_mixture(suite.stages.rl->conversations, has_microworld, pointer));
  NB_TRY_VOID(check_adapters(suite.stages.rl->settings.lora, config, pointer));
  NB_TRY_VOID(passes_per_example(suite.stages.rl->settings), pointer);
  return check_meshes(suite, suite.stages.rl->settings.examples_per_step, Shared::kQuestions, "rl",
                      where);
}

Result<void> check_training(const Suite& suite, const std::string& where) {
  const std::string pointer = where + ": /stages/base";
  if (!suite.stages.base) {
    for (const TrainingStage stage : suite.stages.all())
      return bad_input(fmt::format(
          "{}: /stages/{}: starts from the weights of BASE; add /stages/base", where, name(stage)));
    if (!suite.evaluations.empty())
      return bad_input(fmt::format(
          "{}: /evaluations: nothing is trained that could be evaluated; add /stages/base", where));
    return {};
  }
  if (!suite.corpus)
    return bad_input(
        fmt::format("{}: training needs a /corpus, for example {{\"microworld\": {{}}}}", pointer));
  if (suite.seeds.empty())
    return bad_input(fmt::format("{}: /seeds: empty, so nothing would be trained; try [1]", where));
  const TrainSettings& train = suite.stages.base->settings;
  auto batches = plan_batch(train, /*cards=*/1);
  if (!batches) return tl::unexpected<Error>(with_context(batches.error(), pointer));
  auto schedule = check_schedule(train);
  if (!schedule) return tl::unexpected<Error>(with_context(schedule.error(), pointer));
  const auto config = decoder_config(train, suite.tokenizer.vocab_size);
  if (!config) return tl::unexpected<Error>(with_context(config.error(), pointer));
  NB_TRY_VOID(check_meshes(suite, batches->accumulation_steps, Shared::kMicroBatches, "base", where,
                           &*config));
  NB_TRY_VOID(check_model_ranks_of(suite, *config, where));
  return check_chat_stages(suite, *config, where);
}

Result<void> check_corpus(const Suite& suite, const std::string& where) {
  if (!suite.corpus) return {};
  if (suite.corpus->microworld.has_value() == suite.corpus->text.has_value())
    return bad_input(
        fmt::format("{}: /corpus: give exactly one of \"microworld\" and \"text\"", where));
  if (suite.corpus->text && suite.corpus->text->sources.empty())
    return bad_input(fmt::format(
        "{}: /corpus/text/sources: empty; try [\"text/english_novels\"] (npubench data list)",
        where));
  return {};
}

Result<void> check_evaluations(const Suite& suite, const std::string& where) {
  Names names(where);
  for (std::size_t i = 0; i < suite.evaluations.size(); ++i) {
    const std::string pointer = fmt::format("/evaluations/{}", i);
    const EvaluationSettings& evaluation = suite.evaluations[i];
    NB_TRY_VOID(names.add(evaluation.name, pointer + "/name"));
    auto tasks = expand_tasks(evaluation.settings, where + ": " + pointer + "/tasks");
    if (!tasks) return tl::unexpected<Error>(tasks.error());
    for (const Task& task : *tasks)
      if (task.id.starts_with("mw/") && !(suite.corpus && suite.corpus->microworld))
        return bad_input(fmt::format(
            "{}: {}/tasks: {} asks about the generated world and needs /corpus/microworld", where,
            pointer, task.id));
    for (std::size_t k = 0; k < evaluation.stages.size(); ++k) {
      std::vector<std::string> trained;
      for (const TrainingStage stage : suite.stages.all()) trained.emplace_back(name(stage));
      if (std::ranges::find(trained, evaluation.stages[k]) == trained.end())
        return bad_input(
            fmt::format("{}: {}/stages/{}: \"{}\" is not a stage that this suite "
                        "trains; give some of {}",
                        where, pointer, k, evaluation.stages[k], fmt::join(trained, ", ")));
    }
    if (evaluation.settings.max_per_task == 0)
      return bad_input(fmt::format(
          "{}: {}/max_per_task: 0 items make no evaluation; leave it out to keep all items", where,
          pointer));
  }
  return {};
}

Result<void> check_microbenchmarks(const Suite& suite, const std::string& where) {
  Names names(where);
  std::vector<std::string> groups;
  for (const MicrobenchmarkGroup& group : microbenchmark_groups()) groups.emplace_back(group.name);
  for (std::size_t i = 0; i < suite.microbenchmarks.size(); ++i) {
    const std::string& name = suite.microbenchmarks[i].name;
    const std::string pointer = fmt::format("/microbenchmarks/{}", i);
    if (std::find(groups.begin(), groups.end(), name) == groups.end())
      return bad_input(
          fmt::format("{}: {}: no microbenchmark \"{}\"{} (npubench list microbenchmarks)", where,
                      pointer, name, did_you_mean(name, groups)));
    NB_TRY_VOID(names.add(name, pointer));
  }
  return {};
}

// What an experiment asks of the suite; its factors are looked at where they are expanded.
Result<void> check_factorial(const Suite& suite, const std::string& where) {
  if (!suite.factorial) return {};
  if (!suite.stages.base)
    return bad_input(
        fmt::format("{}: /factorial: its configurations are trainings; add /stages/base", where));
  if (suite.devices.size() != 1)
    return bad_input(
        fmt::format("{}: /devices: {} of them; an experiment has one, and another "
                    "device is a factor: \"high\": {{\"/devices/0/profile\": \"h100_sxm\"}}",
                    where, suite.devices.size()));
  if (!suite.microbenchmarks.empty() || !suite.predictions.empty() || !suite.probes.empty())
    return bad_input(fmt::format(
        "{}: /factorial: microbenchmarks, predictions and probes have no part in it; put them into "
        "a suite of their own",
        where));
  return {};
}

Result<void> check_predictions(const Suite& suite, const std::string& where) {
  for (std::size_t i = 0; i < suite.predictions.size(); ++i) {
    NB_TRY_VOID(check_prediction(suite.predictions[i]),
                fmt::format("{}: /predictions/{}", where, i));
  }
  return {};
}

Result<void> check_probes(const Suite& suite, const std::string& where) {
  std::vector<std::string> known;
  for (const ProbeInfo& probe : probes()) known.emplace_back(probe.name);
  for (std::size_t i = 0; i < suite.probes.size(); ++i)
    if (std::ranges::find(known, suite.probes[i]) == known.end())
      return bad_input(fmt::format("{}: /probes/{}: no probe \"{}\"{} (npubench list probes)",
                                   where, i, suite.probes[i],
                                   did_you_mean(suite.probes[i], known)));
  return {};
}

}  // namespace

Result<void> check_suite(const Suite& suite, const std::string& where) {
  Names names(where);
  NB_TRY_VOID(names.add(suite.name, "/name"));
  NB_TRY_VOID(check_devices(suite, where));
  NB_TRY_VOID(check_seeds(suite, where));
  NB_TRY_VOID(check_corpus(suite, where));
  NB_TRY_VOID(check_training(suite, where));
  NB_TRY_VOID(check_evaluations(suite, where));
  NB_TRY_VOID(check_microbenchmarks(suite, where));
  NB_TRY_VOID(check_predictions(suite, where));
  NB_TRY_VOID(check_probes(suite, where));
  NB_TRY_VOID(check_defects(suite, where));
  NB_TRY_VOID(check_factorial(suite, where));
  const bool runs_on_device = suite.stages.base || !suite.microbenchmarks.empty() ||
                              !suite.predictions.empty() || !suite.probes.empty();
  if (!suite.corpus && !runs_on_device)
    return bad_input(
        fmt::format("{}: nothing to run; add /stages, /microbenchmarks or /predictions", where));
  if (runs_on_device && suite.devices.empty())
    return bad_input(fmt::format(
        "{}: /devices: empty, so nothing would run; try [\"ascend_910b3\"] (npubench list devices)",
        where));
  return {};
}

}  // namespace nb
