#include "evals/core/microworld.hpp"

#include <variant>

#include "evals/core/items.hpp"
#include "harness/base/check.hpp"

namespace nb {
namespace {

CoreItem core_item(const MultipleChoiceItem& item) {
  return {"", item.query, item.choices, "", item.gold};
}
CoreItem core_item(const SchemaItem& item) {
  return {"", "", item.context_options, item.continuation, item.gold};
}
CoreItem core_item(const LanguageModelingItem& item) {
  return {"", item.context, {}, item.continuation, 0};
}

}  // namespace

bool is_microworld(const CoreTask& task) { return task.id.starts_with("mw/"); }

Result<CoreTaskData> microworld_task_data(const CoreTask& task,
                                          const MicroworldSettings& settings) {
  NB_TRY_VOID(check_ranges(settings));
  for (const MicroworldTask& generated : generate_microworld(settings).tasks) {
    if (generated.id != task.id) continue;
    NB_CHECK(generated.type == name(task.type), "[microworld] {} is {}, the table says {}", task.id,
             generated.type, name(task.type));
    CoreTaskData data;
    data.baseline_percent = 100.0 * generated.chance;
    std::visit(
        [&](const auto& items) {
          for (const auto& item : items) data.items.push_back(core_item(item));
        },
        generated.items);
    name_items(data.items, task.type);
    return data;
  }
  NB_CHECK(false, "[microworld] the generator makes no {}", task.id);
}

}  // namespace nb
