#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "harness/base/locations.hpp"
#include "harness/base/say.hpp"
#include "harness/cli/common.hpp"
#include "harness/cli/show_text.hpp"
#include "harness/cli/verb.hpp"
#include "harness/run/look_at_items.hpp"
#include "results/import/to_records.hpp"
#include "results/store/no_score.hpp"
#include "results/store/stored_items.hpp"

namespace nb::cli {
namespace {

struct ShowOptions {
  std::string run, task, item, node, data_dir;
  bool wrong = false, right = false;
  std::int64_t limit = 20;
  bool json = false;
};

// By what the records say; of ours also by what the data call it: "HumanEval/12".
Result<std::size_t> place_of(const ItemTask& from, const PackedItems& items,
                             const std::string& name, const std::string& data_dir) {
  auto place = find_item(items, name);
  if (place || from.stored->items != nullptr) return place;
  std::vector<ItemName> names;
  for (const ItemRecord& item : items) names.push_back(name_of(item));
  const auto texts = look_at_items(*from.stored, from.task, names, data_dir);
  const auto at = std::find_if(texts.begin(), texts.end(),
                               [&](const ItemText& text) { return text.name == name; });
  if (at == texts.end()) return place;
  return static_cast<std::size_t>(at - texts.begin());
}

std::vector<ShownItem> shown_items(const ItemTask& from, const PackedItems& items,
                                   const std::vector<std::size_t>& places,
                                   const std::string& data_dir) {
  std::vector<ItemName> names;
  for (const std::size_t place : places) names.push_back(name_of(items[place]));
  auto texts = look_at_items(*from.stored, from.task, names, data_dir);
  std::vector<ShownItem> shown;
  for (std::size_t i = 0; i < places.size(); ++i)
    shown.push_back({from, items[places[i]], places[i], items.size(), std::move(texts[i])});
  return shown;
}

int show_table(const ItemTask& from, const PackedItems& items, const ShowOptions& options) {
  bool has_scores = true;
  for (const ItemRecord& item : items) has_scores = has_scores && !item.loss;
  if (!has_scores && (options.wrong || options.right))
    return fail(
        {ErrorCode::kBadInput, fmt::format("--{}: the items of {} are neither right nor wrong",
                                           options.wrong ? "wrong" : "right", from.task)});
  const std::string only = options.wrong ? "wrong" : options.right ? "right" : "";
  ShownTable table{from, only, items.size(), 0, {}};
  std::vector<std::size_t> places;
  ItemRecord item;
  for (std::size_t i = 0; i < items.size(); ++i) {
    items.read(i, item);
    const bool is_right = score_of(item) == 1;
    if ((options.wrong && (is_right || has_no_score(item))) || (options.right && !is_right))
      continue;
    if (static_cast<std::int64_t>(places.size()) < options.limit) places.push_back(i);
    ++table.found;
  }
  table.shown = shown_items(from, items, places, options.data_dir);
  if (options.json) return print_json(table_json(table));
  say("{}", table_text(table));
  return kExitOk;
}

int show_item(const ItemTask& from, const PackedItems& items, const ShowOptions& options) {
  const auto place = place_of(from, items, options.item, options.data_dir);
  if (!place) return fail(place.error());
  const auto shown = shown_items(from, items, {*place}, options.data_dir);
  if (options.json) return print_json(item_json(shown.front()));
  say("{}", item_text(shown.front()));
  return kExitOk;
}

int show(ShowOptions options) {
  options.data_dir = data_folder(options.data_dir).string();
  const auto run = read_any_run(options.run);
  if (!run) return fail(run.error());
  const auto tasks = item_tasks(*run, options.node);
  if (!tasks) return fail(tasks.error());
  const bool lists_tasks = options.task.empty() && tasks->size() > 1;
  if (lists_tasks && (!options.item.empty() || options.wrong || options.right))
    return fail(
        {ErrorCode::kBadInput,
         fmt::format("--task: say of which task; npubench show {} lists them", options.run)});
  if (lists_tasks) {
    if (options.json) return print_json(tasks_json(*tasks));
    say("{}", tasks_text(*tasks));
    return kExitOk;
  }
  const auto from =
      the_task_named(*tasks, options.task.empty() ? tasks->front().task : options.task);
  if (!from) return fail(from.error());
  const auto items = stored_items(*from->stored, from->task);
  if (!items) return fail(items.error());
  return options.item.empty() ? show_table(*from, items->get(), options)
                              : show_item(*from, items->get(), options);
}

}  // namespace

Action add_show(CLI::App& app) {
  auto options = std::make_shared<ShowOptions>();
  app.add_option("RUN", options->run,
                 "a run or a node's folder, or a file or folder of another harness")
      ->required();
  app.add_option("--task", options->task,
                 "whose items (without it: which tasks there are); of another harness also without "
                 "filter and metric");
  CLI::Option* item = app.add_option(
      "--item", options->item,
      "one item whole: its row from 1, its name in the source or the data, or the beginning of "
      "its id; a name comes before a row");
  app.add_option("--node", options->node,
                 "which evaluation, where several have the task: a part of its name, or the start "
                 "of its key");
  CLI::Option* wrong = app.add_flag("--wrong", options->wrong, "the items that are wrong");
  app.add_flag("--right", options->right, "the items that are right")->excludes(wrong);
  wrong->excludes(item);
  app.add_option("--limit", options->limit, "rows of the table")
      ->capture_default_str()
      ->check(whole(1));
  app.add_option("--data-dir", options->data_dir,
                 "public data (default: NPUBENCH_DATA, else ~/.cache/npubench/data)");
  app.add_flag("--json", options->json, "JSON on stdout");
  app.footer(
      "Records keep hashes of items; the texts come from the data, or from the other harness's "
      "file.\nWhere the data are not what was scored, the item says so.\nExamples:\n"
      "  npubench show results/runs/smoke --task mw/facts --node ascend_910b3 --wrong\n"
      "  npubench show samples_gsm8k_2026-01-21T10-00-00.jsonl --item 17\n"
      "Exit codes: 0 shown, 64 bad usage or input.");
  return [options] { return show(*options); };
}

}  // namespace nb::cli
