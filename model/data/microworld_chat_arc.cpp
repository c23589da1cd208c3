// mw/arc_easy tells one fact of a person and asks for it; mw/arc_challenge tells two or three, of
// which one does not matter, and the answer takes two facts, a rule, or a fact read backwards.
#include <utility>

#include "model/data/microworld_chat_choices.hpp"
#include "model/data/microworld_chat_words.hpp"

namespace nb::microworld {
namespace {

// Collects the questions of one split.
class Asker {
 public:
  Asker(const World& world, std::string_view task, WorldSplit split)
      : world_(world),
        held_(held_facts(world)),
        draws_(world.seed, purpose_of(task, split) + "/told"),
        is_test_(split == WorldSplit::kTest) {}

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

  QuestionFamily facts(std::size_t attribute) {
    QuestionFamily family;
    for (std::size_t p = 0; p < world_.people.size(); ++p) {
      if (!wants_person(attribute, p)) continue;
      for (const Text wording : kPeopleQuestions[attribute])
        family.questions.push_back(question_of_value(
            told_person(world_, p, attribute, draws_), filled(wording, world_.people[p].name),
            kOfPeople[attribute], world_.people[p].values[attribute]));
    }
    return family;
  }

  QuestionFamily who(std::size_t attribute) {
    QuestionFamily family;
    for (std::size_t p = 0; p < world_.people.size(); ++p) {
      const std::size_t value = world_.people[p].values[attribute];
      if (!wants_value(attribute, value) || !may_answer(attribute, p)) continue;
      for (const Text wording : kWhoQuestions[attribute])
        family.questions.push_back({told_person(world_, p, attribute, draws_),
                                    filled(wording, kOfPeople[attribute].values[value]),
                                    std::string(world_.people[p].name),
                                    others(world_.people, attribute, p), names(world_.people)});
    }
    return family;
  }

  QuestionFamily routines(const RoutineQuestion& asked) {
    QuestionFamily family;
    for (std::size_t p = 0; p < world_.people.size(); ++p) {
      if (!wants_person(asked.attribute, p)) continue;
      const std::size_t value = world_.people[p].values[asked.attribute];
      for (const Time& time : kTimes) {
        if (time.routine != asked.routine) continue;
        Question question = question_of_value(
            in_any_order(told_person(world_, p, asked.attribute, draws_),
                         told_of_another(asked.attribute, value), draws_),
            filled(asked.wording, world_.people[p].name) + " " + lowered(time.text) + "?",
            kOfPeople[asked.attribute], value);
        if (asked.attribute == kJob) {
          question.right = tools_of(value);
          for (std::size_t job = 0; job < kTools.size(); ++job)
            question.answers[job] = tools_of(job);
        }
        family.questions.push_back(std::move(question));
      }
    }
    return family;
  }

  QuestionFamily same_person(std::size_t attribute) {
    return same(world_.people, attribute, kSamePersonQuestions[attribute], held_.people[attribute],
                told_person);
  }
  QuestionFamily same_thing(std::size_t attribute) {
    return same(world_.things, attribute, kSameThingQuestions[attribute], held_.things[attribute],
                told_thing);
  }

 private:
  using Tell = std::string (*)(const World&, std::size_t subject, std::size_t attribute, Draws&);

  // What someone has who has not that value.
  std::string told_of_another(std::size_t attribute, std::size_t value) {
    std::size_t other = 0;
    do {
      other = draws_.below(world_.people.size());
    } while (world_.people[other].values[attribute] == value);
    return told_person(world_, other, attribute, draws_);
  }

  static std::vector<std::string> names(const std::vector<Subject>& subjects) {
    std::vector<std::string> all;
    for (const Subject& subject : subjects) all.emplace_back(subject.name);
    return all;
  }
  // Those who have the same value.
  static std::vector<std::string> others(const std::vector<Subject>& subjects,
                                         std::size_t attribute, std::size_t one) {
    std::vector<std::string> all;
    for (std::size_t s = 0; s < subjects.size(); ++s)
      if (s != one && subjects[s].values[attribute] == subjects[one].values[attribute])
        all.emplace_back(subjects[s].name);
    return all;
  }

  QuestionFamily same(const std::vector<Subject>& subjects, std::size_t attribute, Text wording,
                      const std::vector<bool>& held, Tell tell) {
    QuestionFamily family;
    for (std::size_t s = 0; s < subjects.size(); ++s) {
      if (held[s] != is_test_) continue;
      for (std::size_t partner = 0; partner < subjects.size(); ++partner) {
        if (partner == s || subjects[partner].values[attribute] != subjects[s].values[attribute])
          continue;
        std::vector<std::string> also_right = others(subjects, attribute, partner);
        family.questions.push_back({in_any_order(tell(world_, s, attribute, draws_),
                                                 tell(world_, partner, attribute, draws_), draws_),
                                    filled(wording, subjects[s].name),
                                    std::string(subjects[partner].name), std::move(also_right),
                                    names(subjects)});
      }
    }
    return family;
  }

  const World& world_;
  HeldFacts held_;
  Draws draws_;
  bool is_test_;
};

}  // namespace

ItemSource arc_easy_source(const World& world, WorldSplit split) {
  Asker asker(world, "mw/arc_easy", split);
  std::vector<QuestionFamily> families;
  for (std::size_t a = 0; a < kOfPeople.size(); ++a) families.push_back(asker.facts(a));
  return choice_source(world.seed, "mw/arc_easy", split, std::move(families));
}

ItemSource arc_challenge_source(const World& world, WorldSplit split) {
  Asker asker(world, "mw/arc_challenge", split);
  std::vector<QuestionFamily> families;
  for (std::size_t a = 0; a < kOfPeople.size(); ++a) families.push_back(asker.who(a));
  for (const RoutineQuestion& asked : kRoutineQuestions) families.push_back(asker.routines(asked));
  for (std::size_t a = 0; a < kOfPeople.size(); ++a) families.push_back(asker.same_person(a));
  for (std::size_t a = 0; a < kOfThings.size(); ++a) families.push_back(asker.same_thing(a));
  return choice_source(world.seed, "mw/arc_challenge", split, std::move(families));
}

}  // namespace nb::microworld
