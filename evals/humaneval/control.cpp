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
// run time; to new types without a word of class; to names outside of the function.
constexpr std::array kWaysOut = std::to_array<std::string_view>({"Formatter",
                                                                 "ForwardRef",
                                                                 "abc",
                                                                 "ag_frame",
                                                                 "asyncio",
                                                                 "atexit",
                                                                 "attrgetter",
                                                                 "breakpoint",
                                                                 "builtins",
                                                                 "case",
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
                                                                 "global",
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

// Of "=", alone or after an operator, and not of a comparison.
bool assigns_at(std::string_view line, std::size_t at) {
  if (line[at] != '=' || (at + 1 < line.size() && line[at + 1] == '=')) return false;
  if (at == 0) return true;
  const char before = line[at - 1];
  if (before == '<' || before == '>') return at > 1 && line[at - 2] == before;
  return before != '=' && before != '!';
}

bool has_attribute(std::string_view text) {
  for (std::size_t at = text.find('.'); at != text.npos; at = text.find('.', at + 1)) {
    const std::size_t next = text.find_first_not_of(" \t", at + 1);
    if (next == text.npos) return true;  // on the next line
    if (is_word_character(text[next]) && (text[next] < '0' || text[next] > '9')) return true;
  }
  return false;
}

// A bracket that closes what this text has not opened: a target that began on another line.
bool closes_more(std::string_view text) {
  std::string open;
  for (const char c : text) {
    if (c == '(' || c == '[' || c == '{') open += c == '(' ? ')' : c == '[' ? ']' : '}';
    if (c != ')' && c != ']' && c != '}') continue;
    if (open.empty() || open.back() != c) return true;
    open.pop_back();
  }
  return false;
}

// Whether a line may bind an attribute, as of a module: of another object than the line's own.
bool may_bind_attribute(std::string_view line) {
  for (std::size_t at = line.size(); at-- > 0;) {
    if (!assigns_at(line, at)) continue;
    const std::string_view target = line.substr(0, at);
    if (has_attribute(target) || closes_more(target)) return true;
    break;  // the last one: what stands before it has the other targets
  }
  for (std::string_view rest = line; !rest.empty();) {
    const std::string_view word = next_word(rest);
    if (word == "as" || word == "del") {
      if (has_attribute(rest) || rest.find('(') != rest.npos) return true;
    } else if (word == "for") {
      const std::size_t in = rest.find(" in ");
      if (in == rest.npos || has_attribute(rest.substr(0, in))) return true;
    }
  }
  return false;
}

bool has_word(std::string_view text, std::string_view wanted) {
  while (!text.empty())
    if (next_word(text) == wanted) return true;
  return false;
}

// Whether a line outside of any function may bind a name that the test reads: it may import, and
// define functions of other names.
bool may_bind_a_tests_name(std::string_view line, std::string_view test,
                           std::string_view entry_point) {
  if (line.empty() || line[0] == ' ' || line[0] == '\t' || line[0] == '#') return false;
  std::string_view rest = line;
  const std::string_view first = next_word(rest);
  if (first.data() != line.data()) return true;
  if (first == "def") {
    const std::string_view name = next_word(rest);
    return name != entry_point && has_word(test, name);
  }
  if (first != "import" && first != "from") return true;
  while (!rest.empty())
    if (const std::string_view word = next_word(rest); !word.empty() && has_word(test, word))
      return true;
  return false;
}

}  // namespace

bool may_forge(std::string_view code, std::string_view test, std::string_view entry_point) {
  // Escapes, other alphabets (Python folds them into Latin letters) and lines that hold more than
  // one statement would hide words.
  const auto is_plain = [](char c) { return (c >= ' ' && c <= '~') || c == '\n' || c == '\t'; };
  if (!std::ranges::all_of(code, is_plain)) return true;
  for (const std::string_view sign : {"__", "._", ";", ":="})
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
    const std::string_view line = rest.substr(0, end);
    if (!imports_harmless_only(line) || may_bind_attribute(line) ||
        may_bind_a_tests_name(line, test, entry_point))
      return true;
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
