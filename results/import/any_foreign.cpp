#include "results/import/any_foreign.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "harness/base/fs.hpp"
#include "harness/base/json_io.hpp"
#include "results/audit/read_table.hpp"
#include "results/audit/to_foreign.hpp"
#include "results/import/looks_like.hpp"
#include "results/messages/sentences.hpp"

namespace nb {
namespace {

namespace fs = std::filesystem;

void sort_runs(ForeignResults& all) {
  tell_apart(all.runs);
  std::ranges::stable_sort(all.runs, [](const ForeignRun& x, const ForeignRun& y) {
    return std::tie(x.model, x.stage) < std::tie(y.model, y.stage);
  });
}

void add_tables(const FolderTables& folder, ForeignResults& all) {
  for (const ReportedTable& table : folder.tables) {
    ForeignResults one = foreign_of(table);
    std::ranges::move(one.runs, std::back_inserter(all.runs));
    std::ranges::move(one.files, std::back_inserter(all.files));
    for (Sentence& sentence : one.ignored)
      all.ignored.push_back(message("about", table.name, std::move(sentence)));
  }
  std::ranges::transform(folder.not_read, std::back_inserter(all.ignored), verbatim);
  sort_runs(all);
}

Result<ForeignResults> read_reported(const fs::path& path) {
  NB_TRY(const FolderTables folder, read_tables(path.string()));
  ForeignResults all;
  all.path = path;
  add_tables(folder, all);
  if (all.runs.empty()) return bad_input(fmt::format("{}: holds no scores", path.string()));
  return all;
}

// Report cards and logs that lie beside the files of a harness.
void add_cards(ForeignResults& all) {
  std::vector<fs::path> files;
  for (const ForeignResults::File& file : all.files)
    if (file.format.empty()) files.push_back(file.path);
  ForeignResults cards;
  add_tables(read_cards(files), cards);
  for (const ForeignRun& run : cards.runs)
    for (ForeignResults::File& file : all.files)
      for (const fs::path& from : run.files)
        if (file.format.empty() && (file.path == from || file.path.parent_path() == from))
          file.format = "table of reported results";
  std::ranges::move(cards.runs, std::back_inserter(all.runs));
  std::ranges::move(cards.ignored, std::back_inserter(all.ignored));
  sort_runs(all);
}

constexpr std::size_t kLargestParsed = std::size_t{64} << 20;  // byte, to say where JSON breaks off

// Why a file that begins as JSON is none; nothing where it is, or begins differently. A file of
// lines is JSON by its first line.
std::optional<Error> broken_json(const fs::path& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error) || fs::file_size(path, error) > kLargestParsed) return {};
  const auto text = read_file(path);
  if (!text) return {};
  if (!begins_as_json(*text)) return {};
  const auto whole = parse_json(*text, path.string());
  if (whole) return {};
  const std::size_t begin = text->find_first_not_of(" \t\r\n");
  const std::size_t end = text->find('\n', begin);
  if (end != text->npos && parse_json_line(text->substr(begin, end - begin), "")) return {};
  return Error{ErrorCode::kBadInput, whole.error().message + "; is the file whole?"};
}

}  // namespace

bool is_published_path(const fs::path& path) { return path.string().starts_with("published:"); }

Result<ForeignResults> read_any_foreign(const fs::path& path, ForeignBuilder::Look look) {
  if (is_published_path(path)) return read_reported(path);
  NB_TRY(const bool is_known, holds_known_format(path));
  if (is_known) {
    NB_TRY(ForeignResults results, read_foreign(path, std::move(look)));
    add_cards(results);
    return results;
  }
  auto reported = read_reported(path);
  if (reported) return reported;
  if (auto broken = broken_json(path)) return tl::unexpected(std::move(*broken));
  if (const auto known = looks_like(path))
    return bad_input(fmt::format("{}: {} ({})", path.string(), *known, kListsFormats));
  auto foreign = read_foreign(path);  // says how it begins
  if (foreign) return foreign;
  return bad_input(fmt::format("{}; nor a table of results: {}", foreign.error().message,
                               reported.error().message));
}

}  // namespace nb
