// mw/mmlu: properties of things, and rules that hold in every world, told and asked for.
#include <algorithm>
#include <utility>

#include "model/data/microworld_chat_choices.hpp"
#include "model/data/microworld_chat_words.hpp"

namespace nb::microworld {
namespace {

constexpr std::array<std::string_view, kOfThings.size()> kThingSubjects = {"kinds", "colours",
                                                                           "rooms", "materials"};
constexpr const char *kJobs = "jobs", *kCalendar = "calendar", *kRoutines = "routines",
                     *kNumbers = "numbers";
constexpr int kLargestNumber = 20;

void add_neighbours(std::vector<Rule>& rules, std::string_view noun, const std::string& from,
                    const std::string& after, const std::string& before) {
  const auto add = [&](const std::string& word, const std::string& answer) {
    rules.push_back({noun, "Which " + std::string(noun) + " comes " + word + " " + from + "?",
                     answer, answer + " comes " + word + " " + from + "."});
  };
  add("after", after);
  add("before", before);
}

template <std::size_t N>
void add_circle(std::vector<Rule>& rules, std::string_view noun, const std::array<Text, N>& names) {
  for (std::size_t i = 0; i < N; ++i)
    add_neighbours(rules, noun, std::string(names[i]), std::string(names[(i + 1) % N]),
                   std::string(names[(i + N - 1) % N]));
}

std::vector<Rule> job_rules() {
  std::vector<Rule> rules;
  for (std::size_t job = 0; job < kTools.size(); ++job) {
    const std::string name(kOfPeople[kJob].values[job]), tools = tools_of(job);
    rules.push_back({"tools", "What does a " + name + " work with?", tools,
                     "A " + name + " works with " + tools + "."});
    rules.push_back({"job", "Which job works with " + tools + "?", name,
                     raised(tools) + " belong to the work of a " + name + "."});
  }
  return rules;
}

std::vector<Rule> routine_rules() {
  std::vector<Rule> rules;
  for (const Time& time : kTimes) {
    const std::string doing(kDoings[static_cast<std::size_t>(time.routine)]);
    rules.push_back({"doing", "What do people do " + lowered(time.text) + "?", doing,
                     std::string(time.text) + " people " + doing + "."});
  }
  return rules;
}

std::vector<Rule> number_rules() {
  std::vector<Rule> rules;
  for (int n = 1; n <= kLargestNumber; ++n)
    add_neighbours(rules, "number", std::to_string(n), std::to_string(n + 1),
                   std::to_string(n - 1));
  return rules;
}

void add_rules(QuestionFamily& family, const RuleSubject& subject, bool is_test) {
  for (std::size_t i = 0; i < subject.rules.size(); ++i) {
    if (subject.held[i] != is_test) continue;
    const Rule& rule = subject.rules[i];
    Question question{rule.statement, rule.question, rule.answer, {}, {}};
    for (const Rule& other : subject.rules)
      if (other.kind == rule.kind && std::find(question.answers.begin(), question.answers.end(),
                                               other.answer) == question.answers.end())
        question.answers.push_back(other.answer);
    if (subject.name == kRoutines) question.answers.emplace_back(kDoings.back());
    family.questions.push_back(std::move(question));
  }
}

}  // namespace

std::vector<RuleSubject> rule_subjects(std::uint64_t seed) {
  std::vector<Rule> calendar;
  add_circle(calendar, "day", kDays);
  add_circle(calendar, "month", kMonths);
  std::vector<RuleSubject> subjects = {{kJobs, job_rules(), {}},
                                       {kCalendar, std::move(calendar), {}},
                                       {kRoutines, routine_rules(), {}},
                                       {kNumbers, number_rules(), {}}};
  for (std::size_t s = 0; s < subjects.size(); ++s)
    subjects[s].held =
        held_third(subjects[s].rules.size(), Draws(seed, "microworld/chat/held/rules", s));
  return subjects;
}

ItemSource mmlu_source(const World& world, WorldSplit split) {
  const bool is_test = split == WorldSplit::kTest;
  const HeldFacts held = held_facts(world);
  Draws draws(world.seed, purpose_of("mw/mmlu", split) + "/told");
  std::vector<QuestionFamily> families;
  for (std::size_t a = 0; a < kOfThings.size(); ++a) {
    QuestionFamily family{kThingSubjects[a], {}};
    for (std::size_t t = 0; t < world.things.size(); ++t) {
      if (held.things[a][t] != is_test) continue;
      for (const Text wording : kThingQuestions[a])
        family.questions.push_back(question_of_value(told_thing(world, t, a, draws),
                                                     filled(wording, world.things[t].name),
                                                     kOfThings[a], world.things[t].values[a]));
    }
    families.push_back(std::move(family));
  }
  for (const RuleSubject& subject : rule_subjects(world.seed)) {
    families.push_back({subject.name, {}});
    add_rules(families.back(), subject, is_test);
  }
  return choice_source(world.seed, "mw/mmlu", split, std::move(families));
}

}  // namespace nb::microworld

namespace nb {

std::vector<std::string_view> microworld_subjects() {
  using namespace microworld;
  std::vector<std::string_view> subjects(kThingSubjects.begin(), kThingSubjects.end());
  subjects.insert(subjects.end(), {kJobs, kCalendar, kRoutines, kNumbers});
  std::ranges::sort(subjects);
  return subjects;
}

}  // namespace nb
