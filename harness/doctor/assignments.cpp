#include "harness/doctor/assignments.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

#include "harness/base/ascii.hpp"

namespace nb::doctor {
namespace {

bool is_name_start(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_name_char(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

// Takes `word` and the blanks behind it off the front.
bool take(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  if (text.size() > word.size() && !is_blank(text[word.size()])) return false;
  text = trimmed(text.substr(word.size()));
  return true;
}

// An environment variable's name, in capitals: what a guide in prose has before "=" is none.
std::string take_name(std::string_view& text) {
  std::size_t end = 0;
  if (!text.empty() && is_name_start(text[0]))
    while (end < text.size() && is_name_char(text[end])) ++end;
  const std::string found(text.substr(0, end));
  text.remove_prefix(end);
  return found;
}

bool is_variable(const std::string& name) {
  return name.size() > 1 && std::none_of(name.begin(), name.end(), [](char c) {
           return std::islower(static_cast<unsigned char>(c)) != 0;
         });
}

struct Word {
  std::string text;
  bool is_computed = false;
};

// A word of a shell: quotes taken off, ended by a blank, ; & | or the end.
Word take_word(std::string_view& text) {
  Word word;
  char quote = 0;
  std::size_t at = 0;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (quote == 0 && (is_blank(c) || c == ';' || c == '&' || c == '|' || c == ')')) break;
    if (c == quote) {
      quote = 0;
    } else if (quote == 0 && (c == '\'' || c == '"')) {
      quote = c;
    } else if (c == '\\' && quote != '\'' && at + 1 < text.size()) {
      word.text += text[++at];
    } else {
      if (quote != '\'' && (c == '$' || c == '`')) word.is_computed = true;
      if (quote != '\'' && c == '$' && at + 1 < text.size() && text[at + 1] == '(') {
        const std::size_t close = std::min(text.find(')', at), text.size() - 1);
        word.text.append(text, at, close - at + 1);
        at = close;
        continue;
      }
      word.text += c;
    }
  }
  text.remove_prefix(at);
  return word;
}

std::string remark_of(std::string_view rest) {
  const std::size_t at = rest.find('#');
  return at == rest.npos ? "" : std::string(trimmed(rest.substr(at + 1)));
}

// "A=B C=D command", "export A=B C=D", "ENV A=B", "ENV A B", "set -x A B" of neither.
void read_shell(const Line& line, std::vector<Setting>& settings) {
  std::string_view rest = trimmed(line.text);
  take(rest, "-");  // an item of a list
  take(rest, "$");  // a prompt
  const bool is_docker = take(rest, "ENV");
  const bool is_exported = !is_docker && (take(rest, "export") || take(rest, "declare -x"));
  const std::size_t first = settings.size();
  std::string_view all = rest;
  for (;;) {
    std::string_view before = rest;
    const std::string name = take_name(rest);
    if (!is_variable(name)) break;
    Setting setting;
    setting.name = name;
    setting.line = line.number;
    if (is_docker && settings.size() == first && !rest.empty() && is_blank(rest[0])) {
      const std::string value(trimmed(rest));
      setting.value = value;
      setting.is_computed = value.find('$') != value.npos;
      settings.push_back(setting);
      return;
    }
    if (rest.empty() || rest[0] != '=') {
      rest = before;
      break;
    }
    rest.remove_prefix(1);
    const Word word = take_word(rest);
    setting.value = word.text;
    setting.is_computed = word.is_computed;
    settings.push_back(setting);
    while (!rest.empty() && is_blank(rest[0])) rest.remove_prefix(1);
    if (rest.starts_with("&&") || rest.starts_with(";")) {
      rest = trimmed(rest.substr(rest[0] == ';' ? 1 : 2));
      if (!take(rest, "export")) break;
    }
  }
  // "NAME = value" is Python or prose; a bare NAME=value that nothing follows is a shell's
  // variable, which programs see only if it is exported somewhere: guides leave the export out, so
  // it counts.
  (void)is_exported;
  (void)all;
  const std::string remark = remark_of(rest);
  for (std::size_t i = first; i < settings.size(); ++i) settings[i].remark = remark;
}

std::optional<std::string> take_quoted(std::string_view& text) {
  text = trimmed(text);
  if (text.empty() || (text[0] != '"' && text[0] != '\'')) return std::nullopt;
  const std::size_t end = text.find(text[0], 1);
  if (end == text.npos) return std::nullopt;
  std::string found(text.substr(1, end - 1));
  text.remove_prefix(end + 1);
  return found;
}

// os.environ["A"] = "B", os.environ.setdefault("A", "B"), os.putenv("A", "B").
void read_python(const Line& line, std::vector<Setting>& settings) {
  std::string_view text = line.text;
  constexpr std::array<std::string_view, 3> kStarts = {"environ[", "environ.setdefault(",
                                                       "putenv("};
  for (const std::string_view start : kStarts) {
    for (std::size_t at = text.find(start); at != text.npos; at = text.find(start, at + 1)) {
      std::string_view rest = text.substr(at + start.size());
      const auto name = take_quoted(rest);
      if (!name || !is_variable(*name)) continue;
      Setting setting;
      setting.name = *name;
      setting.line = line.number;
      if (start == kStarts[0]) {
        rest = trimmed(rest);
        if (!rest.starts_with("]")) continue;
        rest = trimmed(rest.substr(1));
        if (!rest.starts_with("=") || rest.starts_with("==")) continue;
        rest.remove_prefix(1);
        setting.overwrites = true;
      } else {
        rest = trimmed(rest);
        if (!rest.starts_with(",")) continue;
        rest.remove_prefix(1);
      }
      const auto value = take_quoted(rest);
      setting.value = value.value_or(std::string(trimmed(rest)));
      setting.is_computed = !value;
      setting.remark = remark_of(rest);
      settings.push_back(std::move(setting));
    }
  }
}

// "- name: A" with "value: B" below, as Kubernetes writes a container's environment; "A: B".
void read_yaml(const std::vector<Line>& lines, std::size_t index, std::vector<Setting>& settings) {
  std::string_view rest = trimmed(lines[index].text);
  take(rest, "-");
  const bool is_named = rest.starts_with("name:");
  if (is_named) rest = trimmed(rest.substr(5));
  if (!rest.empty() && (rest[0] == '"' || rest[0] == '\'')) rest.remove_prefix(1);
  const std::string name = take_name(rest);
  if (!is_variable(name) || name.find('_') == name.npos) return;
  if (!rest.empty() && (rest[0] == '"' || rest[0] == '\'')) rest.remove_prefix(1);
  if (is_named) {
    if (index + 1 >= lines.size()) return;
    rest = trimmed(lines[index + 1].text);
    if (!rest.starts_with("value:")) return;
    rest.remove_prefix(6);
  } else {
    if (!rest.starts_with(": ")) return;
    rest.remove_prefix(2);
  }
  rest = trimmed(rest);
  Setting setting;
  setting.name = name;
  setting.line = lines[index].number;
  Word word = take_word(rest);
  if (word.text.ends_with(",")) word.text.pop_back();
  setting.value = word.text;
  setting.is_computed = word.is_computed;
  setting.remark = remark_of(rest);
  settings.push_back(std::move(setting));
}

std::vector<Line> lines_of(std::string_view text) {
  std::vector<Line> lines;
  int number = 0;
  bool is_continued = false;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    while (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    const bool goes_on = line.ends_with("\\") && !line.ends_with("\\\\");
    if (goes_on) line.remove_suffix(1);
    if (is_continued)
      lines.back().text += std::string(line);
    else
      lines.push_back({std::string(line), number});
    is_continued = goes_on;
  }
  return lines;
}

bool imports(std::string_view line, std::string_view module) {
  for (const std::string_view start : {"import ", "from "}) {
    if (!line.starts_with(start)) continue;
    const std::string_view rest = line.substr(start.size());
    if (rest.starts_with(module) &&
        (rest.size() == module.size() || !is_name_char(rest[module.size()])))
      return true;
  }
  return false;
}

}  // namespace

bool Script::mentions(std::string_view word) const { return text.find(word) != text.npos; }

Script read_script(std::string_view text) {
  Script script;
  script.text = text;
  script.lines = lines_of(text);
  bool has_torch = false, has_hub = false;
  for (std::size_t i = 0; i < script.lines.size(); ++i) {
    const Line& line = script.lines[i];
    const std::string_view start = trimmed(line.text);
    // Each fenced part of a guide is a program of its own.
    if (start.starts_with("```")) has_torch = has_hub = false;
    has_torch = has_torch || imports(start, "torch") || imports(start, "torch_npu");
    for (const std::string_view module : {"datasets", "transformers", "huggingface_hub"})
      has_hub = has_hub || imports(start, module);
    const std::size_t before = script.settings.size();
    read_python(line, script.settings);
    for (std::size_t k = before; k < script.settings.size(); ++k) {
      script.settings[k].after_torch = has_torch;
      script.settings[k].after_import = has_hub;
    }
    if (script.settings.size() == before) read_shell(line, script.settings);
    if (script.settings.size() == before) read_yaml(script.lines, i, script.settings);
  }
  return script;
}

std::vector<Setting> read_dump(std::string_view text) {
  std::vector<Setting> settings;
  for (const Line& line : lines_of(text)) {
    std::string_view rest = line.text;
    if (!take(rest, "declare -x")) take(rest, "export");
    Setting setting;
    setting.name = take_name(rest);
    setting.line = line.number;
    if (setting.name.empty() || !rest.starts_with("=")) continue;  // of a value of several lines
    rest.remove_prefix(1);
    const bool is_quoted =
        rest.size() >= 2 && (rest[0] == '"' || rest[0] == '\'') && rest.back() == rest[0];
    setting.value = is_quoted ? rest.substr(1, rest.size() - 2) : rest;
    settings.push_back(std::move(setting));
  }
  return settings;
}

}  // namespace nb::doctor
