// What is right about a question of the microworld's conversations, worked out from the world and
// the question's text alone.
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "model/data/microworld_chat_words.hpp"
#include "model/data/microworld_world.hpp"

namespace nb::test {

using IsRight = std::function<bool(const std::string& answer)>;

// What stands where {} is, if the text is that wording.
inline std::optional<std::string> hole(std::string_view text, std::string_view wording) {
  const std::size_t at = wording.find("{}");
  const std::string_view head = wording.substr(0, at), tail = wording.substr(at + 2);
  if (text.size() <= head.size() + tail.size() || !text.starts_with(head) || !text.ends_with(tail))
    return {};
  return std::string(text.substr(head.size(), text.size() - head.size() - tail.size()));
}

// "Where does Mira live?" of "Mira lives in Oslo. Where does Mira live?"
inline std::string question_alone(const std::string& text) {
  const std::size_t end = text.rfind(". ");
  return end == std::string::npos ? text : text.substr(end + 2);
}

class Truth {
 public:
  explicit Truth(const MicroworldSettings& settings) : world_(microworld::make_world(settings)) {}

  // Nothing: no question that this knows. What is told before the question does not matter.
  IsRight of(const std::string& text) const {
    const std::string question = question_alone(text);
    for (std::size_t a = 0; a < microworld::kOfPeople.size(); ++a) {
      const auto& attribute = microworld::kOfPeople[a];
      for (const auto wording : microworld::kPeopleQuestions[a])
        if (const auto* person = find(world_.people, hole(question, wording)))
          return is(std::string(attribute.values[person->values[a]]));
      for (const auto wording : microworld::kWhoQuestions[a])
        if (const auto value = hole(question, wording); value && knows(attribute, *value))
          return [this, a, value = *value](const std::string& name) {
            const auto* person = find(world_.people, name);
            return person && microworld::kOfPeople[a].values[person->values[a]] == value;
          };
      if (const auto* one =
              find(world_.people, hole(question, microworld::kSamePersonQuestions[a])))
        return shares(world_.people, *one, a);
    }
    for (std::size_t a = 0; a < microworld::kOfThings.size(); ++a) {
      for (const auto wording : microworld::kThingQuestions[a])
        if (const auto* thing = find(world_.things, hole(question, wording)))
          return is(std::string(microworld::kOfThings[a].values[thing->values[a]]));
      if (const auto* one = find(world_.things, hole(question, microworld::kSameThingQuestions[a])))
        return shares(world_.things, *one, a);
    }
    if (const IsRight routine = routine_answer(question)) return routine;
    return rule_answer(question);
  }

 private:
  static IsRight is(std::string right) {
    return [right = std::move(right)](const std::string& answer) { return answer == right; };
  }
  static const microworld::Subject* find(const std::vector<microworld::Subject>& all,
                                         const std::optional<std::string>& name) {
    const auto found = std::find_if(all.begin(), all.end(),
                                    [&](const auto& one) { return name && one.name == *name; });
    return found == all.end() ? nullptr : &*found;
  }
  static bool knows(const microworld::Attribute& attribute, const std::string& value) {
    return std::find(attribute.values.begin(), attribute.values.end(), value) !=
           attribute.values.end();
  }
  static IsRight shares(const std::vector<microworld::Subject>& all, const microworld::Subject& one,
                        std::size_t attribute) {
    return [&all, &one, attribute](const std::string& name) {
      const auto* other = find(all, name);
      return other && other != &one && other->values[attribute] == one.values[attribute];
    };
  }

  // "Which colour does Mira wear in July?": the sentence of the routine holds the answer.
  IsRight routine_answer(const std::string& question) const {
    for (std::size_t t = 0; t < microworld::kTimes.size(); ++t) {
      std::string time(microworld::kTimes[t].text);
      time.front() = time.front() == 'O' ? 'o' : 'i';
      for (std::size_t p = 0; p < world_.people.size(); ++p) {
        if (!question.ends_with(" " + time + "?") ||
            question.find(" " + std::string(world_.people[p].name) + " ") == std::string::npos)
          continue;
        const std::string told = microworld::routine(world_, p, t).sentence();
        const bool asks_tools = question.find("work with") != std::string::npos;
        const bool asks_city = question.starts_with("Through which city");
        const bool asks_pet = question.starts_with("With which animal");
        const bool asks_colour = question.starts_with("Which colour");
        return [=](const std::string& answer) {
          return told.ends_with(asks_tools    ? " works with " + answer + "."
                                : asks_city   ? ""
                                : asks_pet    ? " with the " + answer + "."
                                : asks_colour ? ""
                                              : " plays the " + answer + ".") &&
                 (!asks_city || told.find(" through " + answer + " with") != std::string::npos) &&
                 (!asks_colour || told.find(" wears " + answer + " and") != std::string::npos);
        };
      }
    }
    return {};
  }

  static IsRight rule_answer(const std::string& question) {
    const std::vector<std::string> days = {"Monday", "Tuesday",  "Wednesday", "Thursday",
                                           "Friday", "Saturday", "Sunday"};
    const std::vector<std::string> months = {"January",   "February", "March",    "April",
                                             "May",       "June",     "July",     "August",
                                             "September", "October",  "November", "December"};
    const auto neighbour = [&](const std::string& name, std::ptrdiff_t step) {
      for (const auto* all : {&days, &months}) {
        const auto found = std::find(all->begin(), all->end(), name);
        if (found == all->end()) continue;
        const auto n = static_cast<std::ptrdiff_t>(all->size());
        return (*all)[static_cast<std::size_t>((found - all->begin() + step + n) % n)];
      }
      return std::to_string(std::stoi(name) + static_cast<int>(step));
    };
    for (const char* noun : {"day", "month", "number"}) {
      const std::string start = std::string("Which ") + noun + " comes ";
      if (const auto name = hole(question, start + "after {}?")) return is(neighbour(*name, 1));
      if (const auto name = hole(question, start + "before {}?")) return is(neighbour(*name, -1));
    }
    const auto& jobs = microworld::kOfPeople[microworld::kJob].values;
    for (std::size_t job = 0; job < jobs.size(); ++job) {
      const std::string tools = std::string(microworld::kTools[job][0]) + " and " +
                                std::string(microworld::kTools[job][1]);
      if (question == "What does a " + std::string(jobs[job]) + " work with?") return is(tools);
      if (question == "Which job works with " + tools + "?") return is(std::string(jobs[job]));
    }
    if (const auto time = hole(question, "What do people do {}?")) {
      const bool weekend = *time == "on Saturday" || *time == "on Sunday";
      if (time->starts_with("on ")) return is(weekend ? "walk" : "work");
      const auto month = std::find(months.begin(), months.end(), time->substr(3)) - months.begin();
      return is(month < 6 ? "walk" : "play");
    }
    return {};
  }

  microworld::World world_;
};

}  // namespace nb::test
