#include "tests/results/import/foreign_text.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <cstdint>

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
  for (std::string& sentence : results->ignored) cut(sentence, path);
  for (ForeignRun& run : results->runs)
    for (std::string& note : run.notes) cut(note, path);
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

std::string gzip_of(const std::string& text) {
  z_stream stream = {};
  deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string packed(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

std::string utf16_of(const std::string& utf8) {
  std::string text = "\xFF\xFE";
  for (std::size_t at = 0; at < utf8.size();) {
    const auto byte = [&](std::size_t i) {
      return static_cast<std::uint32_t>(static_cast<unsigned char>(utf8[at + i]));
    };
    std::uint32_t c = byte(0);
    std::size_t length = c < 0x80 ? 1 : c < 0xE0 ? 2 : c < 0xF0 ? 3 : 4;
    if (length > 1) c &= 0x7Fu >> length;
    for (std::size_t i = 1; i < length; ++i) c = c << 6 | (byte(i) & 0x3F);
    at += length;
    const auto put = [&](std::uint32_t unit) {
      text += static_cast<char>(unit & 0xFF);
      text += static_cast<char>(unit >> 8);
    };
    if (c >= 0x10000) {
      put(0xD800 + ((c - 0x10000) >> 10));
      put(0xDC00 + ((c - 0x10000) & 0x3FF));
    } else {
      put(c);
    }
  }
  return text;
}

}  // namespace nb::test
