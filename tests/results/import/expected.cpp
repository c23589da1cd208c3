#include "tests/results/import/expected.hpp"

#include <fmt/format.h>

#include <map>

#include "harness/base/json_io.hpp"
#include "results/import/formats.hpp"
#include "tests/support/data_dir.hpp"

namespace nb::test {

std::filesystem::path imports_dir() { return data_dir() / "imports"; }
bool has_imports() { return std::filesystem::exists(imports_dir() / "expected.json"); }

std::vector<Json> expected(const std::string& list, const std::string& beginning) {
  const auto all = read_json(imports_dir() / "expected.json");
  std::vector<Json> found;
  if (!all) return found;
  for (const Json& entry : all->at(list)) {
    const Json& file = entry.contains("file")            ? entry.at("file")
                       : entry.at("a").contains("files") ? entry.at("a").at("files").at(0)
                                                         : entry.at("a");
    if (file.get<std::string>().starts_with(beginning)) found.push_back(entry);
  }
  return found;
}

Result<ForeignSeries> series_of(const Json& files, const std::string& task,
                                const std::string& metric) {
  for (const Json& file : files) {
    NB_TRY(const ForeignResults results, read_foreign(imports_dir() / file.get<std::string>()));
    for (const ForeignRun& run : results.runs)
      for (const ForeignSeries& series : run.series)
        if (series.name.task == task && series.name.metric == metric) return series;
  }
  return bad_input(fmt::format("no series {} {}", task, metric));
}

double mean_of(const ForeignSeries& series) {
  double sum = 0;
  for (const ItemRecord& item : series.items) sum += item.value ? *item.value : item.ok ? 1 : 0;
  return sum / static_cast<double>(series.items.size());
}

Counts counts_of(const ForeignSeries& a, const ForeignSeries& b) {
  std::map<std::string, ItemRecord> of_a;
  for (const ItemRecord& item : a.items) of_a[item.id] = item;
  Counts counts;
  int paired = 0;
  for (const ItemRecord& right : b.items) {
    const auto at = of_a.find(right.id);
    if (at == of_a.end()) continue;
    const ItemRecord& left = at->second;
    ++paired;
    counts.both_right += left.ok && right.ok;
    counts.only_a += left.ok && !right.ok;
    counts.only_b += !left.ok && right.ok;
    counts.both_wrong += !left.ok && !right.ok;
    counts.prompts_equal += left.prompt_hash == right.prompt_hash;
    counts.targets_equal += left.gold == right.gold;
  }
  counts.unpaired = static_cast<int>(std::min(a.items.size(), b.items.size())) - paired;
  return counts;
}

}  // namespace nb::test
