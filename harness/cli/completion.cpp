#include "harness/cli/completion.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "harness/base/fields.hpp"

namespace nb::cli {
namespace {

// Options whose values are the first column of a list.
struct ListedValue {
  std::string_view option;
  std::string_view list;
};
constexpr ListedValue kListed[] = {{"--device", "devices"},
                                   {"--beside", "devices"},
                                   {"--stack", "stacks"},
                                   {"--task", "tasks"},
                                   {"--fault", "faults"}};

std::string_view list_of(const OptionInfo& option) {
  for (const ListedValue& listed : kListed)
    if (option.name == listed.option) return listed.list;
  return {};
}

// Rows of a table that goes to a program are whole, so the first column is the names.
std::string names_command(std::string_view list) {
  return fmt::format("npubench list {} 2>/dev/null | awk 'NR > 2 {{ print $1 }}'", list);
}

std::string first_sentence(const std::string& doc) {
  return doc.substr(0, std::min(doc.find_first_of(";(\n"), doc.find(". ")));
}

// A text within single quotes of a POSIX shell; of fish, which knows \' instead.
std::string in_quotes(std::string_view text, bool is_fish = false) {
  std::string result = "'";
  for (const char c : text) {
    if (c == '\'')
      result += is_fish ? "\\'" : "'\\''";
    else if (c == '\\' && is_fish)
      result += "\\\\";
    else
      result += c;
  }
  return result + "'";
}

// Own options and those of its commands, each once.
std::vector<const OptionInfo*> all_options(const CommandInfo& verb) {
  std::vector<const OptionInfo*> options;
  std::set<std::string> seen;
  const auto add = [&](const CommandInfo& command) {
    for (const OptionInfo& option : command.options)
      if (!option.is_positional && seen.insert(option.name).second) options.push_back(&option);
  };
  add(verb);
  for (const CommandInfo& command : verb.commands) add(command);
  return options;
}

std::vector<std::string> names_of(std::span<const CommandInfo> commands) {
  std::vector<std::string> names;
  for (const CommandInfo& command : commands) names.push_back(command.name);
  return names;
}

std::vector<std::string> flags_of(const CommandInfo& verb) {
  std::vector<std::string> names;
  for (const OptionInfo* option : all_options(verb)) names.push_back(option->name);
  return names;
}

std::string bash_script(std::span<const CommandInfo> verbs) {
  std::string values, commands, flags;
  std::set<std::string> seen;
  for (const CommandInfo& verb : verbs) {
    flags += fmt::format("    {}) words={} ;;\n", verb.name,
                         in_quotes(fmt::format("{}", fmt::join(flags_of(verb), " "))));
    if (!verb.commands.empty())
      commands +=
          fmt::format("    {}) words={} ;;\n", verb.name,
                      in_quotes(fmt::format("{}", fmt::join(names_of(verb.commands), " "))));
    for (const OptionInfo* option : all_options(verb)) {
      if (!option->choices.empty())
        values += fmt::format("    {}) words={} ;;\n", in_quotes(verb.name + " " + option->name),
                              in_quotes(fmt::format("{}", fmt::join(option->choices, " "))));
      if (const auto list = list_of(*option); !list.empty() && seen.insert(option->name).second)
        values += fmt::format("    *{}) words=$({}) ;;\n", in_quotes(" " + option->name),
                              names_command(list));
    }
  }
  return fmt::format(R"(# Completion of npubench for bash: source <(npubench --completion bash)
_npubench() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} words=
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    words='{} help --help --version --completion --man --color'
    COMPREPLY=($(compgen -W "$words" -- "$word"))
    return
  fi
  case "${{COMP_WORDS[1]}} ${{COMP_WORDS[COMP_CWORD - 1]}}" in
{}  esac
  if [ -z "$words" ] && [[ $word == -* ]]; then
    case ${{COMP_WORDS[1]}} in
{}    esac
  elif [ -z "$words" ] && [ "$COMP_CWORD" -eq 2 ]; then
    case ${{COMP_WORDS[1]}} in
{}    esac
  fi
  [ -z "$words" ] || COMPREPLY=($(compgen -W "$words" -- "$word"))
}}
complete -o default -o bashdefault -F _npubench npubench
)",
                     fmt::join(names_of(verbs), " "), values, flags, commands);
}

