#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>

#include "harness/base/table.hpp"
#include "results/drift.hpp"
#include "results/narrow_text.hpp"

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
  std::vector<std::string> header = {"training"};
  for (const std::int64_t step : drift.shown_steps) header.push_back(fmt::format("step {}", step));
  header.insert(header.end(), {"largest (step)", "last tenth", "signed"});
  std::vector<NarrowRow> rows;
  for (const CurveDrift& curve : drift.curves) {
    std::vector<std::string> cells = {fmt::format("{} {}", curve.training, curve.device)};
    for (std::size_t i = 0; i < drift.shown_steps.size(); ++i)
      cells.push_back(i < curve.at.size() ? nat(curve.at[i]) : "—");
    cells.push_back(fmt::format("{} ({})", nat(curve.largest), curve.largest_step));
    cells.push_back(nat(curve.last));
    cells.push_back(curve.last_signed == 0 ? "0" : fmt::format("{:+.1g}", curve.last_signed));
    rows.push_back({std::move(cells), ""});
  }
  return "\n" +
         wrapped(fmt::format("training loss beside {}: |difference| in nat, {}", drift.reference,
                             count_text(drift.curves[0].seeds, "seed"))) +
         narrow_table(header, rows);
}

std::string answers_text(const std::string& title, const std::vector<AnswerDrift>& answers) {
  if (answers.empty()) return "";
  std::vector<NarrowRow> rows;
  for (const AnswerDrift& one : answers)
    rows.push_back({{fmt::format("{} {}", one.task, one.device), with_commas(one.items),
                     with_commas(one.flips()), with_commas(one.lost), with_commas(one.won),
                     with_commas(one.hard), nat(one.typical), nat(one.divergence)},
                    ""});
  return "\n" + wrapped(title) +
         narrow_table({"task", "items", "flips", "lost", "won", "hard", "|margin|", "KL"}, rows);
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
  text += answers_text(
      fmt::format("answers with the weights of {}, beside its own: a flip is lost or won, hard "
                  "beyond a near tie; median |change of the margin| and KL in nat",
                  drift.reference),
      drift.same_weights);
  text += answers_text(
      fmt::format("answers with each device's own weights, beside those of {}", drift.reference),
      drift.own_weights);
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
