// Evaluation items of the microworld: each is a sentence that no document holds.
#include <algorithm>

#include "model/data/microworld_world.hpp"

namespace nb::microworld {
namespace {

// All (subject, attribute) in random order, as many as asked for and there are.
template <std::size_t N>
std::vector<MultipleChoiceItem> multiple_choice(const std::array<Attribute, N>& attributes,
                                                const std::vector<Subject>& subjects,
                                                std::size_t count, std::size_t fewest,
                                                std::size_t most, Draws draws) {
  std::vector<MultipleChoiceItem> items;
  for (const std::size_t index : draws.order(subjects.size() * N)) {
    if (items.size() == count) break;
    const Subject& subject = subjects[index / N];
    const std::size_t a = index % N;
    const Statement truth = state(attributes[a], subject, a, subject.held_wordings[a]);
    MultipleChoiceItem item{truth.query, {}, 0};
    const std::size_t choices = fewest + draws.below(most - fewest + 1);
    for (const std::size_t value : draws.order(attributes[a].count)) {
      if (item.choices.size() + 1 == choices) break;
      if (value != subject.values[a]) item.choices.emplace_back(attributes[a].values[value]);
    }
    const std::size_t gold = draws.below(choices);
    item.choices.insert(item.choices.begin() + static_cast<std::ptrdiff_t>(gold), truth.value);
    item.gold = static_cast<int>(gold);
    items.push_back(std::move(item));
  }
  return items;
}

double chance_of(const std::vector<MultipleChoiceItem>& items) {
  double sum = 0;
  for (const MultipleChoiceItem& item : items)
    sum += 1.0 / static_cast<double>(item.choices.size());
  return items.empty() ? 0 : sum / static_cast<double>(items.size());
}

MicroworldTask facts(const World& world, std::size_t count) {
  auto items =
      multiple_choice(kOfPeople, world.people, count, 4, 4, {world.seed, "microworld/facts"});
  const double chance = chance_of(items);
  return {"mw/facts", "multiple_choice", std::move(items), chance};
}

MicroworldTask choice(const World& world, std::size_t count) {
  auto items =
      multiple_choice(kOfThings, world.things, count, 2, 4, {world.seed, "microworld/choice"});
  const double chance = chance_of(items);
  return {"mw/choice", "multiple_choice", std::move(items), chance};
}

MicroworldTask cloze(const World& world, std::size_t count) {
  std::vector<LanguageModelingItem> items;
  Draws draws(world.seed, "microworld/cloze");
  for (const std::size_t index : draws.order(world.held_times.size())) {
    if (items.size() == count) break;
    if (!world.held_times[index]) continue;
    const Statement truth = routine(world, index / kTimes.size(), index % kTimes.size());
    items.push_back({truth.query, truth.value});
  }
  return {"mw/cloze", "language_modeling", std::move(items), 0};
}

SchemaItem schema_item(const Agreement& a, bool past, Draws& draws) {
  const bool plural = draws.below(2) == 1;
  const bool mixed = a.place < kPlaces.size();  // the nearer noun speaks for the wrong number
  const std::size_t gold = draws.below(2);
  SchemaItem item;
  for (std::size_t option = 0; option < 2; ++option)
    item.context_options.push_back(
        agreement(a, option == gold ? plural : !plural, mixed, past).query);
  item.continuation = agreement(a, plural, mixed, past).value;
  item.gold = static_cast<int>(gold);
  return item;
}

MicroworldTask agreements(const World& world, std::size_t count) {
  std::vector<SchemaItem> items;
  Draws draws(world.seed, "microworld/agreement");
  for (const std::size_t index : draws.order(world.held_agreements.size())) {
    if (!world.held_agreements[index]) continue;
    const std::size_t place = index / kStates.size() % (kPlaces.size() + 1);
    const Agreement a{index / kStates.size() / (kPlaces.size() + 1), place, index % kStates.size()};
    if (place < kPlaces.size()) {
      items.push_back(schema_item(a, draws.below(2) == 1, draws));
    } else {
      items.push_back(schema_item(a, false, draws));
      items.push_back(schema_item(a, true, draws));
    }
  }
  items.resize(std::min(items.size(), count));
  return {"mw/agreement", "schema", std::move(items), 0.5};
}

}  // namespace

std::vector<MicroworldTask> make_tasks(const World& world, std::int64_t items_per_task) {
  const auto count = static_cast<std::size_t>(items_per_task);
  std::vector<MicroworldTask> tasks;
  tasks.push_back(facts(world, count));
  tasks.push_back(cloze(world, count));
  tasks.push_back(agreements(world, count));
  tasks.push_back(choice(world, count));
  return tasks;
}

}  // namespace nb::microworld