// For `_arguments`: '--flag[doc]:VALUE:(a b)'.
std::string zsh_spec(const OptionInfo& option) {
  std::string doc;
  for (const char c : first_sentence(option.doc))
    doc += c == '[' || c == ']' || c == ':' ? std::string("\\") + c : std::string(1, c);
  std::string spec = fmt::format("*{}[{}]", option.name, doc);
  if (option.value.empty()) return spec;
  spec += ":" + option.value + ":";
  if (!option.choices.empty()) return spec + fmt::format("({})", fmt::join(option.choices, " "));
  if (const auto list = list_of(option); !list.empty())
    return spec + fmt::format("{{compadd -- $({})}}", names_command(list));
  return spec + "_files";
}

std::string zsh_script(std::span<const CommandInfo> verbs) {
  std::string summaries, cases;
  for (const CommandInfo& verb : verbs) {
    summaries += "    " + in_quotes(verb.name + ":" + first_sentence(verb.doc)) + "\n";
    cases += fmt::format("    {}) _arguments", verb.name);
    for (const OptionInfo* option : all_options(verb))
      cases += " \\\n      " + in_quotes(zsh_spec(*option));
    cases += verb.commands.empty() ? " \\\n      '*:file:_files' ;;\n"
                                   : fmt::format(" \\\n      '1:command:({})' '*:file:_files' ;;\n",
                                                 fmt::join(names_of(verb.commands), " "));
  }
  return fmt::format(R"(#compdef npubench
# Completion of npubench for zsh: npubench --completion zsh > FOLDER_OF_FPATH/_npubench
_npubench() {{
  local -a verbs
  verbs=(
{}  )
  if (( CURRENT == 2 )); then
    _describe verb verbs
    return
  fi
  local verb=$words[2]
  shift words
  (( CURRENT-- ))
  case $verb in
{}  esac
}}
if [ "$funcstack[1]" = _npubench ]; then _npubench "$@"; else compdef _npubench npubench; fi
)",
                     summaries, cases);
}

std::string fish_script(std::span<const CommandInfo> verbs) {
  std::string text =
      "# Completion of npubench for fish: npubench --completion fish | source\n"
      "complete -c npubench -n __fish_use_subcommand -xa help -d 'what the verbs do'\n"
      "complete -c npubench -n __fish_use_subcommand -l version -d 'version and instruction "
      "sets'\n";
  for (const CommandInfo& verb : verbs) {
    const auto doc_of = [](const std::string& doc) { return in_quotes(first_sentence(doc), true); };
    text += fmt::format("complete -c npubench -n __fish_use_subcommand -xa {} -d {}\n", verb.name,
                        doc_of(verb.doc));
    const std::string in_verb =
        fmt::format("complete -c npubench -n '__fish_seen_subcommand_from {}'", verb.name);
    for (const CommandInfo& command : verb.commands)
      text += fmt::format("{} -xa {} -d {}\n", in_verb, command.name, doc_of(command.doc));
    for (const OptionInfo* option : all_options(verb)) {
      text += fmt::format("{} -l {} -d {}", in_verb, option->name.substr(2), doc_of(option->doc));
      const auto list = list_of(*option);
      if (!option->choices.empty())
        text += fmt::format(" -xa {}",
                            in_quotes(fmt::format("{}", fmt::join(option->choices, " ")), true));
      else if (!list.empty())
        text += fmt::format(" -xa {}", in_quotes("(" + names_command(list) + ")", true));
      else if (!option->value.empty())
        text += " -rF";
      text += "\n";
    }
  }
  return text;
}

}  // namespace

Result<std::string> completion_script(std::string_view shell, std::span<const CommandInfo> verbs) {
  if (shell == "bash") return bash_script(verbs);
  if (shell == "zsh") return zsh_script(verbs);
  if (shell == "fish") return fish_script(verbs);
  const std::vector<std::string> known{"bash", "zsh", "fish"};
  return bad_input(fmt::format("--completion: no shell \"{}\"{}; there are {}", shell,
                               did_you_mean(shell, known), fmt::join(known, ", ")));
}

}  // namespace nb::cli
