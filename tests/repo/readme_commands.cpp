#include "tests/repo/readme_commands.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <sstream>

#include "tests/repo/source_tree.hpp"

namespace nb::test {

namespace {

constexpr std::array<std::string_view, 8> kTopFolders = {"harness", "model",  "evals", "suites",
                                                         "results", "report", "tests", ".ci"};
constexpr std::array<std::string_view, 5> kSourceEndings = {".hpp", ".cpp", ".py", ".sh", ".md"};

// Programs write there; a README may name what will be.
bool is_output(std::string_view path) { return path.starts_with("build/") || is_of_runs(path); }

bool is_path_like(std::string_view word) {
  return !word.empty() && word[0] != '/' && word[0] != '-' &&
         std::all_of(word.begin(), word.end(), [](char c) {
           return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' ||
                  c == '.' || c == '/';
         });
}

bool has_source_ending(std::string_view word) {
  return std::any_of(kSourceEndings.begin(), kSourceEndings.end(), [&](std::string_view ending) {
    return word.size() > ending.size() && word.ends_with(ending);
  });
}

std::string first_segment(std::string_view path) {
  return std::string(path.substr(0, path.find('/')));
}

// The word must exist if it is a path of the project: from the root, or beside the README.
bool is_missing(const std::string& word, const std::string& folder, const Project& project) {
  if (!is_path_like(word) || is_output(word)) return false;
  const std::string beside = folder.empty() ? word : folder + "/" + word;
  if (word.find('/') != word.npos) {
    const std::string first = first_segment(word);
    if (std::find(kTopFolders.begin(), kTopFolders.end(), first) != kTopFolders.end())
      return !project.exists(word) && !project.exists(beside);
    const std::string first_beside = folder.empty() ? first : folder + "/" + first;
    return project.exists(first_beside) && !project.exists(beside);
  }
  return has_source_ending(word) && !project.exists(word) && !project.exists(beside);
}

// The words of a command up to what the shell would do with its output; "$ " and A=b in front
// dropped.
std::vector<std::string> command_words(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) {
    if (word == "|" || word == "&&" || word == ";" || word == ">" || word == "#" || word == "||")
      break;
    const bool is_prompt = word == "$";
    const bool is_assignment = word.find('=') != word.npos && word[0] != '-';
    if (words.empty() && (is_prompt || is_assignment)) continue;
    words.push_back(word);
  }
  return words;
}

bool is_placeholder(const std::string& word) {
  return word.empty() || word[0] == '<' || word[0] == '[' || word[0] == '$' || word == "…" ||
         std::isupper(static_cast<unsigned char>(word[0])) != 0;
}

// "--flag" of "--flag=value" or "[--flag"; empty when it is none.
std::string flag_of(std::string word) {
  word.erase(0, word.find_first_not_of("[("));
  if (!word.starts_with("--") || word.size() < 3) return {};
  std::size_t end = 2;
  while (end < word.size() &&
         (std::isalnum(static_cast<unsigned char>(word[end])) != 0 || word[end] == '-'))
    ++end;
  return word.substr(0, end);
}

// Whether the text has the word with nothing of a name around it.
bool names(std::string_view text, std::string_view word) {
  const auto is_name = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_';
  };
  for (auto at = text.find(word); at != text.npos; at = text.find(word, at + 1)) {
    const std::size_t after = at + word.size();
    if ((at == 0 || !is_name(text[at - 1])) && (after == text.size() || !is_name(text[after])))
      return true;
  }
  return false;
}

// Of a verb whose help lists commands: the one that is called, or the one that the verb alone is.
std::string command_of(std::string_view help, const std::vector<std::string>& words) {
  constexpr std::string_view kAlone = "Without a command: ";
  const std::size_t at = help.find(kAlone);
  if (at == help.npos) return {};
  if (words.size() > 2 && flag_of(words[2]).empty() &&
      help.find("\n  " + words[2] + " ") != help.npos)
    return words[2];
  const std::size_t begin = at + kAlone.size();
  return std::string(help.substr(begin, help.find('.', begin) - begin));
}

