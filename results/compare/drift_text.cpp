#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "harness/base/table.hpp"
#include "harness/base/text_width.hpp"
#include "results/compare/drift.hpp"
#include "results/text/narrow_text.hpp"

namespace nb {
namespace {

// Sums of one device over its tasks.
std::map<std::string, AnswerDrift> by_device(const std::vector<AnswerDrift>& answers) {
  std::map<std::string, AnswerDrift> sums;
  for (const AnswerDrift& one : answers) {
    AnswerDrift& sum = sums[one.device];
    sum.items += one.items;
    sum.lost += one.lost;
    sum.won += one.won;
    sum.hard += one.hard;
  }
  return sums;
}

std::string nat(double value) { return value == 0 ? "0" : fmt::format("{:.2g}", value); }

std::string curves_text(const Drift& drift) {
  if (drift.curves.empty()) return "";
  std::vector<std::string> header = {"after step"};
  for (const std::int64_t step : drift.shown_steps) header.push_back(std::to_string(step));
  header.insert(header.end(), {"largest", "at", "end", "signed"});
  std::string text, training;
  std::vector<NarrowRow> rows;
  const auto flush = [&] {
    if (!rows.empty())
      text += "\n" +
              wrapped(fmt::format("{} training loss beside {}: |difference| in nat, {}; end: mean "
                                  "over the last tenth, signed above 0 where {} learned more",
                                  training, drift.reference,
                                  count_text(drift.curves[0].seeds, "seed"), drift.reference)) +
              narrow_table(header, rows);
    rows.clear();
  };
  for (const CurveDrift& curve : drift.curves) {
    if (curve.training != training) flush();
    training = curve.training;
    std::vector<std::string> cells = {curve.device};
    for (std::size_t i = 0; i < drift.shown_steps.size(); ++i)
      cells.push_back(i < curve.at.size() ? nat(curve.at[i]) : "—");
    cells.push_back(nat(curve.largest));
    cells.push_back(std::to_string(curve.largest_step));
    cells.push_back(nat(curve.last));
    cells.push_back(curve.last_signed == 0 ? "0" : fmt::format("{:+.1g}", curve.last_signed));
    rows.push_back({std::move(cells), ""});
  }
  flush();
  return text;
}

// "7 of 1,080: 3 lost, 4 won, 1 hard".
std::string flips_text(const AnswerDrift& sum) {
  if (sum.flips() == 0) return fmt::format("none of {}", with_commas(sum.items));
  return fmt::format("{} of {}: {} lost, {} won, {} hard", with_commas(sum.flips()),
                     with_commas(sum.items), with_commas(sum.lost), with_commas(sum.won),
                     with_commas(sum.hard));
}

std::string answers_text(const Drift& drift) {
  const auto same = by_device(drift.same_weights), own = by_device(drift.own_weights);
  if (same.empty() && own.empty()) return "";
  std::set<std::string> devices;
  for (const auto* sums : {&same, &own})
    for (const auto& [device, sum] : *sums) devices.insert(device);
  TextTable table{{"answers that flip", fmt::format("with the weights of {}", drift.reference),
                   fmt::format("each its own weights, beside {}'s", drift.reference)},
                  {}};
  const auto cell = [](const auto& sums, const std::string& device) {
    const auto found = sums.find(device);
    return found == sums.end() ? std::string("—") : flips_text(found->second);
  };
  for (const std::string& device : devices)
    table.rows.push_back({device, cell(same, device), cell(own, device)});
  return "\n" + to_text(table, output_width()) +
         wrapped(fmt::format("lost: right on {} alone; hard: the margin was no near tie (among "
                             "items with choices). --json has every task.",
                             drift.reference));
}

Json answers_json(const std::vector<AnswerDrift>& answers) {
  Json list = Json::array();
  for (const AnswerDrift& one : answers)
    list.push_back({{"evaluation", one.evaluation},
                    {"task", one.task},
                    {"device", one.device},
                    {"items", one.items},
                    {"lost", one.lost},
                    {"won", one.won},
                    {"hard", one.hard},
                    {"median_margin_change", one.typical},
                    {"mean_divergence", one.divergence}});
  return list;
}

}  // namespace

std::string drift_headline(const Drift& drift) {
  double largest = 0;
  for (const CurveDrift& curve : drift.curves) largest = std::max(largest, curve.last);
  std::int64_t flips = 0, items = 0;
  for (const auto& [device, sum] : by_device(drift.same_weights))
    if (sum.flips() * std::max<std::int64_t>(1, items) >= flips * sum.items) {
      flips = sum.flips();
      items = sum.items;
    }
  std::string text = drift.confounders.empty()
                         ? "what arithmetic alone explains: "
                         : "not arithmetic alone, settings or code differ as well: ";
  text +=
      fmt::format("training loss up to {} nat from {} at the end", nat(largest), drift.reference);
  if (items > 0)
    text += fmt::format("; up to {} of {} answers flip with the same weights", with_commas(flips),
                        with_commas(items));
  return text;
}

std::string drift_text(const Drift& drift) {
  std::string text = wrapped(drift_headline(drift), 2);
  for (const std::string& confounder : drift.confounders) text += wrapped(confounder, 4, "  ");
  text += curves_text(drift);
  text += answers_text(drift);
  for (const std::string& one : drift.damaged) text += wrapped(one, 4, "  damaged or failed: ");
  return text;
}

Json drift_json(const Drift& drift) {
  Json curves = Json::array();
  for (const CurveDrift& curve : drift.curves)
    curves.push_back({{"training", curve.training},
                      {"device", curve.device},
                      {"seeds", curve.seeds},
                      {"steps", curve.steps},
                      {"at", curve.at},
                      {"largest", curve.largest},
                      {"largest_step", curve.largest_step},
                      {"last_tenth", curve.last},
                      {"last_tenth_signed", curve.last_signed}});
  return {{"schema", "npubench.drift/1"},
          {"first_line", drift_headline(drift)},
          {"reference", drift.reference},
          {"shown_steps", drift.shown_steps},
          {"curves", curves},
          {"same_weights", answers_json(drift.same_weights)},
          {"own_weights", answers_json(drift.own_weights)},
          {"confounders", drift.confounders},
          {"damaged", drift.damaged}};
}

}  // namespace nb
