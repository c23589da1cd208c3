// The microworld's truth: who lives where, what is made of what, and which sentences are kept for
// evaluation. Made once from a seed; documents and items are both read off it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/rng.hpp"
#include "model/data/microworld.hpp"
#include "model/data/microworld_words.hpp"

namespace nb::microworld {

// Draws in order from one purpose.
class Draws {
 public:
  Draws(std::uint64_t seed, std::string_view purpose, std::uint64_t step = 0)
      : rng_(seed, purpose, step) {}
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(rng_.below(next_++, n)); }
  // 0 … n-1 in random order (Fisher-Yates).
  std::vector<std::size_t> order(std::size_t n);

 private:
  Rng rng_;
  std::uint64_t next_ = 0;
};

// A person or a thing: the value and the held-out wording of each of its attributes.
struct Subject {
  std::string_view name;
  std::vector<std::size_t> values;
  std::vector<std::size_t> held_wordings;
};

// One sentence "The dogs near the rivers are hungry." without its numbers.
struct Agreement {
  std::size_t subject, place, state;  // place == kPlaces.size(): none
};

struct World {
  std::uint64_t seed = 0;
  std::vector<Subject> people;
  std::vector<Subject> things;
  std::vector<bool> held_times;       // people × kTimes
  std::vector<bool> held_agreements;  // subjects × (places and none) × states

  bool is_held_time(std::size_t person, std::size_t time) const {
    return held_times[person * kTimes.size() + time];
  }
  bool is_held(const Agreement& a) const {
    return held_agreements[(a.subject * (kPlaces.size() + 1) + a.place) * kStates.size() + a.state];
  }
};

World make_world(const MicroworldSettings& settings);

// "Mira lives in Oslo." and its two halves.
struct Statement {
  std::string query;  // "Mira lives in"
  std::string value;  // "Oslo"
  std::string sentence() const { return query + " " + value + "."; }
};
Statement state(const Attribute& attribute, const Subject& subject, std::size_t attribute_index,
                std::size_t wording);
// "On Monday Mira works with flour and butter.", "In May Mira walks through Oslo with the cat."
Statement routine(const World& world, std::size_t person, std::size_t time);
// "The dogs near the river" and "are hungry"; the place's number is the opposite of the subject's
// if mixed, else the same.
Statement agreement(const Agreement& a, bool plural, bool mixed, bool past);

std::vector<std::string> make_documents(const World& world, std::string_view purpose,
                                        std::int64_t count);
// The documents with lessons among them, all shuffled; as they are without lessons.
std::vector<std::string> with_lessons(const World& world, std::string_view purpose,
                                      std::int64_t lessons, std::vector<std::string> documents);
std::vector<MicroworldTask> make_tasks(const World& world, std::int64_t items_per_task);

}  // namespace nb::microworld
