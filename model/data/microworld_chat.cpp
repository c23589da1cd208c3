#include "model/data/microworld_chat.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "model/data/microworld_chat_parts.hpp"
#include "model/data/tasks/rows.hpp"

namespace nb {
namespace {

using microworld::ItemSource;

constexpr std::size_t kMaxConversations = 10'000'000;

struct WorldTask {
  std::string_view name;
  ItemSource (*source)(const microworld::World& world, WorldSplit split);
};
constexpr std::array<WorldTask, 9> kTasks = {
    {{"mw/arc_easy", microworld::arc_easy_source},
     {"mw/arc_challenge", microworld::arc_challenge_source},
     {"mw/mmlu", microworld::mmlu_source},
     {"mw/gsm8k", microworld::gsm8k_source},
     {"mw/humaneval", microworld::humaneval_source},
     {"mw/spellingbee", microworld::spelling_bee_source},
     {"mw/simple_spelling", microworld::simple_spelling_source},
     {"mw/talk", microworld::talk_source},
     {"mw/identity", microworld::identity_source}}};

Result<ItemSource> source_of(const MicroworldSettings& settings, std::string_view name,
                             WorldSplit split, std::size_t size) {
  NB_TRY_VOID(check_ranges(settings));
  const auto task = std::find_if(kTasks.begin(), kTasks.end(),
                                 [&](const WorldTask& known) { return known.name == name; });
  if (task == kTasks.end()) {
    std::vector<std::string> known;
    for (const WorldTask& each : kTasks) known.emplace_back(each.name);
    return bad_input(fmt::format("no conversations \"{}\" about the microworld{}", name,
                                 did_you_mean(name, known)));
  }
  const std::size_t most = split == WorldSplit::kTrain
                               ? kMaxConversations
                               : static_cast<std::size_t>(settings.items_per_task);
  if (size < 1 || size > most)
    return bad_input(
        fmt::format("{}: {} {} conversations; expected 1 to {}{}", name, size,
                    split == WorldSplit::kTrain ? "train" : "test", most,
                    split == WorldSplit::kTrain ? "" : " (the microworld's items_per_task)"));
  return task->source(microworld::make_world(settings), split);
}

void set_id(ItemIds& ids, WorldItem& item) {
  const auto set = [&](auto& with_id) { with_id.id = ids.of(item_bytes(with_id)); };
  if (auto* choice = std::get_if<ChoiceItem>(&item)) set(*choice);
  if (auto* problem = std::get_if<Gsm8kItem>(&item)) set(*problem);
  if (auto* spelling = std::get_if<SpellingBeeItem>(&item)) set(*spelling);
}

}  // namespace

Conversation conversation_of(const ProgramItem& item) {
  std::string function = item.prompt + item.canonical_solution;
  if (function.ends_with('\n')) function.pop_back();
  return {{user_says(item.prompt), assistant_says(std::move(function))}};
}

std::vector<std::string_view> microworld_conversation_tasks() {
  std::vector<std::string_view> names;
  for (const WorldTask& task : kTasks) names.push_back(task.name);
  return names;
}

Result<ConversationTask> microworld_conversations(const MicroworldSettings& settings,
                                                  std::string_view task, WorldSplit split,
                                                  std::size_t size) {
  NB_TRY(ItemSource source, source_of(settings, task, split, size));
  return ConversationTask{
      std::string(task), size, [source = std::move(source)](std::size_t place) -> Conversation {
        return std::visit([](const auto& item) -> Conversation { return conversation_of(item); },
                          source(place));
      }};
}

Result<std::vector<WorldItem>> microworld_items(const MicroworldSettings& settings,
                                                std::string_view task, WorldSplit split,
                                                std::size_t size) {
  NB_TRY(const ItemSource source, source_of(settings, task, split, size));
  std::vector<WorldItem> items;
  ItemIds ids;
  for (std::size_t i = 0; i < size; ++i) {
    items.push_back(source(i));
    set_id(ids, items.back());
  }
  return items;
}

}  // namespace nb
