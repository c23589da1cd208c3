#include "results/import/late_tables.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "harness/base/ascii.hpp"
#include "results/audit/read_parts.hpp"
#include "results/foreign/json_slices.hpp"

namespace nb {
namespace {

constexpr std::size_t kHead = std::size_t{64} << 10;
constexpr std::size_t kBefore = std::size_t{4} << 10;   // titles and rules above a table's header
constexpr std::size_t kAfter = std::size_t{256} << 10;  // its rows

bool has_all(std::string_view line, std::span<const std::string_view> words) {
  return std::ranges::all_of(words,
                             [&](std::string_view word) { return line.find(word) != line.npos; });
}

// Of the file, in whole lines and in order: from, to.
using Parts = std::vector<std::pair<std::size_t, std::size_t>>;

Parts parts_of(std::string_view text, std::span<const std::string_view> words, MappedText& file) {
  const auto line_begin = [&](std::size_t at) {
    return at == 0 ? 0 : text.rfind('\n', at - 1) + 1;  // npos + 1 is 0
  };
  const auto line_end = [&](std::size_t at) {
    return std::min(text.find('\n', std::min(at, text.size())), text.size() - 1) + 1;
  };
  Parts parts = {{0, line_end(kHead)}};
  for (std::size_t at = text.find(words.front()); at != text.npos;) {
    const std::size_t begin = line_begin(at), end = line_end(at);
    if (has_all(text.substr(begin, end - begin), words)) {
      const std::size_t from = line_begin(begin - std::min(begin, kBefore));
      const std::size_t to = line_end(begin + kAfter);
      if (from <= parts.back().second)
        parts.back().second = std::max(parts.back().second, to);
      else
        parts.emplace_back(from, to);
    }
    file.passed(text.data() + begin);
    at = text.find(words.front(), end);
  }
  return parts;
}

}  // namespace

Result<std::string> text_around_tables(const std::filesystem::path& path,
                                       std::span<const std::string_view> words) {
  NB_TRY(MappedText file, MappedText::open(path));
  const std::string_view text = file.text();
  std::string kept;
  if (text.empty()) return kept;
  std::size_t at = 0;
  for (const auto& [from, to] : parts_of(text, words, file)) {
    const std::string_view between = text.substr(at, from - at);
    kept.append(static_cast<std::size_t>(std::ranges::count(between, '\n')), '\n');
    kept += text.substr(from, to - from);
    at = to;
    file.passed(text.data() + at);
  }
  return kept;
}

bool holds_late_table(const FileHead& head, std::span<const std::string_view> words,
                      bool (*holds)(std::string_view text)) {
  if (head.bytes.find('\0') != head.bytes.npos) return false;
  const std::string_view content = trimmed(head.bytes);
  if (content.empty() || content.starts_with('{') || content.starts_with('[')) return false;
  const auto may_hold = [&](std::string_view text) {
    return std::ranges::all_of(
               words, [&](std::string_view word) { return text.find(word) != text.npos; }) &&
           holds(text);
  };
  if (may_hold(head.bytes)) return true;
  if (head.whole) return false;
  const auto text = text_around_tables(head.path, words);
  return text && may_hold(*text);
}

}  // namespace nb
