// mw/gsm8k: word problems of one or two steps with numbers up to 20 and results up to 100.
#include <fmt/core.h>

#include <map>
#include <utility>

#include "model/data/microworld_chat_parts.hpp"

namespace nb::microworld {
namespace {

// In the texts: {N} and {M} are people, {o} things of one sort, {a} {b} {c} the numbers given, {x}
// {y} the results of the steps, {X} {Y} the same written out as a call: 3+4=<<3+4=7>>7.
struct Step {
  char left, op, right;  // op / is division without remainder, written //
  Text sentence;
};
struct Template {
  Text question, statement;
  std::array<int, 3> largest;  // of a, b, c; 0: not used
  Step first, second;          // op 0: there is no second
};
inline constexpr Step kNone = {0, 0, 0, ""};
inline constexpr int kSmallest = 2, kLargestResult = 100;

inline constexpr std::array<Template, 10> kTemplates = {{
    {"{N} has {a} {o} and finds {b} more. How many {o} does {N} have now?",
     "{N} has {a} {o} and finds {b} more. Now {N} has {x} {o}.",
     {20, 20, 0},
     {'a', '+', 'b', "{N} has {X} {o} now."},
     kNone},
    {"{N} has {a} {o} and gives {b} to {M}. How many {o} does {N} have left?",
     "{N} has {a} {o} and gives {b} to {M}. Now {N} has {x} {o} left.",
     {20, 20, 0},
     {'a', '-', 'b', "{N} has {X} {o} left."},
     kNone},
    {"{N} has {a} {o} and {M} has {b} {o}. How many {o} do they have together?",
     "{N} has {a} {o} and {M} has {b} {o}. Together they have {x} {o}.",
     {20, 20, 0},
     {'a', '+', 'b', "Together they have {X} {o}."},
     kNone},
    {"{N} has {a} {o} and {M} has {b} {o}. How many more {o} does {N} have than {M}?",
     "{N} has {a} {o} and {M} has {b} {o}. {N} has {x} more than {M}.",
     {20, 20, 0},
     {'a', '-', 'b', "{N} has {X} more {o}."},
     kNone},
    {"{N} has {a} bags with {b} {o} in each. How many {o} does {N} have?",
     "{N} has {a} bags with {b} {o} in each. That is {x} {o}.",
     {9, 9, 0},
     {'a', '*', 'b', "{N} has {X} {o}."},
     kNone},
    {"{N} puts {a} {o} into {b} equal boxes. How many {o} are in each box?",
     "{N} puts {a} {o} into {b} equal boxes. Each box holds {x} {o}.",
     {20, 9, 0},
     {'a', '/', 'b', "Each box holds {X} {o}."},
     kNone},
    {"{N} has {a} {o}, finds {b} more and gives {c} to {M}. How many {o} does {N} have left?",
     "{N} has {a} {o}, finds {b} more and gives {c} to {M}. Now {N} has {y} {o} left.",
     {20, 20, 20},
     {'a', '+', 'b', "Then {N} has {X} {o}."},
     {'x', '-', 'c', "{N} has {Y} {o} left."}},
    {"{N} has {a} bags with {b} {o} in each and {c} more {o}. How many {o} does {N} have?",
     "{N} has {a} bags with {b} {o} in each and {c} more {o}. That is {y} {o}.",
     {9, 9, 20},
     {'a', '*', 'b', "The bags hold {X} {o}."},
     {'x', '+', 'c', "{N} has {Y} {o}."}},
    {"{N} has {a} bags with {b} {o} in each and gives {c} {o} to {M}. How many {o} does {N} have "
     "left?",
     "{N} has {a} bags with {b} {o} in each and gives {c} {o} to {M}. Now {N} has {y} {o} left.",
     {9, 9, 20},
     {'a', '*', 'b', "The bags hold {X} {o}."},
     {'x', '-', 'c', "{N} has {Y} {o} left."}},
    {"{N} has {a} {o} and {M} has {b} more than {N}. How many {o} do they have together?",
     "{N} has {a} {o} and {M} has {b} more than {N}. Together they have {y} {o}.",
     {20, 20, 0},
     {'a', '+', 'b', "{M} has {X} {o}."},
     {'a', '+', 'x', "Together they have {Y} {o}."}},
}};
inline constexpr std::array<Text, 10> kObjects = {
    "coins", "apples", "nails", "books", "buttons", "stones", "cards", "shells", "pencils", "eggs"};

using Numbers = std::map<char, int>;

// A result outside of 2 … 100, or a division with a remainder: nothing.
bool compute(const Step& step, char result, Numbers& numbers) {
  const int left = numbers.at(step.left), right = numbers.at(step.right);
  if (step.op == '/' && left % right != 0) return false;
  const int value = step.op == '+'   ? left + right
                    : step.op == '-' ? left - right
                    : step.op == '*' ? left * right
                                     : left / right;
  numbers[result] = value;
  return value >= kSmallest && value <= kLargestResult;
}

// Numbers as the template allows them, or nothing: then draw again.
bool draw_numbers(const Template& form, Numbers& numbers, Draws& draws) {
  for (std::size_t i = 0; i < form.largest.size(); ++i)
    numbers[static_cast<char>('a' + i)] =
        form.largest[i] == 0
            ? 0
            : kSmallest +
                  static_cast<int>(draws.below(static_cast<std::size_t>(form.largest[i] - 1)));
  return compute(form.first, 'x', numbers) &&
         (form.second.op == 0 || compute(form.second, 'y', numbers));
}

// A quarter of all (template, numbers).
bool is_held(std::uint64_t seed, std::size_t form, const Numbers& numbers) {
  const int key = (numbers.at('a') * 21 + numbers.at('b')) * 21 + numbers.at('c');
  return Rng(seed, "microworld/chat/held/arithmetic", form)
             .below(static_cast<std::uint64_t>(key), 4) == 0;
}

std::string call(const Step& step, char result, const Numbers& numbers) {
  const std::string sum = fmt::format("{}{}{}", numbers.at(step.left),
                                      step.op == '/' ? std::string("//") : std::string(1, step.op),
                                      numbers.at(step.right));
  return fmt::format("{0}=<<{0}={1}>>{1}", sum, numbers.at(result));
}

std::string written(std::string_view text, const std::map<char, std::string>& names) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '{') {
      result += text[i];
      continue;
    }
    result += names.at(text[i + 1]);
    i += 2;
  }
  return result;
}

}  // namespace

