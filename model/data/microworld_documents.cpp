// One document: seven to nine sentences, a line each, about one person, a thing, and what went on
// nearby.

#include "model/data/microworld_world.hpp"

namespace nb::microworld {
namespace {

template <std::size_t N>
std::string fact(const std::array<Attribute, N>& attributes, const Subject& subject,
                 std::size_t attribute, Draws& draws) {
  const std::size_t held = subject.held_wordings[attribute];
  const std::size_t wording = (held + 1 + draws.below(kWordings - 1)) % kWordings;
  return state(attributes[attribute], subject, attribute, wording).sentence();
}

std::string routine_line(const World& world, std::size_t person, Draws& draws) {
  std::size_t time = draws.below(kTimes.size());
  // Some time is free: fewer than all are held out (checked by a test over many seeds).
  while (world.is_held_time(person, time)) time = (time + 1) % kTimes.size();
  return routine(world, person, time).sentence();
}

std::string agreement_line(const World& world, Draws& draws) {
  for (;;) {
    Agreement a{draws.below(kSubjects.size()), kPlaces.size(), draws.below(kStates.size())};
    if (draws.below(2) == 0) a.place = draws.below(kPlaces.size());
    const bool plural = draws.below(2) == 1, mixed = draws.below(2) == 1,
               past = draws.below(2) == 1;
    if (!world.is_held(a)) return agreement(a, plural, mixed, past).sentence();
  }
}

std::string document(const World& world, Draws draws) {
  std::vector<std::string> lines;
  const std::size_t person = draws.below(world.people.size());
  const std::vector<std::size_t> attributes = draws.order(kOfPeople.size());
  for (std::size_t i = 0, n = 3 + draws.below(3); i < n; ++i)
    lines.push_back(fact(kOfPeople, world.people[person], attributes[i], draws));
  lines.push_back(routine_line(world, person, draws));
  const std::size_t thing = draws.below(world.things.size());
  const std::vector<std::size_t> properties = draws.order(kOfThings.size());
  for (std::size_t i = 0; i < 2; ++i)
    lines.push_back(fact(kOfThings, world.things[thing], properties[i], draws));
  lines.push_back(agreement_line(world, draws));
  std::string text;
  for (const std::size_t i : draws.order(lines.size())) {
    if (!text.empty()) text += "\n";
    text += lines[i];
  }
  return text;
}

}  // namespace

std::vector<std::string> make_documents(const World& world, std::string_view purpose,
                                        std::int64_t count) {
  std::vector<std::string> documents;
  for (std::int64_t i = 0; i < count; ++i)
    documents.push_back(document(world, Draws(world.seed, purpose, static_cast<std::uint64_t>(i))));
  return documents;
}

}  // namespace nb::microworld
