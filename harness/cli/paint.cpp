#include "harness/cli/paint.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "harness/base/paint.hpp"

namespace nb::cli {
namespace {

constexpr std::string_view kGood = "\x1b[32m", kBad = "\x1b[31m", kUnsure = "\x1b[33m",
                           kBold = "\x1b[1m", kEnd = "\x1b[0m";

struct Word {
  std::string_view word;
  std::string_view colour;
};
// What stands alone in a cell, or opens a line.
constexpr Word kWords[] = {{"PASS", kGood},
                           {"IMPROVED", kGood},
                           {"OK", kGood},
                           {"better", kGood},
                           {"holds", kGood},
                           {"REGRESSED", kBad},
                           {"SUSPICIOUS", kBad},
                           {"ERROR", kBad},
                           {"FAIL", kBad},
                           {"FAILS", kBad},
                           {"failed", kBad},
                           {"worse", kBad},
                           {"impossible", kBad},
                           {"INCOMPARABLE", kUnsure},
                           {"INCONCLUSIVE", kUnsure},
                           {"WARN", kUnsure},
                           {"not established", kUnsure}};
constexpr Word kHeadings[] = {{"Example:", kBold},     {"Usage:", kBold},
                              {"Verbs:", kBold},       {"Options:", kBold},
                              {"Positionals:", kBold}, {"Subcommands:", kBold}};

std::string in_colour(std::string_view text, std::string_view colour) {
  return fmt::format("{}{}{}", colour, text, kEnd);
}

std::string_view colour_of(std::string_view cell) {
  for (const Word& one : kWords)
    if (cell == one.word) return one.colour;
  return {};
}

// The words that open a line: a verdict up to a sign or a blank, a heading, a warning's "!".
std::size_t painted_beginning(std::string_view line, std::string& out) {
  if (line.starts_with("! ")) return out += in_colour("!", kUnsure), 1;
  for (const Word& heading : kHeadings)
    if (line.starts_with(heading.word))
      return out += in_colour(heading.word, heading.colour), heading.word.size();
  const std::string_view word = line.substr(0, line.find_first_of(" :("));
  const bool is_verdict = !word.empty() && word[0] >= 'A' && word[0] <= 'Z';
  if (const auto colour = colour_of(word); is_verdict && !colour.empty())
    return out += in_colour(word, colour), word.size();
  return 0;
}

std::string painted_line(std::string_view line) {
  std::string out;
  for (std::size_t at = painted_beginning(line, out); at < line.size();) {
    // Two blanks or more part the cells of a table.
    const std::size_t end = std::min(line.find("  ", at), line.size());
    const std::string_view cell = line.substr(at, end - at);
    const auto colour = at == 0 ? std::string_view() : colour_of(cell);
    out += colour.empty() ? std::string(cell) : in_colour(cell, colour);
    const std::size_t next = std::min(line.find_first_not_of(' ', end), line.size());
    out += line.substr(end, next - end);
    at = next;
  }
  return out;
}

bool has_terminal(int stream) {
  const char* no_colour = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  return (no_colour == nullptr || *no_colour == '\0') && terminal != nullptr &&
         std::string_view(terminal) != "dumb" && ::isatty(stream) == 1;
}

}  // namespace

std::string painted_stdout(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    out += painted_line(text.substr(at, end - at));
    if (end < text.size()) out += '\n';
    at = end + 1;
  }
  return out;
}

std::string painted_stderr(std::string_view text) {
  constexpr std::string_view kName = "npubench:";
  if (!text.starts_with(kName)) return std::string(text);
  return in_colour(kName, kBad) + std::string(text.substr(kName.size()));
}

Result<void> use_colour(std::string_view mode) {
  if (mode != "auto" && mode != "always" && mode != "never")
    return bad_input(fmt::format("--color {}: there are auto, always, never", mode));
  const auto wanted = [&](int stream) {
    return mode == "always" || (mode == "auto" && has_terminal(stream));
  };
  set_paint(wanted(STDOUT_FILENO) ? painted_stdout : nullptr,
            wanted(STDERR_FILENO) ? painted_stderr : nullptr);
  return {};
}

}  // namespace nb::cli
