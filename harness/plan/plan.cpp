#include "harness/plan/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "evals/evaluate.hpp"
#include "evals/task_registry.hpp"
#include "harness/base/check.hpp"
#include "harness/base/hash.hpp"
#include "harness/faults/faults.hpp"
#include "harness/plan/conversation_files.hpp"
#include "harness/plan/node_kinds.hpp"
#include "harness/plan/plant_faults.hpp"
#include "harness/plan/text_sources.hpp"
#include "harness/suite/check_defects.hpp"
#include "harness/suite/device_entry.hpp"

namespace nb {
namespace {

constexpr std::size_t kShownDigits = 12;  // of a key, where several begin alike

// "d20-c16-n2-b8", "sft-d20-c8-b4", "gpt2-d12-c1-recompute"; what is not given is not named.
std::string label_of(const PredictSettings& prediction) {
  std::string label = fmt::format("d{}-c{}", prediction.depth, prediction.cards);
  if (prediction.stage != TrainingStage::kBase)
    label = fmt::format("{}-{}", name(prediction.stage), label);
  if (prediction.model) label = *prediction.model + "-" + label;
  if (prediction.nodes) label += fmt::format("-n{}", *prediction.nodes);
  if (prediction.device_batch_size) label += fmt::format("-b{}", *prediction.device_batch_size);
  if (prediction.recompute.value_or(false)) label += "-recompute";
  return label;
}

// Adds nodes one by one; parents must have been added before.
class Builder {
 public:
  // To a plan that may have nodes of other configurations already.
  Builder(const Suite& suite, const PlanOptions& options, const std::string& where, Plan plan)
      : suite_(suite), options_(options), where_(where), plan_(std::move(plan)) {
    plan_.suite = suite.name;
  }

  Result<Plan> build() {
    NB_TRY_VOID(find_faults());
    for (const EvaluationSettings& evaluation : suite_.evaluations) {
      NB_TRY(digests_[evaluation.name], digests_of(evaluation.settings), where_);
    }
    if (suite_.corpus) NB_TRY_VOID(add_data());
    for (std::size_t i = 0; i < suite_.devices.size(); ++i) {
      NB_TRY_VOID(resolve_device(suite_.devices[i], fmt::format("{}: /devices/{}", where_, i)));
    }
    for (std::size_t i = 0; i < suite_.devices.size(); ++i) add_device(i);
    for (const FinishedTraining& training : options_.finished) evaluate_again(training);
    NB_CHECK(!plan_.nodes.empty(), "[plan] suite {} passed its checks but runs nothing",
             suite_.name);
    return std::move(plan_);
  }

 private:
  // Every planted fault must concern an evaluation, or it would test nothing.
  Result<void> find_faults() {
    NB_TRY(faults_, parse_faults(options_.faults, "--fault"));
    std::vector<Task> tasks;
    for (const EvaluationSettings& evaluation : suite_.evaluations) {
      NB_TRY(const auto some, expand_tasks(evaluation.settings, where_));
      tasks.insert(tasks.end(), some.begin(), some.end());
    }
    if (faults_.empty()) return {};
    return check_faults_hit(faults_, tasks, "--fault");
  }

  std::vector<std::string> faults_of(const EvaluationSettings& evaluation) const {
    auto tasks = expand_tasks(evaluation.settings, where_);
    NB_CHECK(tasks.has_value(), "[plan] tasks of a checked suite: {}", tasks.error().message);
    std::vector<std::string> names;
    for (const Fault& fault : faults_)
      if (std::any_of(tasks->begin(), tasks->end(),
                      [&](const Task& task) { return task.id == fault.target; }))
        names.push_back(nb::name(fault));
    return names;
  }

