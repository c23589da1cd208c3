#include "model/data/microworld_chat_programs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <numeric>
#include <utility>

#include "model/data/microworld_chat_parts.hpp"

namespace nb::microworld {
namespace {

// What the programs are tried on.
struct Arguments {
  int x = 0, y = 0;
  std::vector<int> items;
  std::string text;
};

// A quantity that a program starts from, with its value on arguments.
struct Base {
  std::string name;        // part of the function's name; empty for x itself
  std::string parameters;  // "x", "x, y", "items", "text"
  std::string words;       // "the sum of items"
  std::string expression;  // "sum(items)"
  std::function<int(const Arguments&)> value;
};

// The numbers in programs are 2 to these.
constexpr int kMaxAddend = 20, kMaxFactor = 10;
constexpr int kMaxInnerAddend = 9, kMaxInnerFactor = 9;  // of programs with two numbers
constexpr int kMaxSmallAddend = 9;                       // behind a number or letter of the base
constexpr int kItemPlaces = 5;
constexpr std::string_view kCounted = "abdeilnorst";

std::vector<Arguments> arguments() {
  return {{0, 7, {3, 1, 2, 5, 4}, "banana"},
          {5, 2, {7, 0, 2, 9, 6}, "little rabbit"},
          {12, 30, {10, 20, 30, 40, 51}, "stone and sand"},
          {25, 11, {8, 8, 1, 6, 3, 12}, "door"}};
}

std::string list(const std::vector<int>& items) {
  return fmt::format("[{}]", fmt::join(items, ", "));
}

std::string literal(const std::string& parameters, const Arguments& a) {
  if (parameters == "x") return std::to_string(a.x);
  if (parameters == "x, y") return fmt::format("{}, {}", a.x, a.y);
  if (parameters == "items") return list(a.items);
  return fmt::format("\"{}\"", a.text);
}

// `value` is the Python text of the result on given arguments.
Program program(std::string name, std::string parameters, std::string docstring,
                std::string expression, const std::function<std::string(const Arguments&)>& value) {
  Program result{
      std::move(name), std::move(parameters), std::move(docstring), std::move(expression), {}};
  for (const Arguments& a : arguments())
    result.assertions.push_back(
        fmt::format("candidate({}) == {}", literal(result.parameters, a), value(a)));
  return result;
}

enum class Op { kAdd, kSubtract, kMultiply };
struct Then {
  Op op;
  int number;
};

int applied(const Then& then, int value) {
  switch (then.op) {
    case Op::kAdd:
      return value + then.number;
    case Op::kSubtract:
      return value - then.number;
    case Op::kMultiply:
      return value * then.number;
  }
  return value;
}
std::string applied(const Then& then, const std::string& expression) {
  const char* sign = then.op == Op::kAdd ? "+" : then.op == Op::kSubtract ? "-" : "*";
  return fmt::format("{} {} {}", expression, sign, then.number);
}
std::string name_of(const Then& then) {
  const char* verb = then.op == Op::kAdd ? "add" : then.op == Op::kSubtract ? "subtract" : "times";
  return fmt::format("{}_{}", verb, then.number);
}
std::string said_of(const Then& then, const std::string& words) {
  switch (then.op) {
    case Op::kAdd:
      return fmt::format("add {} to {}", then.number, words);
    case Op::kSubtract:
      return fmt::format("subtract {} from {}", then.number, words);
    case Op::kMultiply:
      return fmt::format("multiply {} by {}", words, then.number);
  }
  return "";
}
std::string said_next(const Then& then) {
  const char* verb = then.op == Op::kAdd        ? "add"
                     : then.op == Op::kSubtract ? "subtract"
                                                : "multiply by";
  return fmt::format(", then {} {}", verb, then.number);
}

std::string joined(const std::string& base, const std::string& then) {
  return base.empty() ? then : base + "_" + then;
}

Program plain(const Base& base) {
  return program(base.name, base.parameters, fmt::format("Return {}.", base.words), base.expression,
                 [&](const Arguments& a) { return std::to_string(base.value(a)); });
}
Program with(const Base& base, const Then& then) {
  return program(joined(base.name, name_of(then)), base.parameters,
                 raised(said_of(then, base.words)) + ".", applied(then, base.expression),
                 [&](const Arguments& a) { return std::to_string(applied(then, base.value(a))); });
}
Program with(const Base& base, const Then& first, const Then& second) {
  std::string inner = applied(first, base.expression);
  if (second.op == Op::kMultiply) inner = "(" + inner + ")";
  return program(joined(base.name, name_of(first) + "_" + name_of(second)), base.parameters,
                 raised(said_of(first, base.words)) + said_next(second) + ".",
                 applied(second, inner), [&](const Arguments& a) {
                   return std::to_string(applied(second, applied(first, base.value(a))));
                 });
}

Base base_x() {
  return {"", "x", "x", "x", [](const Arguments& a) { return a.x; }};
}

std::vector<Base> pair_bases() {
  return {{"larger", "x, y", "the larger of x and y", "max(x, y)",
           [](const Arguments& a) { return std::max(a.x, a.y); }},
          {"smaller", "x, y", "the smaller of x and y", "min(x, y)",
           [](const Arguments& a) { return std::min(a.x, a.y); }}};
}
std::vector<Base> list_bases() {
  return {{"total", "items", "the sum of items", "sum(items)",
           [](const Arguments& a) { return std::accumulate(a.items.begin(), a.items.end(), 0); }},
          {"length", "items", "the length of items", "len(items)",
           [](const Arguments& a) { return static_cast<int>(a.items.size()); }},
          {"first", "items", "the first item", "items[0]",
           [](const Arguments& a) { return a.items.front(); }},
          {"last", "items", "the last item", "items[-1]",
           [](const Arguments& a) { return a.items.back(); }}};
}
Base item_at(int place) {
  return {fmt::format("item_{}", place), "items", fmt::format("the item at index {}", place),
          fmt::format("items[{}]", place),
          [place](const Arguments& a) { return a.items[static_cast<std::size_t>(place)]; }};
}
Base count_of(char letter) {
  return {fmt::format("count_{}", letter), "text", fmt::format("the number of {} in text", letter),
          fmt::format("text.count(\"{}\")", letter), [letter](const Arguments& a) {
            return static_cast<int>(std::count(a.text.begin(), a.text.end(), letter));
          }};
}

using Programs = std::vector<Program>;

void add_all(Programs& programs, const Base& base, Op op, int smallest, int largest) {
  for (int n = smallest; n <= largest; ++n) programs.push_back(with(base, {op, n}));
}

Programs two_steps(Op first, Op second) {
  Programs programs;
  const auto largest = [](Op op) {
    return op == Op::kMultiply ? kMaxInnerFactor : kMaxInnerAddend;
  };
  for (int a = 2; a <= largest(first); ++a)
    for (int b = 2; b <= largest(second); ++b)
      programs.push_back(with(base_x(), {first, a}, {second, b}));
  return programs;
}

Programs on(const std::vector<Base>& bases, Op op) {
  Programs programs;
  for (const Base& base : bases)
    add_all(programs, base, op, 2, op == Op::kMultiply ? kMaxFactor : kMaxAddend);
  return programs;
}

Programs limits() {
  Programs programs;
  for (int n = 2; n <= kMaxAddend; ++n) {
    programs.push_back(
        program(fmt::format("at_least_{}", n), "x",
                fmt::format("Return the larger of x and {}.", n), fmt::format("max(x, {})", n),
                [n](const Arguments& a) { return std::to_string(std::max(a.x, n)); }));
    programs.push_back(
        program(fmt::format("at_most_{}", n), "x",
                fmt::format("Return the smaller of x and {}.", n), fmt::format("min(x, {})", n),
                [n](const Arguments& a) { return std::to_string(std::min(a.x, n)); }));
  }
  return programs;
}

const char* truth(bool value) { return value ? "True" : "False"; }

Programs comparisons() {
  Programs programs;
  for (int n = 2; n <= kMaxAddend; ++n)
    programs.push_back(program(
        fmt::format("is_above_{}", n), "x", fmt::format("Return whether x is larger than {}.", n),
        fmt::format("x > {}", n), [n](const Arguments& a) { return truth(a.x > n); }));
  return programs;
}

std::string quoted(const std::string& text) { return "\"" + text + "\""; }
std::string repeated(const std::string& text, int times) {
  std::string result;
  for (int i = 0; i < times; ++i) result += text;
  return result;
}
std::string reversed(std::string text) {
  std::reverse(text.begin(), text.end());
  return text;
}

Programs repeats() {
  Programs programs;
  for (int n = 2; n <= kMaxFactor; ++n) {
    programs.push_back(program(fmt::format("repeat_{}", n), "text",
                               fmt::format("Repeat text {} times.", n), fmt::format("text * {}", n),
                               [n](const Arguments& a) { return quoted(repeated(a.text, n)); }));
    programs.push_back(program(
        fmt::format("reverse_repeat_{}", n), "text",
        fmt::format("Reverse text, then repeat it {} times.", n), fmt::format("text[::-1] * {}", n),
        [n](const Arguments& a) { return quoted(repeated(reversed(a.text), n)); }));
    programs.push_back(program(
        fmt::format("first_letter_{}", n), "text",
        fmt::format("Repeat the first letter of text {} times.", n), fmt::format("text[0] * {}", n),
        [n](const Arguments& a) { return quoted(repeated(a.text.substr(0, 1), n)); }));
  }
  return programs;
}

Programs without_constants() {
  Programs programs;
  for (const Base& base : pair_bases()) programs.push_back(plain(base));
  for (const Base& base : list_bases()) programs.push_back(plain(base));
  programs.push_back(program("is_even", "x", "Return whether x is even.", "x % 2 == 0",
                             [](const Arguments& a) { return truth(a.x % 2 == 0); }));
  programs.push_back(program("is_odd", "x", "Return whether x is odd.", "x % 2 == 1",
                             [](const Arguments& a) { return truth(a.x % 2 == 1); }));
  programs.push_back(program("reverse", "text", "Reverse text.", "text[::-1]",
                             [](const Arguments& a) { return quoted(reversed(a.text)); }));
  programs.push_back(
      program("backwards", "items", "Reverse items.", "items[::-1]", [](const Arguments& a) {
        return list({a.items.rbegin(), a.items.rend()});
      }));
  return programs;
}

Programs places() {
  Programs programs;
  for (int place = 0; place < kItemPlaces; ++place) {
    programs.push_back(plain(item_at(place)));
    add_all(programs, item_at(place), Op::kAdd, 2, kMaxSmallAddend);
  }
  return programs;
}

Programs counts() {
  Programs programs;
  for (const char letter : kCounted) {
    programs.push_back(plain(count_of(letter)));
    add_all(programs, count_of(letter), Op::kAdd, 2, kMaxSmallAddend);
  }
  return programs;
}

Programs on_x(Op op) { return on({base_x()}, op); }

ProgramItem program_item(const Program& program, WorldSplit split, std::size_t index) {
  std::string test = "def check(candidate):\n";
  for (const std::string& assertion : program.assertions)
    test += fmt::format("    assert {}\n", assertion);
  return {fmt::format("mw/humaneval/{}/{}", split == WorldSplit::kTrain ? "train" : "test", index),
          header(program), body(program), std::move(test), program.name};
}

}  // namespace

std::vector<ProgramFamily> program_families(std::uint64_t seed) {
  std::vector<ProgramFamily> families;
  families.push_back({without_constants(), {}});
  families.back().held.resize(families.back().programs.size());
  std::vector<Programs> all = {on_x(Op::kAdd),
                               on_x(Op::kSubtract),
                               on_x(Op::kMultiply),
                               two_steps(Op::kAdd, Op::kMultiply),
                               two_steps(Op::kMultiply, Op::kAdd),
                               two_steps(Op::kMultiply, Op::kSubtract)};
  for (const std::vector<Base>& bases : {pair_bases(), list_bases()})
    for (const Op op : {Op::kAdd, Op::kMultiply}) all.push_back(on(bases, op));
  for (Programs (*make)() : {limits, comparisons, repeats, places, counts}) all.push_back(make());
  for (Programs& programs : all) {
    const std::size_t size = programs.size();
    families.push_back(
        {std::move(programs),
         held_third(size, Draws(seed, "microworld/chat/held/programs", families.size()))});
  }
  return families;
}

std::string header(const Program& program) {
  return fmt::format("def {}({}):\n    \"\"\"{}\"\"\"\n", program.name, program.parameters,
                     program.docstring);
}

std::string body(const Program& program) {
  return fmt::format("    return {}\n", program.expression);
}

ItemSource humaneval_source(const World& world, WorldSplit split) {
  std::vector<std::size_t> sizes;
  std::vector<Programs> kept;
  for (ProgramFamily& family : program_families(world.seed)) {
    kept.emplace_back();
    for (std::size_t i = 0; i < family.programs.size(); ++i)
      if (family.held[i] == (split == WorldSplit::kTest))
        kept.back().push_back(std::move(family.programs[i]));
    sizes.push_back(kept.back().size());
  }
  const std::string purpose = purpose_of("mw/humaneval", split);
  return [seed = world.seed, split, purpose, picks = Picks(world.seed, purpose, split, sizes),
          programs = std::make_shared<const std::vector<Programs>>(std::move(kept))](
             std::size_t index) -> WorldItem {
    Draws draws(seed, purpose, index);
    const auto [family, member] = picks.at(index, draws);
    return program_item((*programs)[family][member], split, index);
  };
}

}  // namespace nb::microworld
