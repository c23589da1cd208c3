#include "results/store/stated_directions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "results/store/meant_names.hpp"

namespace nb {
namespace {

bool is_named(const std::string& metric, const std::string& name) {
  return metric == name || metric.ends_with("/" + name);
}

Result<void> state(const std::string& name, Direction direction,
                   const std::vector<RunRecords*>& sides) {
  bool any = false;
  std::set<std::string> names;
  for (RunRecords* side : sides)
    for (StoredRecord& stored : side->records) {
      if (!is_imported(stored.record)) continue;
      for (Metric& metric : stored.record.metrics) {
        names.insert(metric.name.substr(metric.name.rfind('/') + 1));
        if (!is_named(metric.name, name)) continue;
        any = true;
        if (metric.direction != Direction::kNone && metric.direction != direction)
          return bad_input(fmt::format("--{} {}: {} of {} is known to be better when {}",
                                       nb::name(direction), name, metric.name,
                                       describe(stored.record), nb::name(metric.direction)));
        metric.direction = direction;
      }
    }
  if (any) return {};
  return bad_input(fmt::format("--{} {}: no imported score has that name{}", nb::name(direction),
                               name, meant_names(name, std::vector(names.begin(), names.end()))));
}

}  // namespace

Result<void> state_directions(const StatedDirections& stated, std::vector<RunRecords*> sides) {
  for (const std::string& name : stated.higher)
    if (std::ranges::find(stated.lower, name) != stated.lower.end())
      return bad_input(fmt::format("{} is given as --higher and as --lower", name));
  for (const std::string& name : stated.higher) NB_TRY_VOID(state(name, Direction::kHigher, sides));
  for (const std::string& name : stated.lower) NB_TRY_VOID(state(name, Direction::kLower, sides));
  return {};
}

}  // namespace nb