std::vector<std::string> npubench_problems(const std::vector<std::string>& words,
                                           const Project& project) {
  std::vector<std::string> problems;
  if (words.size() < 2 || is_placeholder(words[1])) return problems;
  std::string help = project.help_of("");
  if (flag_of(words[1]).empty()) {
    if (!names(help, words[1])) return {"npubench has no verb \"" + words[1] + "\""};
    help = project.help_of(words[1]);
    if (const std::string command = command_of(help, words); !command.empty())
      help = project.help_of(words[1] + " " + command);
  }
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string flag = flag_of(words[i]);
    if (!flag.empty() && flag != "--help" && !names(help, flag))
      problems.push_back("npubench " + words[1] + " knows no " + flag);
  }
  return problems;
}

std::vector<std::string> script_problems(const std::vector<std::string>& words,
                                         const Project& project) {
  if (words.size() < 2 || words[1][0] == '-' || is_placeholder(words[1])) return {};
  if (!project.exists(words[1])) return {"there is no script " + words[1]};
  std::vector<std::string> problems;
  const std::string script = project.text_of(words[1]);
  for (const std::string& word : words)
    if (const std::string flag = flag_of(word); !flag.empty() && !names(script, flag))
      problems.push_back(words[1] + " knows no " + flag);
  return problems;
}

std::vector<std::string> preset_problems(const std::vector<std::string>& words,
                                         const Project& project) {
  const auto preset = std::find(words.begin(), words.end(), "--preset");
  if (preset == words.end() || preset + 1 == words.end() || is_placeholder(preset[1])) return {};
  if (project.text_of("CMakePresets.json").find("\"name\": \"" + preset[1] + "\"") !=
      std::string::npos)
    return {};
  return {"CMakePresets.json has no preset \"" + preset[1] + "\""};
}

std::vector<std::string> command_problems(const std::vector<std::string>& words,
                                          const Project& project) {
  const std::string& program = words.front();
  if (program == "npubench" || program.ends_with("/npubench"))
    return npubench_problems(words, project);
  if (program == "bash" || program == "sh") return script_problems(words, project);
  if (program == "cmake" || program == "ctest") return preset_problems(words, project);
  return {};
}

}  // namespace

std::vector<CodeSpan> code_spans(std::string_view markdown) {
  std::vector<CodeSpan> spans;
  std::istringstream stream{std::string(markdown)};
  bool in_block = false;
  bool continues = false;
  std::size_t number = 0;
  for (std::string line; std::getline(stream, line);) {
    ++number;
    const std::size_t start = std::min(line.find_first_not_of(' '), line.size());
    if (line.compare(start, 3, "```") == 0) {
      in_block = !in_block;
      continues = false;
      continue;
    }
    if (in_block) {
      const bool goes_on = line.ends_with('\\');
      if (goes_on) line.pop_back();
      if (continues)
        spans.back().text += " " + line;
      else
        spans.push_back({number, line, true});
      continues = goes_on;
      continue;
    }
    for (auto open = line.find('`'); open != line.npos;) {
      const auto close = line.find('`', open + 1);
      if (close == line.npos) break;
      spans.push_back({number, line.substr(open + 1, close - open - 1), false});
      open = line.find('`', close + 1);
    }
  }
  return spans;
}

std::vector<std::string> readme_problems(const std::string& path, std::string_view markdown,
                                         const Project& project) {
  const auto slash = path.rfind('/');
  const std::string folder = slash == path.npos ? "" : path.substr(0, slash);
  std::vector<std::string> problems;
  for (const CodeSpan& span : code_spans(markdown)) {
    const std::vector<std::string> words = command_words(span.text);
    if (words.empty()) continue;
    std::vector<std::string> found = command_problems(words, project);
    // In a block only commands name paths; the rest is output or a drawing.
    const std::string& program = words.front();
    const bool is_command = program == "npubench" || program.ends_with("/npubench") ||
                            program == "bash" || program == "sh" || program == "cmake";
    if (!span.is_block || is_command)
      for (std::size_t i = is_command ? 1 : 0; i < words.size(); ++i)
        if ((is_command || words.size() == 1) && is_missing(words[i], folder, project))
          found.push_back("there is no " + words[i]);
    for (const std::string& problem : found)
      problems.push_back(path + ":" + std::to_string(span.line) + ": `" + span.text +
                         "`: " + problem);
  }
  return problems;
}

}  // namespace nb::test