  Result<void> add_data() {
    DatasetWork dataset{*suite_.corpus, {}, 0};
    if (dataset.corpus.text) {
      NB_TRY(const std::vector<TextFile> files,
             find_text_files(dataset.corpus.text->sources, options_.data_dir, where_));
      for (const TextFile& file : files) {
        dataset.file_digests[file.name] = file.digest;
        dataset.text_bytes += file.size_bytes;
      }
    }
    dataset_ = add(std::move(dataset), "corpus", {});
    tokenizer_ = add(TokenizerWork{suite_.tokenizer}, "tokenizer", {dataset_});
    if (suite_.stages.base) shards_ = add(ShardsWork{}, "shards", {dataset_, tokenizer_});
    if (suite_.stages.mid) NB_TRY_VOID(add_conversations("mid", suite_.stages.mid->conversations));
    if (suite_.stages.sft) NB_TRY_VOID(add_conversations("sft", suite_.stages.sft->conversations));
    if (suite_.stages.dpo) NB_TRY_VOID(add_conversations("dpo", suite_.stages.dpo->conversations));
    if (suite_.stages.rl) NB_TRY_VOID(add_conversations("rl", suite_.stages.rl->conversations));
    return {};
  }

  Result<void> add_conversations(const std::string& stage, const Mixture& mixture) {
    ConversationsWork work{stage, mixture, {}, {}};
    NB_TRY(const std::vector<TextFile> files,
           find_conversation_files(mixture, options_.data_dir, where_ + ": /stages/" + stage));
    for (const TextFile& file : files) work.file_digests[file.name] = file.digest;
    for (const std::vector<MixtureTask>* tasks : {&mixture.train, &mixture.validation})
      for (const MixtureTask& task : *tasks)
        if (is_of_microworld(task)) work.microworld = suite_.corpus->microworld;
    conversations_[stage] = add(std::move(work), stage, {});
    return {};
  }

  // A device as a node sees it: with the defects that concern the node, and no others.
  struct NodeDevice {
    DeviceEntry entry;
    std::string content;
  };
  NodeDevice device_for(const DeviceEntry& device, DefectScope scope) const {
    DeviceEntry entry = with_defects_in(device, scope);
    auto resolved = resolve_device(entry, where_);
    NB_CHECK(resolved.has_value(), "[plan] device of a checked suite: {}",
             resolved.error().message);
    return {std::move(entry), std::move(resolved->content)};
  }

  void add_device(std::size_t index) {
    const DeviceEntry& device = suite_.devices[index];
    if (suite_.stages.base)
      for (const std::uint64_t seed : suite_.seeds) add_training(index, seed);
    const auto [entry, content] = device_for(device, defect_scope::kDevice);
    for (const MicrobenchmarkSettings& benchmark : suite_.microbenchmarks)
      add(MicroWork{entry, benchmark}, benchmark.name, {}, content);
    for (const PredictSettings& prediction : suite_.predictions)
      add(PredictWork{entry, prediction}, label_of(prediction), {}, content);
    if (!suite_.probes.empty()) add(ProbeWork{entry, suite_.probes}, "probes", {}, content);
  }

  // All stages of one seed on one device, each from the one before.
  void add_training(std::size_t index, std::uint64_t seed) {
    const DeviceEntry& device = suite_.devices[index];
    std::size_t before = 0;
    for (const TrainingStage stage : suite_.stages.all()) {
      const std::string label{name(stage)};
      const auto [entry, content] = device_for(device, scope_of(stage));
      TrainWork work{label, entry, seed, {}, {}, {}, {}, {}};
      std::vector<std::size_t> parents;
      if (stage == TrainingStage::kBase) {
        work.base = suite_.stages.base->settings;
        work.base->seed = seed;
        keep(work.base->keep_steps, label);
        parents = {shards_, tokenizer_};
      } else {
        const auto take = [&](auto& own, const auto& settings) {
          own = settings;
          keep(own->checkpoints.keep_steps, label);
          if (own->lora && !own->lora->seed) own->lora->seed = static_cast<std::int64_t>(seed);
        };
        if (stage == TrainingStage::kMid) {
          take(work.mid, suite_.stages.mid->settings);
        } else if (stage == TrainingStage::kSft) {
          take(work.sft, suite_.stages.sft->settings);
        } else if (stage == TrainingStage::kDpo) {
          take(work.dpo, suite_.stages.dpo->settings);
        } else {
          take(work.rl, suite_.stages.rl->settings);
          work.rl->seed = seed;
        }
        parents = {before, conversations_.at(label), tokenizer_};
      }
      before = add(std::move(work), label, std::move(parents), content);
      add_evaluations(before, label, index, seed);
    }
  }

