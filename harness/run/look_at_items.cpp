#include "harness/run/look_at_items.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "evals/item_texts.hpp"
#include "evals/task_registry.hpp"
#include "harness/run/asked_before.hpp"
#include "results/import/item_texts.hpp"

namespace nb {
namespace {

Result<std::vector<ItemText>> from_data(const StoredRecord& stored, const std::string& task_id,
                                        std::span<const ItemName> names,
                                        const std::filesystem::path& data_dir) {
  NB_TRY(const AskedBefore asked, asked_before(stored));
  EvalContext context;
  context.settings = asked.settings;
  context.data_dir = data_dir;
  if (asked.microworld) context.microworld = *asked.microworld;
  NB_TRY(const std::vector<Task> tasks, expand_tasks(asked.settings, stored.folder.string()));
  const auto task = std::ranges::find_if(tasks, [&](const Task& one) { return one.id == task_id; });
  if (task == tasks.end())
    return bad_input(task_id + ": the record's settings do not name this task");
  return item_texts(*task, std::move(context), names);
}

Result<std::vector<ItemText>> texts_of(const StoredRecord& stored, const std::string& task,
                                       std::span<const ItemName> names,
                                       const std::filesystem::path& data_dir) {
  if (stored.items != nullptr) return foreign_item_texts(stored, task, names);
  if (is_imported(stored.record))
    return bad_input(
        "an imported run keeps hashes of its items, not their texts; show the file that it was "
        "imported from");
  return from_data(stored, task, names, data_dir);
}

}  // namespace

std::vector<ItemText> look_at_items(const StoredRecord& stored, const std::string& task,
                                    std::span<const ItemName> names,
                                    const std::filesystem::path& data_dir) {
  auto texts = texts_of(stored, task, names, data_dir);
  if (texts) return std::move(*texts);
  ItemText none;
  none.warning = texts.error().message;
  return std::vector<ItemText>(names.size(), none);
}

void add_texts(ItemList& list, const std::filesystem::path& data_dir, std::size_t most) {
  const std::span flips = std::span(list.flips).first(std::min(most, list.flips.size()));
  for (std::size_t g = 0; g < list.groups.size(); ++g) {
    const FlipGroup& group = list.groups[g];
    for (const bool side_a : {true, false}) {
      std::vector<ItemName> names;
      std::vector<Flip*> wanted;
      for (Flip& flip : flips) {
        if (flip.group != g || !flip.text.is_empty()) continue;
        wanted.push_back(&flip);
        names.push_back(side_a ? flip.name_a : flip.name_b);
      }
      if (names.empty()) break;
      auto texts = look_at_items(side_a ? *group.a : *group.b, group.task, names, data_dir);
      for (std::size_t i = 0; i < wanted.size(); ++i)
        if (side_a || !texts[i].is_empty()) wanted[i]->text = std::move(texts[i]);
    }
  }
}

}  // namespace nb
