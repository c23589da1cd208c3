#include "model/data/microworld_chat_parts.hpp"

#include <algorithm>

#include "harness/base/check.hpp"

namespace nb::microworld {
namespace {

template <std::size_t N>
std::string told(const std::array<Attribute, N>& attributes, const Subject& subject,
                 std::size_t attribute, Draws& draws) {
  const std::size_t wording =
      (subject.held_wordings[attribute] + 1 + draws.below(kWordings - 1)) % kWordings;
  return state(attributes[attribute], subject, attribute, wording).sentence();
}

std::vector<std::vector<bool>> held_by_attribute(std::uint64_t seed, const std::string& purpose,
                                                 std::size_t attributes, std::size_t subjects) {
  std::vector<std::vector<bool>> held;
  for (std::size_t a = 0; a < attributes; ++a)
    held.push_back(held_third(subjects, Draws(seed, purpose, a)));
  return held;
}

char changed_case(char c, char first, char last, int by) {
  return c >= first && c <= last ? static_cast<char>(c + by) : c;
}

}  // namespace

std::vector<bool> held_third(std::size_t n, Draws draws) {
  std::vector<bool> held(n);
  std::vector<std::size_t> order = draws.order(n);
  order.resize(std::min(n, std::max<std::size_t>(1, n / 3)));
  for (const std::size_t i : order) held[i] = true;
  return held;
}

HeldFacts held_facts(const World& world) {
  HeldFacts held;
  held.people = held_by_attribute(world.seed, "microworld/chat/held/people", kOfPeople.size(),
                                  world.people.size());
  held.things = held_by_attribute(world.seed, "microworld/chat/held/things", kOfThings.size(),
                                  world.things.size());
  for (std::size_t a = 0; a < kOfPeople.size(); ++a)
    held.values.push_back(
        held_third(kOfPeople[a].count, Draws(world.seed, "microworld/chat/held/values", a)));
  return held;
}

Picks::Picks(std::uint64_t seed, const std::string& purpose, WorldSplit split,
             const std::vector<std::size_t>& sizes) {
  for (std::size_t family = 0; family < sizes.size(); ++family) {
    if (sizes[family] == 0) continue;
    families_.push_back(family);
    sizes_.push_back(sizes[family]);
  }
  NB_CHECK(!families_.empty(), "[microworld] nothing to draw for {}", purpose);
  if (split == WorldSplit::kTrain) return;
  std::vector<std::vector<std::size_t>> orders;
  for (std::size_t f = 0; f < families_.size(); ++f)
    orders.push_back(Draws(seed, purpose + "/order", families_[f]).order(sizes_[f]));
  for (std::size_t round = 0; round < *std::max_element(sizes_.begin(), sizes_.end()); ++round)
    for (std::size_t f = 0; f < families_.size(); ++f)
      if (round < sizes_[f]) order_.push_back({families_[f], orders[f][round]});
}

Picks::Pick Picks::at(std::size_t index, Draws& draws) const {
  if (!order_.empty()) return order_[index % order_.size()];
  const std::size_t f = draws.below(families_.size());
  return {families_[f], draws.below(sizes_[f])};
}

std::string purpose_of(std::string_view what, WorldSplit split) {
  return "microworld/chat/" + std::string(what) +
         (split == WorldSplit::kTrain ? "/train" : "/test");
}

std::string filled(std::string_view wording, std::string_view name) {
  std::string text(wording);
  return text.replace(text.find("{}"), 2, name);
}

std::string lowered(std::string_view text) {
  std::string result(text);
  result.front() = changed_case(result.front(), 'A', 'Z', 'a' - 'A');
  return result;
}

std::string raised(std::string_view text) {
  std::string result(text);
  result.front() = changed_case(result.front(), 'a', 'z', 'A' - 'a');
  return result;
}

std::string tools_of(std::size_t job) {
  return std::string(kTools[job][0]) + " and " + std::string(kTools[job][1]);
}

std::string told_person(const World& world, std::size_t person, std::size_t attribute,
                        Draws& draws) {
  return told(kOfPeople, world.people[person], attribute, draws);
}

std::string told_thing(const World& world, std::size_t thing, std::size_t attribute, Draws& draws) {
  return told(kOfThings, world.things[thing], attribute, draws);
}

}  // namespace nb::microworld
