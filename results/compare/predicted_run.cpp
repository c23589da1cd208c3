#include "results/compare/predicted_run.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "harness/base/table.hpp"
#include "results/messages/sentences.hpp"
#include "results/store/metric_names.hpp"

namespace nb {
namespace {

double value_of(const Record& record, std::string_view name) {
  const Metric* metric = find_metric(record, name);
  return metric != nullptr ? metric->value.value_or(0) : 0;
}

// A member of what was asked; null: it has none.
Json asked(const Record& record, const char* member) {
  const Json& settings = *record.settings;
  if (!settings.is_object() || !settings.contains("prediction")) return {};
  const Json& prediction = settings.at("prediction");
  return prediction.is_object() && prediction.contains(member) ? prediction.at(member) : Json();
}

std::int64_t whole_of(const Record& record, const char* member) {
  const Json value = asked(record, member);
  return value.is_number_integer() ? value.get<std::int64_t>() : 0;
}

bool is_base(const Record& record) {
  return record.kind == "predict" && asked(record, "stage") == "base";
}

// The same model on the same cards, asked for with a batch that does not fit there.
const Record* what_does_not_fit(const Comparison& comparison, const Record& fits) {
  for (const RecordPair& pair : comparison.pairs)
    for (const StoredRecord* stored : {pair.a, pair.b}) {
      const Record& one = stored->record;
      if (is_base(one) && one.device == fits.device &&
          whole_of(one, "depth") == whole_of(fits, "depth") &&
          whole_of(one, "cards") == whole_of(fits, "cards") &&
          value_of(one, "largest_device_batch_size") > 0)
        return &one;
    }
  return nullptr;
}

}  // namespace

Sentence predicted_sentence(const Comparison& comparison) {
  const RecordPair* largest = nullptr;
  for (const RecordPair& pair : comparison.pairs) {
    if (!is_base(pair.a->record) || !pair.incomparable.empty()) continue;
    if (value_of(pair.a->record, "stage_time_ns") <= 0 ||
        value_of(pair.b->record, "stage_time_ns") <= 0)
      continue;
    if (largest == nullptr ||
        value_of(pair.a->record, "parameters") > value_of(largest->a->record, "parameters"))
      largest = &pair;
  }
  if (largest == nullptr) return {};
  const Record *longer = &largest->a->record, *shorter = &largest->b->record;
  const bool is_b = value_of(*shorter, "stage_time_ns") > value_of(*longer, "stage_time_ns");
  if (is_b) std::swap(longer, shorter);
  const bool by_device = longer->device != shorter->device;
  const std::string name = by_device ? longer->device
                           : is_b    ? "B"
                                     : "A",
                    other = by_device ? shorter->device
                            : is_b    ? "A"
                                      : "B";
  const double time_ns = value_of(*longer, "stage_time_ns"),
               other_ns = value_of(*shorter, "stage_time_ns");
  std::vector<Sentence> parts = {message("headline.predicted", whole_of(*longer, "depth"),
                                         whole_of(*longer, "cards"), name, human_time_ns(time_ns),
                                         fmt::format("{:.3g}", time_ns / other_ns), other,
                                         human_time_ns(other_ns))};
  if (const Record* no = what_does_not_fit(comparison, *longer))
    parts.push_back(message("headline.rows_fit",
                            fmt::format("{:.0f}", value_of(*no, "device_batch_size")),
                            fmt::format("{:.0f}", value_of(*no, "largest_device_batch_size"))));
  if (const double error = value_of(*longer, "expected_error"); error > 0)
    parts.push_back(message("headline.expected_error", fmt::format("{:.1f}", 100 * error)));
  return message("headline.end", joined("join.semicolon", std::move(parts)));
}

}  // namespace nb
