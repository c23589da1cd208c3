#include "tests/results/import/foreign_text.hpp"

#include <fmt/format.h>

#include "harness/base/fs.hpp"
#include "results/import/formats.hpp"
#include "tests/results/import/expected.hpp"
#include "tests/support/temp_dir.hpp"

namespace nb::test {
namespace {

void cut(std::string& text, const std::string& folder) {
  for (std::size_t at; (at = text.find(folder)) != std::string::npos;)
    text.erase(at, folder.size());
}

void cut(Sentence& message, const std::string& folder) {
  std::string text = text_of(message);
  cut(text, folder);
  message = verbatim(std::move(text));
}

}  // namespace

Result<ForeignResults> read_texts(const std::vector<std::pair<std::string, std::string>>& files,
                                  const std::string& only) {
  const TempDir folder;
  for (const auto& [name, text] : files) NB_TRY_VOID(write_file(folder / name, text));
  auto results = read_foreign(only.empty() ? folder.path() : folder / only);
  const std::string path = folder.path().string() + "/";
  if (!results) {
    cut(results.error().message, path);
    return results;
  }
  for (Sentence& sentence : results->ignored) cut(sentence, path);
  for (ForeignRun& run : results->runs)
    for (Sentence& note : run.notes) cut(note, path);
  for (ForeignRun& run : results->runs)
    for (ForeignSeries& series : run.series) cut(series.contradiction, path);
  return results;
}

std::vector<std::string> series_lines(const ForeignRun& run) {
  std::vector<std::string> lines;
  for (const ForeignSeries& one : run.series) {
    const std::string value = !one.items.empty() ? fmt::format("{:g}", mean_of(one))
                              : one.reported     ? fmt::format("{:g}", *one.reported)
                                                 : "absent";
    lines.push_back(fmt::format(
        "{}{}{}/{} {} {}{}", one.name.task, one.name.filter.empty() ? "" : ":", one.name.filter,
        one.name.metric, value,
        one.items.empty() ? one.reported_n : static_cast<std::int64_t>(one.items.size()),
        one.primary ? " primary" : ""));
  }
  return lines;
}

}  // namespace nb::test
