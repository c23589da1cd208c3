#include "harness/cli/compare_flips.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "harness/base/fields.hpp"
#include "harness/base/locations.hpp"
#include "harness/base/say.hpp"
#include "harness/base/table.hpp"
#include "harness/cli/common.hpp"
#include "harness/run/look_at_items.hpp"
#include "results/compare/flips.hpp"
#include "results/text/narrow_text.hpp"

namespace nb::cli {
namespace {

// "gsm8k" names "gsm8k:strict-match/exact_match" of another harness too.
bool is_of_task(const std::string& key, const std::string& task) {
  return key == task || key.starts_with(task + "/") || key.starts_with(task + ":");
}

std::vector<std::string> tasks_of(const Comparison& comparison) {
  std::vector<std::string> names;
  for (const RecordPair& pair : comparison.pairs)
    for (const ItemComparison& items : pair.items)
      if (std::find(names.begin(), names.end(), items.task) == names.end())
        names.push_back(items.task);
  return names;
}

// In one sentence: no flips of how many items.
std::string nothing_text(const Comparison& comparison, const FlipOptions& options) {
  std::int64_t items = 0;
  for (const RecordPair& pair : comparison.pairs)
    for (const ItemComparison& one : pair.items)
      if (options.task.empty() || is_of_task(one.task, options.task)) items += one.counts.n();
  if (items > 0)
    return fmt::format("no score differs: {} on both sides", count_text(items, "paired item"));
  if (const Sentence why = comparison.why_incomparable(); !why.empty())
    return "no items can be compared: " + text_of(why);
  return "no items pair: what both sides have is totals, or nothing of it pairs (compare without "
         "--flips says what)";
}

}  // namespace

void add_flip_options(CLI::App& app, FlipOptions& options) {
  CLI::Option* flips = app.add_flag(
      "--flips", options.is_asked,
      "the items whose score changed: direction, near-tie or hard, question, answers, margins");
  app.add_option("--limit", options.limit, "with --flips: how many are listed")
      ->capture_default_str()
      ->check(whole(1))
      ->needs(flips);
  app.add_option("--task", options.task, "with --flips: of that task alone")->needs(flips);
  app.add_option("--data-dir", options.data_dir,
                 "with --flips: public data that the questions are in (default: NPUBENCH_DATA, "
                 "else ~/.cache/npubench/data)")
      ->needs(flips);
}

int print_flips(const Comparison& comparison, const FlipOptions& options, bool json) {
  if (!options.task.empty()) {
    const auto names = tasks_of(comparison);
    if (std::none_of(names.begin(), names.end(),
                     [&](const std::string& name) { return is_of_task(name, options.task); }))
      return fail(
          {ErrorCode::kBadInput,
           fmt::format("--task {}: no items of such a task pair{}; there {} {}", options.task,
                       did_you_mean(options.task, names), names.size() == 1 ? "is" : "are",
                       names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", ")))});
  }
  FlipChoice choice{.most = static_cast<std::size_t>(options.limit)};
  if (!options.task.empty())
    choice.is_wanted = [&](const std::string& task) { return is_of_task(task, options.task); };
  ItemList list = flips_of(comparison, choice);
  add_texts(list, data_folder(options.data_dir), list.flips.size());
  if (json) return print_json(flips_json(list));
  std::string head;
  for (const auto* first : {&comparison.findings, &comparison.cautions})
    for (const Sentence& sentence : *first) head += wrapped(text_of(sentence), 2, "! ");
  head += wrapped(comparison.label_a, 3, "A: ") + wrapped(comparison.label_b, 3, "B: ");
  say("{}\n{}", head, flips_text(list));
  if (list.count == 0) say("{}", wrapped(nothing_text(comparison, options)));
  return kExitOk;
}

}  // namespace nb::cli
