// What the files microworld_chat_*.cpp share: which questions are held out, and which of a task's
// questions stands at an index.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "model/data/microworld_chat.hpp"
#include "model/data/microworld_world.hpp"

namespace nb::microworld {

// A third of 0 … n-1, rounded down but at least one.
std::vector<bool> held_third(std::size_t n, Draws draws);

// (subject, attribute) whose questions are kept for the test split, a third of the subjects for
// each attribute; and values of which the test asks "Who lives in Oslo?".
struct HeldFacts {
  std::vector<std::vector<bool>> people;  // [attribute][person]
  std::vector<std::vector<bool>> things;  // [attribute][thing]
  std::vector<std::vector<bool>> values;  // [attribute of people][value]
};
HeldFacts held_facts(const World& world);

// Members of families (all questions about towns, all programs that add). Train draws a family,
// then a member; test goes through all members, one of each family in turn, before any comes again.
class Picks {
 public:
  struct Pick {
    std::size_t family = 0, member = 0;
  };
  // NB_CHECK: at least one family has a member.
  Picks(std::uint64_t seed, const std::string& purpose, WorldSplit split,
        const std::vector<std::size_t>& sizes);
  Pick at(std::size_t index, Draws& draws) const;

 private:
  std::vector<std::size_t> families_, sizes_;  // those that are not empty
  std::vector<Pick> order_;                    // test only
};

// An item as a function of its index.
using ItemSource = std::function<WorldItem(std::size_t index)>;

// One source for each task; the world is copied into it.
ItemSource arc_easy_source(const World& world, WorldSplit split);
ItemSource arc_challenge_source(const World& world, WorldSplit split);
ItemSource mmlu_source(const World& world, WorldSplit split);
ItemSource gsm8k_source(const World& world, WorldSplit split);
ItemSource humaneval_source(const World& world, WorldSplit split);
ItemSource spelling_bee_source(const World& world, WorldSplit split);
ItemSource simple_spelling_source(const World& world, WorldSplit split);
ItemSource talk_source(const World& world, WorldSplit split);
ItemSource identity_source(const World& world, WorldSplit split);

// "microworld/chat/<what>/train" or "…/test": what the split's draws are for.
std::string purpose_of(std::string_view what, WorldSplit split);

// The wording with {} filled in.
std::string filled(std::string_view wording, std::string_view name);
// With a small first letter: "On Monday" inside a sentence.
std::string lowered(std::string_view text);
// With a capital first letter.
std::string raised(std::string_view text);
// "flour and butter"
std::string tools_of(std::size_t job);
// A sentence that states the fact in any wording but the one that is kept for mw/facts, mw/choice.
std::string told_person(const World& world, std::size_t person, std::size_t attribute,
                        Draws& draws);
std::string told_thing(const World& world, std::size_t thing, std::size_t attribute, Draws& draws);

// A rule that holds in every world, as a statement and as a question.
struct Rule {
  std::string_view kind;  // answers of one kind are each other's wrong choices
  std::string question;
  std::string answer;
  std::string statement;
};
// Of jobs, the calendar, numbers: "Which day comes after Monday?", "Tuesday", "Tuesday comes after
// Monday."
struct RuleSubject {
  std::string_view name;
  std::vector<Rule> rules;
  std::vector<bool> held;
};
std::vector<RuleSubject> rule_subjects(std::uint64_t seed);

// A word problem (mw/gsm8k) of numbers that are held, or not.
struct WordProblem {
  std::string question;
  std::string answer;     // in GSM8K's markup
  std::string statement;  // question and result as sentences
};
WordProblem word_problem(const World& world, WorldSplit split, Draws& draws);

// Words of the world's tables with 3 to 6 letters.
std::vector<std::string> spelling_words();

}  // namespace nb::microworld
