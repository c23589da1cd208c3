// Lessons: documents that prepare the conversations in plain sentences. Each has a few lines on one
// matter: sums, letters, programs, rules, questions with their answers. What is held out of the
// train conversations (microworld_chat.hpp) is asked and computed here neither.
#include <fmt/core.h>

#include <utility>

#include "model/data/microworld_chat_parts.hpp"
#include "model/data/microworld_chat_programs.hpp"

namespace nb::microworld {
namespace {

constexpr std::size_t kLines = 6;

std::string letters_of(const std::string& word) { return spelled(word).substr(word.size() + 1); }

class Teacher {
 public:
  explicit Teacher(const World& world)
      : world_(world),
        programs_(humaneval_source(world, WorldSplit::kTrain)),
        letters_(spelling_bee_source(world, WorldSplit::kTrain)),
        facts_(arc_easy_source(world, WorldSplit::kTrain)),
        properties_(mmlu_source(world, WorldSplit::kTrain)),
        words_(spelling_words()),
        subjects_(rule_subjects(world.seed)) {}

  std::string lesson(Draws draws) const {
    using Line = std::string (Teacher::*)(Draws&) const;
    constexpr std::array<Line, 6> kMatters = {&Teacher::sum,     &Teacher::problem,
                                              &Teacher::letters, &Teacher::program,
                                              &Teacher::rule,    &Teacher::question};
    const Line line = kMatters[draws.below(kMatters.size())];
    // A program has three lines, a question two.
    const std::size_t count = line == &Teacher::program    ? kLines / 3
                              : line == &Teacher::question ? kLines / 2
                                                           : kLines;
    std::string text;
    for (std::size_t i = 0; i < count; ++i) {
      if (i > 0) text += line == &Teacher::program ? "\n\n" : "\n";
      text += (this->*line)(draws);
    }
    return text;
  }

 private:
  // The plain tables: "3 plus 4 is 7."
  std::string sum(Draws& draws) const {
    const std::size_t a = draws.below(21), b = draws.below(21), c = 2 + draws.below(8),
                      d = 2 + draws.below(8);
    switch (draws.below(4)) {
      case 0:
        return fmt::format("{} plus {} is {}: {}+{}={}.", a, b, a + b, a, b, a + b);
      case 1:
        return fmt::format("{} minus {} is {}: {}-{}={}.", a + b, a, b, a + b, a, b);
      case 2:
        return fmt::format("{} times {} is {}: {}*{}={}.", c, d, c * d, c, d, c * d);
      default:
        return fmt::format("{} divided by {} is {}: {}//{}={}.", c * d, c, d, c * d, c, d);
    }
  }

  std::string problem(Draws& draws) const {
    return word_problem(world_, WorldSplit::kTrain, draws).statement;
  }

  std::string letters(Draws& draws) const {
    if (draws.below(2) == 0) {
      const std::string& word = words_[draws.below(words_.size())];
      const std::string spelling = letters_of(word);
      return draws.below(2) == 0 ? fmt::format("{} is spelled {}.", raised(word), spelling)
                                 : fmt::format("Spell the word {} out: {}. It has {} letters.",
                                               word, spelling, word.size());
    }
    const auto item = std::get<SpellingBeeItem>(letters_(draws.below(kMany)));
    return fmt::format(
        "We are asked to find the number '{0}' in the word '{1}'. First spell the word out: {2}. "
        "Then count the occurrences of '{0}'. This gives us {3}.",
        item.letter, item.word, letters_of(item.word), item.count);
  }

  std::string program(Draws& draws) const {
    const auto item = std::get<ProgramItem>(programs_(draws.below(kMany)));
    std::string text = item.prompt + item.canonical_solution;
    text.pop_back();
    return text;
  }

  std::string rule(Draws& draws) const {
    const RuleSubject& subject = subjects_[draws.below(subjects_.size())];
    return subject.rules[draws.below(subject.rules.size())].statement;
  }

  std::string question(Draws& draws) const {
    const auto item =
        std::get<ChoiceItem>((draws.below(2) == 0 ? facts_ : properties_)(draws.below(kMany)));
    return fmt::format("Question: {}\nAnswer: {}.", item.question, raised(item.choices[item.gold]));
  }

  static constexpr std::size_t kMany = 1'000'000;  // train examples to draw from

  const World& world_;
  ItemSource programs_, letters_, facts_, properties_;
  std::vector<std::string> words_;
  std::vector<RuleSubject> subjects_;
};

}  // namespace

std::vector<std::string> with_lessons(const World& world, std::string_view purpose,
                                      std::int64_t lessons, std::vector<std::string> documents) {
  if (lessons == 0) return documents;
  const Teacher teacher(world);
  const std::string name(purpose);
  for (std::int64_t i = 0; i < lessons; ++i)
    documents.push_back(
        teacher.lesson(Draws(world.seed, name + "/lessons", static_cast<std::uint64_t>(i))));
  std::vector<std::string> mixed;
  for (const std::size_t place : Draws(world.seed, name + "/order").order(documents.size()))
    mixed.push_back(std::move(documents[place]));
  return mixed;
}

}  // namespace nb::microworld
