#include "report/sections.hpp"

#include <algorithm>
#include <array>

#include "results/text/format.hpp"

namespace nb {

std::span<const Section> sections() {
  static constexpr std::array kSections = {
      Section{"verdict", "title_verdict", verdict_blocks},
      Section{"checks", "title_checks", check_blocks},
      Section{"confounders", "title_confounders", confounder_blocks},
      Section{"scores", "title_scores", score_blocks},
      Section{"attribution", "title_attribution", attribution_blocks},
      Section{"speed", "title_speed", speed_blocks},
      Section{"training", "title_training", training_blocks},
      Section{"flips", "title_flips", flip_blocks},
      Section{"trends", "title_trends", trend_blocks},
      Section{"card", "title_card", card_blocks},
      Section{"numerics", "title_numerics", numerics_blocks},
      Section{"environment", "title_environment", environment_blocks},
      Section{"reproduce", "title_reproduce", reproduce_blocks},
      Section{"microbenchmarks", "title_benchmarks", benchmark_blocks, true},
      Section{"inventory", "title_inventory", inventory_blocks, true},
  };
  return kSections;
}

std::string series_title(const Words& say, const Record& record) {
  std::string title = record.device.empty() ? record.name : record.device;
  if (!record.trained_on.empty() && record.trained_on != record.device)
    title = say("name_trained_on", title, record.trained_on);
  return record.seed ? say("name_seed", title, *record.seed) : title;
}

std::string short_label(const std::string& label) {
  constexpr std::size_t kMost = 40;
  if (label.size() <= kMost) return label;
  const std::size_t slash = label.find('/', label.size() - kMost);
  return "…" + label.substr(slash == std::string::npos ? label.size() - kMost : slash);
}

std::string side_label(const std::string& label, const std::string& other) {
  const auto last = [](const std::string& text) { return text.substr(text.rfind('/') + 1); };
  return last(label).empty() || last(label) == last(other) ? short_label(label) : last(label);
}

void add_long_table(std::vector<Block>& blocks, const Words& say, const std::string& caption,
                    TextTable table, const std::string& csv_file) {
  constexpr std::size_t kMaxRows = 300, kUnfolded = 12;
  const std::size_t rows = table.rows.size();
  if (rows == 0) return;
  table.rows.resize(std::min(rows, kMaxRows));
  blocks.emplace_back(TableBlock{caption, std::move(table), rows > kUnfolded});
  if (rows > kMaxRows)
    blocks.emplace_back(Paragraph{say("rows_left_out", caption, kMaxRows,
                                      with_commas(static_cast<long long>(rows)), csv_file)});
}

std::vector<const StoredRecord*> records_of(const RunRecords& run, std::string_view kind) {
  std::vector<const StoredRecord*> found;
  for (const StoredRecord& stored : run.records)
    if (stored.record.kind == kind && stored.record.status == "ok") found.push_back(&stored);
  return found;
}

std::string file_part(std::string name) {
  for (char& c : name)
    if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'))) c = '_';
  return name;
}

std::string shown_text(const Words& say, Shown shown, const std::optional<double>& min_detectable,
                       const std::string& unit) {
  switch (shown) {
    case Shown::kNothing:
      return "";
    case Shown::kEqual:
      return say("shown_equal");
    case Shown::kBetter:
      return say("shown_better");
    case Shown::kWorse:
      return say("shown_worse");
    case Shown::kNotShown:
      break;
  }
  return min_detectable ? say("shown_not_visible", rounded_value(*min_detectable, unit))
                        : say("shown_not");
}

}  // namespace nb