  static bool evaluates(const EvaluationSettings& evaluation, const std::string& stage) {
    return evaluation.stages.empty() ||
           std::ranges::find(evaluation.stages, stage) != evaluation.stages.end();
  }

  // What is evaluated stays.
  void keep(std::vector<std::int64_t>& keep_steps, const std::string& stage) const {
    std::set<std::int64_t> kept(keep_steps.begin(), keep_steps.end());
    for (const EvaluationSettings& evaluation : suite_.evaluations)
      if (evaluates(evaluation, stage))
        kept.insert(evaluation.steps.begin(), evaluation.steps.end());
    keep_steps.assign(kept.begin(), kept.end());
  }

  void add_evaluations(std::size_t train, const std::string& stage, std::size_t trained_on,
                       std::uint64_t seed) {
    for (const EvaluationSettings& evaluation : suite_.evaluations)
      for (std::size_t device = 0; device < suite_.devices.size(); ++device)
        if (evaluates(evaluation, stage) && (device == trained_on || evaluation.crosses_devices))
          add_evaluation(evaluation, train, stage, trained_on, device, seed);
  }

  void evaluate_again(const FinishedTraining& training) {
    for (const EvaluationSettings& evaluation : suite_.evaluations)
      for (const DeviceEntry& device : suite_.devices) {
        const bool is_own = device.name == training.device;
        if (!evaluation.of_baseline || !evaluates(evaluation, training.stage) ||
            !(is_own || evaluation.crosses_devices))
          continue;
        const auto [entry, content] = device_for(device, scope_of(evaluation));
        EvalWork work{training.stage,
                      entry,
                      training.seed,
                      evaluation,
                      {},
                      faults_of(evaluation),
                      {},
                      digests_.at(evaluation.name),
                      training};
        if (suite_.corpus->microworld) work.microworld = suite_.corpus->microworld;
        if (is_planned(work)) continue;
        add(std::move(work),
            fmt::format("{}{}.{}", kAcceptedPrefix, training.stage, evaluation.name), {},
            content + sandbox_level(evaluation.settings), is_own ? "" : "-of-" + training.device);
      }
  }

  // The training is one of tonight's: its evaluation says the same.
  bool is_planned(const EvalWork& work) const {
    const std::vector<std::string> parents = {work.finished->key, work.finished->tokenizer_key};
    return std::ranges::any_of(plan_.nodes, [&](const Node& node) {
      const auto* other = std::get_if<EvalWork>(&node.work);
      if (other == nullptr || other->device.name != work.device.name || other->step ||
          other->evaluation.name != work.evaluation.name)
        return false;
      std::vector<std::string> keys;
      for (const std::size_t parent : node.parents) keys.push_back(plan_.nodes[parent].key);
      return keys == parents;
    });
  }

  void add_evaluation(const EvaluationSettings& evaluation, std::size_t train,
                      const std::string& stage, std::size_t trained_on, std::size_t device,
                      std::uint64_t seed) {
    const auto [entry, content] = device_for(suite_.devices[device], scope_of(evaluation));
    EvalWork work{stage, entry, seed, evaluation, {}, faults_of(evaluation), {}, {}, {}};
    work.file_digests = digests_.at(evaluation.name);
    if (suite_.corpus->microworld) work.microworld = suite_.corpus->microworld;
    const std::string host = content + sandbox_level(evaluation.settings);
    const std::string trained =
        device == trained_on ? "" : "-of-" + suite_.devices[trained_on].name;
    for (const std::int64_t step : std::set(evaluation.steps.begin(), evaluation.steps.end())) {
      work.step = step;
      add(work, fmt::format("{}@{}.{}", stage, step, evaluation.name), {train, tokenizer_}, host,
          trained);
    }
    work.step.reset();
    add(std::move(work), stage + "." + evaluation.name, {train, tokenizer_}, host, trained);
  }

