#include "evals/humaneval/control.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <sstream>

#include "evals/humaneval/twist_text.hpp"
#include "harness/base/json_io.hpp"

namespace nb {

namespace {

constexpr int kMostAssertions = 4;
constexpr char kSeparator = '\x1e';

// Sorted, for binary search. Modules whose functions and classes hold nothing but what they
// compute.
constexpr std::array kHarmlessModules = std::to_array<std::string_view>(
    {"bisect", "cmath", "collections", "datetime", "decimal", "fractions", "functools", "heapq",
     "itertools", "math", "random", "re", "statistics", "string", "typing"});

// Sorted. Ways to frames, to the interpreter, to files; to attributes whose names are made up at
// run time; to new types without a word of class.
constexpr std::array kWaysOut = std::to_array<std::string_view>({"Formatter",
                                                                 "ForwardRef",
                                                                 "abc",
                                                                 "ag_frame",
                                                                 "asyncio",
                                                                 "atexit",
                                                                 "attrgetter",
                                                                 "breakpoint",
                                                                 "builtins",
                                                                 "class",
                                                                 "codecs",
                                                                 "compile",
                                                                 "copyreg",
                                                                 "cr_frame",
                                                                 "ctypes",
                                                                 "dataclass",
                                                                 "delattr",
                                                                 "enum",
                                                                 "eval",
                                                                 "exec",
                                                                 "exit",
                                                                 "f_back",
                                                                 "f_builtins",
                                                                 "f_globals",
                                                                 "f_locals",
                                                                 "gc",
                                                                 "get_type_hints",
                                                                 "getattr",
                                                                 "gi_code",
                                                                 "gi_frame",
                                                                 "globals",
                                                                 "importlib",
                                                                 "inspect",
                                                                 "io",
                                                                 "locals",
                                                                 "memoryview",
                                                                 "methodcaller",
                                                                 "open",
                                                                 "operator",
                                                                 "os",
                                                                 "posix",
                                                                 "quit",
                                                                 "resource",
                                                                 "setattr",
                                                                 "signal",
                                                                 "singledispatch",
                                                                 "singledispatchmethod",
                                                                 "subprocess",
                                                                 "super",
                                                                 "sys",
                                                                 "tb_frame",
                                                                 "threading",
                                                                 "traceback",
                                                                 "type",
                                                                 "types",
                                                                 "vars",
                                                                 "weakref"});
static_assert(std::ranges::is_sorted(kHarmlessModules) && std::ranges::is_sorted(kWaysOut));

bool is_in(std::string_view word, const auto& list) {
  return std::binary_search(list.begin(), list.end(), word);
}

bool is_word_character(char c) {
  return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

std::string_view next_word(std::string_view& text) {
  const auto begin = std::ranges::find_if(text, is_word_character);
  const auto end = std::find_if_not(begin, text.end(), is_word_character);
  const std::string_view word(begin, end);
  text.remove_prefix(static_cast<std::size_t>(end - text.begin()));
  return word;
}

// "import a, b as c" and "from a.b import c, d": the modules' first names.
bool imports_harmless_only(std::string_view line) {
  line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  std::string_view rest = line;
  const std::string_view first = next_word(rest);
  if (first == "from") return is_in(next_word(rest), kHarmlessModules);
  if (first != "import") return true;
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    std::string_view one = rest.substr(0, comma);
    rest.remove_prefix(comma == rest.npos ? rest.size() : comma + 1);
    if (const std::string_view module = next_word(one); !is_in(module, kHarmlessModules))
      return false;
  }
  return true;
}

}  // namespace

bool may_forge(std::string_view code) {
  // Escapes, other alphabets (Python folds them into Latin letters) and lines that hold more than
  // one statement would hide words.
  const auto is_plain = [](char c) { return (c >= ' ' && c <= '~') || c == '\n' || c == '\t'; };
  if (!std::ranges::all_of(code, is_plain)) return true;
  for (const std::string_view sign : {"__", "._", ";"})
    if (code.find(sign) != code.npos) return true;
  for (std::size_t at = code.find('\\'); at != code.npos; at = code.find('\\', at + 1))
    if (at + 1 < code.size() && std::string_view("xuUN01234567\n").find(code[at + 1]) != code.npos)
      return true;
  for (std::string_view rest = code; !rest.empty();) {
    const std::string_view word = next_word(rest);
    if (is_in(word, kWaysOut)) return true;
    // "import" in the middle of a line, after a colon.
    if (word == "import" && word.data() != code.data()) {
      const std::size_t at = static_cast<std::size_t>(word.data() - code.data());
      const std::size_t begin = code.rfind('\n', at) + 1;  // npos + 1 is 0
      const std::size_t colon = code.substr(begin, at - begin).find(':');
      if (colon != code.npos) return true;
    }
  }
  for (std::string_view rest = code; !rest.empty();) {
    const std::size_t end = rest.find('\n');
    if (!imports_harmless_only(rest.substr(0, end))) return true;
    rest.remove_prefix(end == rest.npos ? rest.size() : end + 1);
  }
  return false;
}

Result<std::vector<std::string>> twisted_tests(const sandbox::Ability& ability,
                                               std::string_view test) {
  // JSON's strings are Python's, too.
  NB_TRY(const std::string literal, dump_json(Json(std::string(test)), -1));
  const std::string program =
      fmt::format("{}twist({}, {})\n", kHumanEvalTwistText, literal, kMostAssertions);
  NB_TRY(const sandbox::ProgramOutcome outcome,
         sandbox::run_python(ability, program, {.output_bytes = std::size_t{1} << 20}));
  if (outcome.outcome != sandbox::Outcome::kPassed)
    return run_error(fmt::format("cannot make a control test: {}", outcome.reason));
  std::vector<std::string> tests;
  std::stringstream stream(outcome.out);
  for (std::string one; std::getline(stream, one, kSeparator);) tests.push_back(std::move(one));
  return tests;
}

}  // namespace nb
