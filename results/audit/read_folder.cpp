// A folder of tables: nanochat's report folder (header and sections, one file each) is one table,
// every other file that holds one is its own.
#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "harness/base/fs.hpp"
#include "results/audit/read_parts.hpp"
#include "results/audit/read_table.hpp"

namespace nb {
namespace {

constexpr std::uintmax_t kLargest = 64u << 20;  // bytes; in folders, larger files are data

struct Part {
  fs::path path;
  std::string text;
};

// One section of a card, or its header: nanochat writes each to a file of its own.
bool is_part(const fs::path& path, std::string_view text) {
  if (path.extension() != ".md" || !looks_like_report_card(text)) return false;
  std::size_t titles = 0;
  for (const Line& line : lines_of(text))
    if (line.text.starts_with("timestamp: ")) ++titles;
  return titles <= 1 && text.find("\n## Summary") == text.npos;
}

Result<ReportedTable> joined(const fs::path& folder, std::vector<Part>& parts) {
  // The header holds what concerns every section.
  std::stable_partition(parts.begin(), parts.end(), [](const Part& part) {
    return part.text.find("\n## Environment") != part.text.npos;
  });
  std::string text;
  for (const Part& part : parts) text += part.text + "\n";
  return parse_report_card(text, folder.string());
}

std::vector<fs::path> files_below(const fs::path& folder, std::string& trouble) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::recursive_directory_iterator
           at(folder, fs::directory_options::skip_permission_denied, error),
       end;
       !error && at != end; at.increment(error))
    if (at->is_regular_file(error)) files.push_back(at->path());
  if (error) trouble = fmt::format("{}: {}", folder.string(), error.message());
  std::sort(files.begin(), files.end());
  return files;
}

FolderTables tables_of(const std::vector<fs::path>& files, bool (*wants)(std::string_view text)) {
  FolderTables all;
  std::error_code error;
  std::map<fs::path, std::vector<Part>> parts;
  for (const fs::path& file : files) {
    if (fs::file_size(file, error) > kLargest || error) {
      all.not_read.push_back(file.string() + ": too large for a table of results");
      continue;
    }
    auto text = read_file(file);
    if (!text) {
      all.not_read.push_back(text.error().message);
      continue;
    }
    if (!wants(*text)) continue;
    if (is_part(file, *text)) {
      parts[file.parent_path()].push_back({file, std::move(*text)});
      continue;
    }
    auto table = parse_table(*text, file.string());
    if (table)
      all.tables.push_back(std::move(*table));
    else
      all.not_read.push_back(table.error().message);
  }
  for (auto& [folder, sections] : parts) {
    auto card = joined(folder, sections);
    if (card) {
      all.tables.push_back(std::move(*card));
      continue;
    }
    for (const Part& part : sections) {  // the one that is damaged is named, the others are read
      auto alone = parse_report_card(part.text, part.path.string());
      if (alone)
        all.tables.push_back(std::move(*alone));
      else
        all.not_read.push_back(alone.error().message);
    }
  }
  std::ranges::stable_sort(all.tables, {}, &ReportedTable::name);
  return all;
}

}  // namespace

Result<FolderTables> read_tables(const std::string& path) {
  FolderTables all;
  std::error_code error;
  if (path.starts_with("published:") || !fs::is_directory(path, error)) {
    NB_TRY(ReportedTable table, read_table(path));
    all.tables.push_back(std::move(table));
    return all;
  }
  std::string trouble;
  all = tables_of(files_below(path, trouble), [](std::string_view) { return true; });
  if (!trouble.empty()) all.not_read.push_back(trouble);
  if (all.tables.empty())
    return bad_input(fmt::format("{}: no table of results in this folder{}{}", path,
                                 all.not_read.empty() ? "" : "; ",
                                 all.not_read.empty() ? "" : all.not_read.front()));
  return all;
}

FolderTables read_cards(const std::vector<fs::path>& files) {
  return tables_of(files, [](std::string_view text) {
    return looks_like_report_card(text) || looks_like_training_log({text, ""});
  });
}

}  // namespace nb
