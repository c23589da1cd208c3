#include "results/gate/gate_policy.hpp"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "harness/base/json_io.hpp"
#include "harness/base/own_files.hpp"
#include "results/gate/noise_profile.hpp"

namespace nb {
namespace {

std::string key_of(const std::string& node, const std::string& name) {
  return node.empty() ? name : node + ": " + name;
}

}  // namespace

FieldList GateBaselines::fields() {
  return {
      {"accepted",
       "run folder or acceptance to judge against; empty: what `gate accept` accepted last",
       &accepted},
      {"golden", "run folder or acceptance that stays, against slow drift; empty: none", &golden},
      {"golden_digest", "digest that the golden run must have (`gate accept` prints it)",
       &golden_digest},
  };
}

FieldList GatePolicy::fields() {
  return {
      {"alpha", "family-wise error of red verdicts (Holm)", &alpha, {.min = 1e-6, .max = 0.5}},
      {"alpha_retrained",
       "the same for retrained models where neither settings nor data nor first steps differ",
       &alpha_retrained,
       {.min = 1e-6, .max = 0.5}},
      {"min_seeds",
       "fewest seeds to call retrained models equal or better",
       &min_seeds,
       {.min = 2, .max = 1000}},
      {"bpb_floor",
       "smallest difference of a loss that can be red",
       &bpb_floor,
       {.unit = "bit/byte", .min = 0}},
      {"exact_test", "exact McNemar test instead of mid-p", &exact_test},
      {"gated_tasks", "declared family of tasks; empty: all", &gated_tasks},
      {"higher",
       "metrics of other harnesses that are better when higher, where nothing else says it",
       &higher,
       {.omits_absent = true}},
      {"lower", "the same, better when lower", &lower, {.omits_absent = true}},
      {"margins", "task → margin, instead of the formula", &margins, {.min = 0, .max = 1}},
      {"noise_discordance",
       "noise profile: task (or \"node: task\") → share of answers that flip between healthy runs",
       &noise_discordance,
       {.min = 0, .max = 1, .former = "card_discordance"}},
      {"noise_sd",
       "noise profile: metric (or \"node: metric\") → standard deviation over healthy seeds",
       &noise_sd,
       {.min = 0, .former = "card_sd"}},
      {"noise_seeds",
       "number of seeds behind noise_sd",
       &noise_seeds,
       {.min = 2, .max = 100000, .former = "card_seeds"}},
      {"allow_procedure_change", "a change in the first training steps is a note, not a failure",
       &allow_procedure_change},
      {"noise_profile",
       "file that `gate calibrate` wrote; noise_* above count first",
       &noise_profile,
       {.former = "noise_card"}},
      {"baselines", "what a run is judged against", object(&baselines)},
  };
}

std::optional<double> GatePolicy::discordance_of(const std::string& node,
                                                 const std::string& task) const {
  for (const std::string& key : {key_of(node, task), task})
    if (const auto at = noise_discordance.find(key); at != noise_discordance.end())
      return at->second;
  return std::nullopt;
}

std::optional<GatePolicy::Spread> GatePolicy::spread_of(const std::string& node,
                                                        const std::string& metric) const {
  for (const std::string& key : {key_of(node, metric), metric})
    if (const auto at = noise_sd.find(key); at != noise_sd.end()) {
      const auto seeds = noise_seeds_of.find(key);
      const auto where = noise_mean_of.find(key);
      Spread spread{at->second, seeds == noise_seeds_of.end() ? noise_seeds : seeds->second};
      if (where != noise_mean_of.end()) spread.mean = where->second;
      return spread;
    }
  return std::nullopt;
}

Result<GatePolicy> read_policy(const std::filesystem::path& given) {
  if (given.empty()) return GatePolicy{};
  const std::filesystem::path path = shipped(given);
  NB_TRY(const Json json, read_json(path, JsonComments::kAllowed));
  NB_TRY(GatePolicy policy, parse_struct<GatePolicy>(json, path.string()));
  for (std::string* file :
       {&policy.noise_profile, &policy.baselines.accepted, &policy.baselines.golden})
    if (!file->empty()) *file = (path.parent_path() / *file).string();
  if (policy.noise_profile.empty()) return policy;
  NB_TRY(const NoiseProfile profile, read_noise_profile(policy.noise_profile),
         path.string() + ": /noise_profile");
  apply(profile, policy);
  return policy;
}

}  // namespace nb