  std::size_t add(Work work, const std::string& label, std::vector<std::size_t> parents,
                  const std::string& device_content = {}, const std::string& suffix = {}) {
    Node node;
    node.work = std::move(work);
    node.label = label;
    node.name = unique_name(node, suffix);
    std::vector<std::string> keys;
    for (const std::size_t parent : parents) keys.push_back(plan_.nodes[parent].key);
    node.key = node_key(node.work, keys, device_content);
    if (const auto* train = std::get_if<TrainWork>(&node.work);
        train != nullptr && !train->device.planted.faults.empty()) {
      TrainWork sound = *train;
      sound.device.planted = sound.device.planted.without_faults();
      node.key_without_faults = node_key(sound, keys, device_content);
    }
    // What configurations share is there already: texts, tokenizer, conversations.
    if (device_of(node.work) == nullptr)
      for (std::size_t i = 0; i < plan_.nodes.size(); ++i)
        if (plan_.nodes[i].key == node.key) return i;
    node.parents = std::move(parents);
    plan_.nodes.push_back(std::move(node));
    return plan_.nodes.size() - 1;
  }

  // suffix: behind the device's name.
  std::string unique_name(const Node& node, const std::string& suffix) const {
    std::string name{info(node.kind()).name};
    if (name != node.label) name += "-" + node.label;
    if (const DeviceEntry* device = device_of(node.work)) name += "-" + device->name + suffix;
    if (const auto seed = seed_of(node.work)) name += fmt::format("-s{}", *seed);
    const auto taken = [this](const std::string& candidate) {
      return std::any_of(plan_.nodes.begin(), plan_.nodes.end(),
                         [&](const Node& other) { return other.name == candidate; });
    };
    std::string unique = name;
    for (int i = 2; taken(unique); ++i) unique = fmt::format("{}-{}", name, i);
    return unique;
  }

  const Suite& suite_;
  const PlanOptions& options_;
  const std::string& where_;
  std::vector<Fault> faults_;
  std::map<std::string, std::map<std::string, std::string>> digests_;  // of each evaluation
  Plan plan_;
  std::size_t dataset_ = 0;
  std::size_t tokenizer_ = 0;
  std::size_t shards_ = 0;
  std::map<std::string, std::size_t> conversations_;  // of each chat stage
};

}  // namespace

Result<Plan> make_plan(const Suite& suite, const PlanOptions& asked, const std::string& where) {
  PlanOptions options = asked;
  options.faults.clear();
  std::vector<std::string> of_ranks;
  for (const std::string& text : asked.faults) {
    NB_TRY(const FaultInfo* const kind, kind_of_fault(text, "--fault"));
    (kind->is_of_ranks() ? of_ranks : options.faults).push_back(text);
  }
  const std::vector<Suite>& configurations = suite.configurations;
  Plan plan;
  for (std::size_t i = 0; i < std::max<std::size_t>(1, configurations.size()); ++i) {
    NB_TRY(const Suite planted,
           plant_faults(configurations.empty() ? suite : configurations[i], of_ranks, where));
    NB_TRY(plan, Builder(planted, options, where, std::move(plan)).build());
  }
  return plan;
}

std::string node_key(const Work& work, const std::vector<std::string>& parent_keys,
                     const std::string& device_content) {
  Work copy = work;
  const auto kind = static_cast<NodeKind>(work.index());
  return sha256_json(Json{{"kind", info(kind).name},
                          {"settings", hashed_fields(fields_of(copy))},
                          {"parents", parent_keys},
                          {"device", device_content},
                          {"code", code_digest(kind)}});
}

Result<std::size_t> Plan::find(std::string_view key) const {
  std::vector<std::size_t> found;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].name == key) return i;
    if (key.size() >= 4 && nodes[i].key.starts_with(key)) found.push_back(i);
    names.push_back(nodes[i].name);
  }
  if (found.size() == 1) return found[0];
  if (found.empty())
    return bad_input(fmt::format("no node \"{}\" in this plan{} (npubench plan lists them)", key,
                                 did_you_mean(key, names)));
  std::string list;
  for (const std::size_t i : found)
    list += fmt::format("\n  {} {}", nodes[i].key.substr(0, kShownDigits), nodes[i].name);
  return bad_input(
      fmt::format("{} nodes have keys that begin with {}; give more digits or the name:{}",
                  found.size(), key, list));
}

}  // namespace nb
