#include "evals/probes/probes.hpp"

#include <algorithm>
#include <array>

#include "evals/base/eval_metrics.hpp"
#include "evals/probes/items.hpp"
#include "harness/base/check.hpp"
#include "harness/base/hash.hpp"
#include "results/store/metric_names.hpp"

namespace nb {
namespace {

struct Probe {
  ProbeInfo info;
  Result<EvalResult> (*run)(const ProbedModels& models);
};
constexpr auto kProbes = std::to_array<Probe>({
    {{"choice_tie", "of choices with equal scores the first counts"}, probe_choice_tie},
    {{"letter_tie", "of letters with equal logits the first counts"}, probe_letter_tie},
    {{"logit_tie", "of equal logits the token with the lowest id counts"}, probe_logit_tie},
    {{"cut_prompt", "a scored prompt that is too long loses its beginning"}, probe_cut_prompt},
    {{"cut_chat", "a conversation that is too long loses its end"}, probe_cut_chat},
    {{"last_number", "flexible extraction takes the last number of a text"}, probe_last_number},
    {{"two_markers", "strict extraction takes the first \"#### number\""}, probe_two_markers},
    {{"program_imports", "a program begins with the imports of its prompt"}, probe_program_imports},
    {{"merge_rank", "merges of every rank, also above 65,535, in their order"}, probe_merge_rank},
    {{"long_cache", "cached keys and values beyond 128 tokens change no answer"}, probe_long_cache},
});

constexpr auto kInfos = [] {
  std::array<ProbeInfo, kProbes.size()> infos{};
  for (std::size_t i = 0; i < infos.size(); ++i) infos[i] = kProbes[i].info;
  return infos;
}();

}  // namespace

std::span<const ProbeInfo> probes() { return kInfos; }

std::string probe_task(std::string_view name) { return "probe/" + std::string(name); }

std::string probe_item_id(std::string_view name, std::string_view asked) {
  return sha256_hex(probe_task(name) + ":" + std::string(asked)).substr(0, 16);
}

ItemRecord probe_item(std::string_view name, std::string_view asked, std::string right,
                      std::string got) {
  ItemRecord item;
  item.id = probe_item_id(name, asked);
  item.ok = got == right;
  item.prediction = std::move(got);
  item.gold = std::move(right);
  return item;
}

EvalResult probe_result(std::string_view name, std::vector<ItemRecord> items) {
  EvalResult result;
  result.task = probe_task(name);
  std::string asked;
  for (const ItemRecord& item : items) asked += item.id + " " + item.gold + "\n";
  result.comparability[result.task + "/items"] = sha256_hex(asked);
  const auto right = std::ranges::count_if(items, &ItemRecord::ok);
  const auto n = std::ssize(items);
  result.metrics = {task_metric(result.task, metric::kAccuracy,
                                static_cast<double>(right) / static_cast<double>(n), n)};
  result.items_expected = n;
  result.items = std::move(items);
  return result;
}

Result<EvalResult> run_probe(std::string_view name, const ProbedModels& models) {
  const auto probe =
      std::ranges::find_if(kProbes, [&](const Probe& p) { return p.info.name == name; });
  NB_CHECK(probe != kProbes.end(), "[probes] no probe {}", name);
  NB_TRY(EvalResult result, probe->run(models));
  // What follows from the answers (centred scores, intervals' companions) would only repeat them.
  std::erase_if(result.metrics, [](const Metric& metric) {
    return !metric.name.ends_with(metric::kAccuracy) && !metric.name.ends_with(metric::kCutPrompts);
  });
  return result;
}

}  // namespace nb
