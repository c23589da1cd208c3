// The output of nanochat's base_train.py and its siblings: one "step" line a step.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "results/audit/fact_names.hpp"
#include "results/audit/read_parts.hpp"
#include "results/audit/read_table.hpp"
#include "results/stats.hpp"

namespace nb {
namespace {

bool is_step(std::string_view line) {
  return line.starts_with("step ") && line.find("| loss:") != line.npos &&
         line.find("tok/sec:") != line.npos;
}

// The text after "dt:" up to the next bar.
std::string_view part_of(std::string_view line, std::string_view key) {
  const std::size_t at = line.find(key);
  if (at == line.npos) return {};
  std::string_view rest = line.substr(at + key.size());
  return trimmed_text(rest.substr(0, rest.find('|')));
}

struct Steps {
  std::vector<double> rate_tok_s, time_ms, mfu;
};

// Middle of the steps; the first ten compile and warm up, unless there are no others.
Printed middle(std::vector<double> values, int decimals) {
  constexpr std::size_t kWarmUp = 10;
  if (values.size() > kWarmUp + 2)
    values.erase(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(kWarmUp));
  Printed printed;
  printed.value = median(std::move(values));
  printed.decimals = decimals;
  printed.text = fmt::format("{:.{}f}", printed.value, std::max(decimals, 0));
  printed.half_unit = 0;  // of many steps
  return printed;
}

}  // namespace

bool looks_like_training_log(std::string_view text) {
  return std::ranges::any_of(lines_of(text),
                             [](const Line& line) { return is_step(trimmed_text(line.text)); });
}

Result<ReportedTable> parse_training_log(std::string_view text, const std::string& where) {
  ReportedTable table;
  table.name = where;
  ReportedStage& stage = stage_of(table, where, "");
  Steps steps;
  std::string placeholder;
  int ended = 0;
  std::size_t last_step = 0;
  for (const Line& line : lines_of(text)) {
    const std::string_view content = trimmed_text(line.text);
    const std::string at = fmt::format("{}:{}", where, line.number);
    if (is_step(content)) {
      NB_TRY(const Printed step,
             parse_printed(content.substr(5, content.find_first_of("/ ", 5) - 5), at));
      const auto number = static_cast<std::size_t>(step.value);
      if (number < last_step) {  // the next stage's steps
        ++ended;
        break;
      }
      last_step = number;
      if (const std::size_t slash = content.find('/'); slash < content.find(' ', 5)) {
        NB_TRY(stage.facts[std::string(fact::kIterations)],
               parse_printed(content.substr(slash + 1, content.find(' ', slash) - slash - 1), at));
      }
      NB_TRY(const Printed rate, parse_printed(part_of(content, "tok/sec:"), at));
      NB_TRY(const Printed time,
             parse_fact(*fact_named(fact::kStepTime), part_of(content, "dt:"), at));
      steps.rate_tok_s.push_back(rate.value);
      steps.time_ms.push_back(time.value);
      if (const std::string_view mfu = part_of(content, "mfu:"); !mfu.empty()) {
        NB_TRY(const Printed percent, parse_printed(mfu, at));
        steps.mfu.push_back(percent.value / 100);
      }
      continue;
    }
    const std::size_t colon = content.rfind(": ");
    if (colon == content.npos) continue;
    const FactName* name = fact_of_card(trimmed_text(content.substr(0, colon)));
    if (name == nullptr || ended > 0) continue;
    NB_TRY(stage.facts[std::string(name->name)],
           parse_fact(*name, trimmed_text(content.substr(colon + 2)), at));
  }
  if (steps.rate_tok_s.empty()) return bad_input(where + ": a training log without steps");
  if (ended > 0) table.ignored.push_back("the steps of later stages");
  stage.facts[std::string(fact::kRate)] = middle(steps.rate_tok_s, 0);
  stage.facts[std::string(fact::kStepTime)] = middle(steps.time_ms, 2);
  if (!steps.mfu.empty()) stage.facts[std::string(fact::kMfu)] = middle(steps.mfu, 4);
  return table;
}

}  // namespace nb