WordProblem word_problem(const World& world, WorldSplit split, Draws& draws) {
  Numbers numbers;
  std::size_t form = 0;
  do {
    form = draws.below(kTemplates.size());
  } while (!draw_numbers(kTemplates[form], numbers, draws) ||
           is_held(world.seed, form, numbers) != (split == WorldSplit::kTest));
  const Template& chosen = kTemplates[form];
  const std::size_t one = draws.below(world.people.size());
  const std::size_t other = (one + 1 + draws.below(world.people.size() - 1)) % world.people.size();
  std::map<char, std::string> names = {{'N', std::string(world.people[one].name)},
                                       {'M', std::string(world.people[other].name)},
                                       {'o', std::string(kObjects[draws.below(kObjects.size())])},
                                       {'X', call(chosen.first, 'x', numbers)}};
  if (chosen.second.op != 0) names['Y'] = call(chosen.second, 'y', numbers);
  for (const auto& [name, number] : numbers) names[name] = std::to_string(number);
  std::string answer = written(chosen.first.sentence, names) + "\n";
  if (chosen.second.op != 0) answer += written(chosen.second.sentence, names) + "\n";
  answer += fmt::format("#### {}", numbers.at(chosen.second.op == 0 ? 'x' : 'y'));
  return {written(chosen.question, names), std::move(answer), written(chosen.statement, names)};
}

ItemSource gsm8k_source(const World& world, WorldSplit split) {
  const std::string purpose = purpose_of("mw/gsm8k", split);
  return [world, split, purpose](std::size_t index) -> WorldItem {
    Draws draws(world.seed, purpose, index);
    WordProblem problem = word_problem(world, split, draws);
    return Gsm8kItem{"", std::move(problem.question), std::move(problem.answer)};
  };
}

}  // namespace nb::microworld
