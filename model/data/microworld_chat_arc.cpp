// mw/arc_easy asks for one stated fact of a person; mw/arc_challenge needs two facts, a rule, or a
// fact read backwards.
#include <utility>

#include "model/data/microworld_chat_choices.hpp"
#include "model/data/microworld_chat_words.hpp"

namespace nb::microworld {
namespace {

// Collects the questions of one split.
class Asker {
 public:
  Asker(const World& world, WorldSplit split)
      : world_(world), held_(held_facts(world)), is_test_(split == WorldSplit::kTest) {}

  bool wants_person(std::size_t attribute, std::size_t person) const {
    return held_.people[attribute][person] == is_test_;
  }
  bool wants_thing(std::size_t attribute, std::size_t thing) const {
    return held_.things[attribute][thing] == is_test_;
  }
  // Train asks of no held value, and of no held fact backwards either.
  bool wants_value(std::size_t attribute, std::size_t value) const {
    return held_.values[attribute][value] == is_test_;
  }
  bool may_answer(std::size_t attribute, std::size_t person) const {
    return is_test_ || !held_.people[attribute][person];
  }

  QuestionFamily facts(std::size_t attribute) const {
    QuestionFamily family;
    for (std::size_t p = 0; p < world_.people.size(); ++p) {
      if (!wants_person(attribute, p)) continue;
      for (const Text wording : kPeopleQuestions[attribute])
        family.questions.push_back(question_of_value(filled(wording, world_.people[p].name),
                                                     kOfPeople[attribute],
                                                     world_.people[p].values[attribute]));
    }
    return family;
  }

  QuestionFamily who(std::size_t attribute) const {
    QuestionFamily family;
    for (std::size_t value = 0; value < kOfPeople[attribute].count; ++value) {
      if (!wants_value(attribute, value)) continue;
      Question question;
      for (std::size_t p = 0; p < world_.people.size(); ++p) {
        if (world_.people[p].values[attribute] != value)
          question.wrong.emplace_back(world_.people[p].name);
        else if (may_answer(attribute, p))
          question.right.emplace_back(world_.people[p].name);
      }
      for (const Text wording : kWhoQuestions[attribute]) {
        question.text = filled(wording, kOfPeople[attribute].values[value]);
        family.questions.push_back(question);
      }
    }
    return family;
  }

  QuestionFamily routines(const RoutineQuestion& asked) const {
    QuestionFamily family;
    for (std::size_t p = 0; p < world_.people.size(); ++p) {
      if (!wants_person(asked.attribute, p)) continue;
      const std::size_t value = world_.people[p].values[asked.attribute];
      for (const Time& time : kTimes) {
        if (time.routine != asked.routine) continue;
        Question question = question_of_value(
            filled(asked.wording, world_.people[p].name) + " " + lowered(time.text) + "?",
            kOfPeople[asked.attribute], value);
        if (asked.attribute == kJob) {
          question.right = {tools_of(value)};
          question.wrong.clear();
          for (std::size_t job = 0; job < kTools.size(); ++job)
            if (job != value) question.wrong.push_back(tools_of(job));
        }
        family.questions.push_back(std::move(question));
      }
    }
    return family;
  }

  QuestionFamily same_person(std::size_t attribute) const {
    return same(world_.people, attribute, kSamePersonQuestions[attribute], held_.people[attribute]);
  }
  QuestionFamily same_thing(std::size_t attribute) const {
    return same(world_.things, attribute, kSameThingQuestions[attribute], held_.things[attribute]);
  }

 private:
  QuestionFamily same(const std::vector<Subject>& subjects, std::size_t attribute, Text wording,
                      const std::vector<bool>& held) const {
    QuestionFamily family;
    for (std::size_t s = 0; s < subjects.size(); ++s) {
      if (held[s] != is_test_) continue;
      Question question{filled(wording, subjects[s].name), {}, {}};
      for (std::size_t other = 0; other < subjects.size(); ++other) {
        if (other == s) continue;
        const bool is_same = subjects[other].values[attribute] == subjects[s].values[attribute];
        (is_same ? question.right : question.wrong).emplace_back(subjects[other].name);
      }
      family.questions.push_back(std::move(question));
    }
    return family;
  }

  const World& world_;
  HeldFacts held_;
  bool is_test_;
};

}  // namespace

ItemSource arc_easy_source(const World& world, WorldSplit split) {
  const Asker asker(world, split);
  std::vector<QuestionFamily> families;
  for (std::size_t a = 0; a < kOfPeople.size(); ++a) families.push_back(asker.facts(a));
  return choice_source(world.seed, "mw/arc_easy", split, std::move(families));
}

ItemSource arc_challenge_source(const World& world, WorldSplit split) {
  const Asker asker(world, split);
  std::vector<QuestionFamily> families;
  for (std::size_t a = 0; a < kOfPeople.size(); ++a) families.push_back(asker.who(a));
  for (const RoutineQuestion& asked : kRoutineQuestions) families.push_back(asker.routines(asked));
  for (std::size_t a = 0; a < kOfPeople.size(); ++a) families.push_back(asker.same_person(a));
  for (std::size_t a = 0; a < kOfThings.size(); ++a) families.push_back(asker.same_thing(a));
  return choice_source(world.seed, "mw/arc_challenge", split, std::move(families));
}

}  // namespace nb::microworld
