#include "results/import/any_foreign.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "results/audit/read_table.hpp"
#include "results/audit/to_foreign.hpp"

namespace nb {
namespace {

namespace fs = std::filesystem;

Result<ForeignResults> read_reported(const fs::path& path) {
  NB_TRY(FolderTables folder, read_tables(path.string()));
  ForeignResults all;
  all.path = path;
  for (const ReportedTable& table : folder.tables) {
    ForeignResults one = foreign_of(table);
    std::ranges::move(one.runs, std::back_inserter(all.runs));
    std::ranges::move(one.files, std::back_inserter(all.files));
    for (std::string& sentence : one.ignored)
      all.ignored.push_back(fmt::format("{}: {}", table.name, sentence));
  }
  std::ranges::move(folder.not_read, std::back_inserter(all.ignored));
  if (all.runs.empty()) return bad_input(fmt::format("{}: holds no scores", path.string()));
  std::ranges::stable_sort(all.runs, [](const ForeignRun& x, const ForeignRun& y) {
    return std::tie(x.model, x.stage) < std::tie(y.model, y.stage);
  });
  return all;
}

}  // namespace

bool is_published_path(const fs::path& path) { return path.string().starts_with("published:"); }

Result<ForeignResults> read_any_foreign(const fs::path& path, ForeignBuilder::Look look) {
  if (is_published_path(path)) return read_reported(path);
  NB_TRY(const bool is_known, holds_known_format(path));
  if (is_known) return read_foreign(path, std::move(look));
  auto reported = read_reported(path);
  if (reported) return reported;
  auto foreign = read_foreign(path);  // says which formats there are
  if (foreign) return foreign;
  return bad_input(fmt::format("{}; nor a table of results: {}", foreign.error().message,
                               reported.error().message));
}

}  // namespace nb
