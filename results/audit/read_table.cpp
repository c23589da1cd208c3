#include "results/audit/read_table.hpp"

#include <fmt/core.h>

#include <cstdint>
#include <filesystem>

#include "harness/base/ascii.hpp"
#include "harness/base/fs.hpp"
#include "results/audit/published.hpp"
#include "results/audit/read_parts.hpp"

namespace nb {
namespace {

constexpr std::string_view kPublished = "published:";
constexpr std::uintmax_t kLargest = 256u << 20;  // bytes; logs may be longer
constexpr std::size_t kLargestNote = 4u << 20;   // bytes of a text about a training

// A note or a report card that quotes lines of a log is no log.
bool quotes_a_log(std::string_view text) {
  return text.size() <= kLargestNote &&
         (looks_like_report_card(text) || looks_like_markdown_table(text));
}

}  // namespace

bool begins_as_json(std::string_view text) {
  const std::string_view content = trimmed(text);
  if (content.empty() || (content.front() != '{' && content.front() != '[')) return false;
  if (content.front() == '{') return true;
  // "[2026-01-01 00:00:00] step 10" is a line of a log.
  const std::string_view line = content.substr(0, content.find('\n'));
  const std::size_t end = line.find_first_of("]{\"", 1);
  if (end == line.npos || line[end] != ']') return true;
  const std::size_t next = line.find_first_not_of(" \t\r", end + 1);
  return next == line.npos || line[next] == ',' || line[next] == ']';
}

Result<ReportedTable> parse_table(std::string_view text, const std::string& where) {
  const std::string_view content = trimmed(text);
  if (content.empty()) return bad_input(where + ": an empty file");
  if (looks_like_training_log({text, where}) && !quotes_a_log(text))
    return parse_training_log({text, where});
  if (content.find('\0') != content.npos)
    return bad_input(where + ": not a text; expected CSV, Markdown, JSON, a report card or a log");
  if (begins_as_json(text)) return parse_json_table(text, where);
  if (looks_like_report_card(text)) return parse_report_card(text, where);
  if (looks_like_markdown_table(text)) return parse_markdown_tables(text, where);
  const std::string_view first = content.substr(0, content.find('\n'));
  if (first.find(',') != first.npos) return parse_csv_table(text, where);
  return bad_input(where +
                   ": no table of results in it; expected task,accuracy,n as CSV, a Markdown table "
                   "of tasks, JSON, a nanochat report card or a training log");
}

Result<ReportedTable> read_table(const std::string& path) {
  if (path.starts_with(kPublished)) return read_published(path.substr(kPublished.size()));
  std::error_code error;
  if (std::filesystem::is_directory(path, error))
    return bad_input(path + ": a folder; name the file in it that holds the table");
  NB_TRY(MappedText file, MappedText::open(path));
  const LogText log{file.text(), path, &file};
  if (looks_like_training_log(log) && !quotes_a_log(log.bytes)) return parse_training_log(log);
  if (const auto size = std::filesystem::file_size(path, error); !error && size > kLargest)
    return bad_input(fmt::format("{}: {} MB, too large for a table of results", path, size >> 20));
  NB_TRY(const std::string text, read_file(path));
  return parse_table(text, path);
}

}  // namespace nb
