#include "model/data/microworld_world.hpp"

#include <algorithm>
#include <numeric>

namespace nb::microworld {
namespace {

std::string with_name(std::string_view wording, std::string_view name) {
  std::string text(wording);
  return text.replace(text.find("{}"), 2, name);
}

template <std::size_t N>
Subject make_subject(std::string_view name, const std::array<Attribute, N>& attributes,
                     Draws& draws) {
  Subject subject{name, {}, {}};
  for (const Attribute& attribute : attributes) {
    subject.values.push_back(draws.below(attribute.count));
    subject.held_wordings.push_back(draws.below(kWordings));
  }
  return subject;
}

std::string plural_if(std::string_view noun, bool plural) {
  return std::string(noun) + (plural ? "s" : "");
}

}  // namespace

std::vector<std::size_t> Draws::order(std::size_t n) {
  std::vector<std::size_t> all(n);
  std::iota(all.begin(), all.end(), std::size_t{0});
  for (std::size_t i = n; i > 1; --i) std::swap(all[i - 1], all[below(i)]);
  return all;
}

World make_world(const MicroworldSettings& settings) {
  World world;
  world.seed = settings.seed;
  const auto people = static_cast<std::size_t>(settings.people);
  const auto items = static_cast<std::size_t>(settings.items_per_task);
  Draws draws(settings.seed, "microworld/world");
  const std::vector<std::size_t> names = draws.order(kNames.size());
  for (std::size_t p = 0; p < people; ++p)
    world.people.push_back(make_subject(kNames[names[p]], kOfPeople, draws));
  for (const Thing& thing : kThings) {
    world.things.push_back(make_subject(thing.name, kOfThings, draws));
    world.things.back().values[0] = static_cast<std::size_t>(thing.kind);
  }
  // A quarter of all (person, time) at most, so that documents keep telling of every routine.
  world.held_times.resize(people * kTimes.size());
  std::vector<std::size_t> order = draws.order(world.held_times.size());
  order.resize(std::min(items, order.size() / 4));
  for (const std::size_t i : order) world.held_times[i] = true;
  // Half of the agreement items have a place that distracts, half have none.
  world.held_agreements.resize(kSubjects.size() * (kPlaces.size() + 1) * kStates.size());
  std::size_t with_place = 0, without = 0;
  for (const std::size_t i : draws.order(world.held_agreements.size())) {
    const bool has_place = i / kStates.size() % (kPlaces.size() + 1) != kPlaces.size();
    std::size_t& count = has_place ? with_place : without;
    // Two items (present and past) of each held sentence without place: there are few of them.
    if (count >= (has_place ? items - items / 2 : (items / 2 + 1) / 2)) continue;
    ++count;
    world.held_agreements[i] = true;
  }
  return world;
}

Statement state(const Attribute& attribute, const Subject& subject, std::size_t attribute_index,
                std::size_t wording) {
  return {with_name(attribute.wordings[wording], subject.name),
          std::string(attribute.values[subject.values[attribute_index]])};
}

Statement routine(const World& world, std::size_t person, std::size_t time) {
  const Subject& subject = world.people[person];
  const auto value = [&](std::size_t attribute) {
    return std::string(kOfPeople[attribute].values[subject.values[attribute]]);
  };
  const std::string opening = std::string(kTimes[time].text) + " " + std::string(subject.name);
  switch (kTimes[time].routine) {
    case Routine::kWork: {
      const auto& tools = kTools[subject.values[kJob]];
      return {opening + " works with", std::string(tools[0]) + " and " + std::string(tools[1])};
    }
    case Routine::kWalk:
      return {opening + " walks through", value(kTown) + " with the " + value(kPet)};
    case Routine::kPlay:
      return {opening + " wears", value(kColour) + " and plays the " + value(kMusic)};
  }
  return {};
}

Statement agreement(const Agreement& a, bool plural, bool mixed, bool past) {
  std::string subject = "The " + plural_if(kSubjects[a.subject], plural);
  if (a.place < kPlaces.size()) subject += " " + plural_if(kPlaces[a.place], plural != mixed);
  const std::string verb = past ? (plural ? "were " : "was ") : (plural ? "are " : "is ");
  return {std::move(subject), verb + std::string(kStates[a.state])};
}

}  // namespace nb::microworld
