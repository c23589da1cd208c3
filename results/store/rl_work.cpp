#include "results/store/rl_work.hpp"

#include <nlohmann/json.hpp>

#include "results/store/metric_names.hpp"

namespace nb {
namespace {

// What was asked of RL, whatever the seed: steps, questions, samples, limits.
Json recipe(const Record& record) {
  const Json& settings = *record.settings;
  Json asked = {settings.value("rl", Json()), settings.value("effective", Json())};
  if (asked[0].is_object()) asked[0].erase("seed");
  return asked;
}

}  // namespace

bool is_rl(const Record& record) {
  return record.kind == "train" && record.status == "ok" && record.settings->is_object() &&
         record.settings->value("stage", Json()) == "rl";
}

bool wrote_otherwise(const Record& a, const Record& b) {
  if (!is_rl(a) || !is_rl(b) || recipe(a) != recipe(b)) return false;
  const Metric *old = find_metric(a, metric::kTokens), *fresh = find_metric(b, metric::kTokens);
  return old != nullptr && fresh != nullptr && old->value && fresh->value &&
         *old->value != *fresh->value;
}

}  // namespace nb
