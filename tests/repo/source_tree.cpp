#include "tests/repo/source_tree.hpp"

#include <algorithm>

#include "harness/base/fs.hpp"

namespace nb::test {

namespace {

bool has_one_of(const std::string& path, std::span<const std::string_view> endings) {
  return std::any_of(endings.begin(), endings.end(),
                     [&](std::string_view ending) { return path.ends_with(ending); });
}

// Offset of the closing quote of the literal whose opening quote is at `open`, or the end.
std::size_t literal_end(std::string_view text, std::size_t open) {
  if (text[open] == '"' && open > 0 && text[open - 1] == 'R') {
    const std::size_t paren = text.find('(', open);
    const std::string close = ")" + std::string(text.substr(open + 1, paren - open - 1)) + "\"";
    const std::size_t at = text.find(close, paren);
    return at == text.npos ? text.size() : at + close.size() - 1;
  }
  for (std::size_t i = open + 1; i < text.size(); ++i) {
    if (text[i] == '\\')
      ++i;
    else if (text[i] == text[open] || text[i] == '\n')
      return i;
  }
  return text.size();
}

bool is_digit_separator(std::string_view text, std::size_t at) {  // 1'000
  return text[at] == '\'' && at > 0 && std::isalnum(static_cast<unsigned char>(text[at - 1])) != 0;
}

}  // namespace

bool is_of_runs(std::string_view path) {
  return path.starts_with("results/runs") || path.starts_with("results/nights");
}

std::vector<SourceFile> source_files(std::span<const std::string_view> endings) {
  const fs::path root = NB_SOURCE_DIR;
  std::vector<SourceFile> files;
  for (const char* top : {"harness", "model", "evals", "suites", "results", "report", "tests"}) {
    if (!fs::exists(root / top)) continue;
    for (auto entry = fs::recursive_directory_iterator(root / top);
         entry != fs::recursive_directory_iterator(); ++entry) {
      const std::string path = fs::relative(entry->path(), root).generic_string();
      if (entry->is_directory() && (is_of_runs(path) || entry->path().filename() == "__pycache__"))
        entry.disable_recursion_pending();
      if (entry->is_regular_file() && has_one_of(path, endings))
        files.push_back({path, read_file(entry->path()).value()});
    }
  }
  std::sort(files.begin(), files.end(),
            [](const SourceFile& a, const SourceFile& b) { return a.path < b.path; });
  return files;
}

std::string code_only(std::string_view text) {
  std::string code(text);
  const auto blank = [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < std::min(end, code.size()); ++i)
      if (code[i] != '\n') code[i] = ' ';
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i, 2) == "//") {
      const std::size_t end = std::min(text.find('\n', i), text.size());
      blank(i, end);
      i = end;
    } else if (text.substr(i, 2) == "/*") {
      const std::size_t end = std::min(text.find("*/", i + 2), text.size());
      blank(i, end + 2);
      i = end + 1;
    } else if ((text[i] == '"' || text[i] == '\'') && !is_digit_separator(text, i)) {
      const std::size_t end = literal_end(text, i);
      blank(i + 1, end);
      i = end;
    }
  }
  return code;
}

std::size_t line_of(std::string_view text, std::size_t offset) {
  return 1 + static_cast<std::size_t>(std::count(
                 text.begin(), text.begin() + static_cast<std::ptrdiff_t>(offset), '\n'));
}

std::string lines(const std::vector<std::string>& problems) {
  std::string text;
  for (const std::string& problem : problems) text += "\n  " + problem;
  return text;
}

}  // namespace nb::test
