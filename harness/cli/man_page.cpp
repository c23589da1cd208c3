#include "harness/cli/man_page.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>

namespace nb::cli {
namespace {

struct ManRow {
  std::string_view name;
  std::string_view doc;
};
constexpr ManRow kExitCodes[] = {
    {"0", "done; PASS, IMPROVED, or cannot tell (said on the first line)"},
    {"1", "REGRESSED or SUSPICIOUS; a FAIL of audit or doctor"},
    {"2", "cannot tell, with --strict"},
    {"3", "INCOMPARABLE"},
    {"4", "a node, a verdict or the host failed"},
    {"64", "bad usage or bad input"},
    {"130", "interrupted; the same command resumes"}};
constexpr ManRow kEnvironment[] = {
    {"NPUBENCH_RESULTS", "folder of runs, where --results-dir is not given; else results/runs"},
    {"NPUBENCH_DATA",
     "folder of public data, where --data-dir is not given; else "
     "~/.cache/npubench/data"},
    {"NPUBENCH_SIMD", "instruction set of the kernels; else the best of this host"},
    {"NPUBENCH_MIRROR", "address that data get downloads from"},
    {"NPUBENCH_SANDBOX", "what must keep apart the programs that models write"},
    {"NPUBENCH_PYTHON", "interpreter for these programs"},
    {"COLUMNS",
     "columns of tables; else those of the terminal; else tables are as wide as they are"},
    {"NO_COLOR", "where set and not empty: no colour, but with --color always"}};

// Text of roff: no control line by chance, no hyphen where a minus is meant, other characters than
// ASCII by their numbers.
std::string roff(std::string_view text) {
  std::string result;
  bool at_begin = true;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (at_begin && (c == '.' || c == '\'')) result += "\\&";
    at_begin = c == '\n';
    if (c < 0x80) {
      result += c == '\\' ? "\\e" : c == '-' ? "\\-" : std::string(1, text[i]);
      continue;
    }
    const std::size_t more = c < 0xe0 ? 1 : c < 0xf0 ? 2 : 3;  // bytes of UTF-8 behind the first
    std::uint32_t code_point = c & (0x3fU >> more);
    for (std::size_t j = 0; j < more && i + 1 < text.size(); ++j)
      code_point = code_point << 6 | (static_cast<unsigned char>(text[++i]) & 0x3fU);
    result += fmt::format("\\[u{:04X}]", code_point);
  }
  return result;
}

std::string term(const std::string& head, std::string_view doc) {
  return fmt::format(".TP\n{}\n{}\n", head, roff(doc));
}

std::string option_text(const OptionInfo& option) {
  std::string head = fmt::format("\\fB{}\\fR", roff(option.name));
  if (option.is_positional) head = fmt::format("\\fI{}\\fR", roff(option.name));
  if (!option.choices.empty())
    head += roff(fmt::format(" {}", fmt::join(option.choices, "|")));
  else if (!option.value.empty() && !option.is_positional)
    head += fmt::format(" \\fI{}\\fR", roff(option.value));
  return term(head, option.doc + (option.is_required ? " (required)" : ""));
}

// Without those that every verb has, and those of its verb, which stand there.
std::string options_text(const CommandInfo& command, const CommandInfo* verb = nullptr) {
  std::string text;
  for (const OptionInfo& option : command.options) {
    const auto is_it = [&](const OptionInfo& other) { return other.name == option.name; };
    if (option.name == "--help" || option.name == "--color") continue;
    if (verb == nullptr || std::ranges::none_of(verb->options, is_it)) text += option_text(option);
  }
  return text;
}

// Line breaks of a footer are meant.
std::string lines_text(const std::string& lines) {
  return lines.empty() ? "" : fmt::format(".PP\n.nf\n{}\n.fi\n", roff(lines));
}

std::string verb_text(const CommandInfo& verb) {
  std::string text = fmt::format(".SS {}\n{}\n", roff(verb.name), roff(verb.doc));
  text += options_text(verb);
  for (const CommandInfo& command : verb.commands) {
    text += term(fmt::format("\\fB{} {}\\fR", roff(verb.name), roff(command.name)), command.doc);
    if (const std::string options = options_text(command, &verb); !options.empty())
      text += ".RS\n" + options + ".RE\n";
  }
  return text + lines_text(verb.footer);
}

}  // namespace

std::string man_page(std::span<const CommandInfo> verbs) {
  std::string text =
      ".TH NPUBENCH 1\n"
      ".SH NAME\n"
      "npubench \\- compare language models on NPUs and GPUs, predict their steps, train small "
      "ones\n"
      ".SH SYNOPSIS\n"
      ".B npubench\n.I verb\n.RI [ options ]\n.br\n"
      ".B npubench help\n.RI [ verb ]\n.br\n"
      ".B npubench \\-\\-version\n.br\n"
      ".B npubench \\-\\-completion bash|zsh|fish\n.br\n"
      ".B npubench \\-\\-man\n"
      ".SH OPTIONS\n"
      "Of every verb:\n";
  text += term("\\fB\\-h\\fR, \\fB\\-\\-help\\fR", "what the verb does, with an example first");
  text += term("\\fB\\-\\-color\\fR auto|always|never",
               "colour: auto, which is on a terminal without NO_COLOR; always; never");
  text += ".SH VERBS\n";
  for (const CommandInfo& verb : verbs) text += verb_text(verb);
  text += ".SH EXIT STATUS\n";
  for (const ManRow& row : kExitCodes) text += term(fmt::format("\\fB{}\\fR", row.name), row.doc);
  text += ".SH ENVIRONMENT\n";
  for (const ManRow& row : kEnvironment)
    text += term(fmt::format("\\fB{}\\fR", roff(row.name)), row.doc);
  return text;
}

}  // namespace nb::cli
