#include "results/foreign/json_slices.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "harness/base/byte_order_mark.hpp"
#include "results/foreign/lines.hpp"
#include "results/foreign/text_stream.hpp"

namespace nb {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

constexpr std::size_t kEnd = std::string_view::npos;  // the text ends first
constexpr std::size_t kStep = std::size_t{8} << 20;   // of what is given back at once

std::size_t skip_blank(std::string_view text, std::size_t at) {
  while (at < text.size() && is_blank(text[at])) ++at;
  return at;
}

// text[at] is the opening quote. Position after the closing one.
std::size_t after_string(std::string_view text, std::size_t at) {
  for (std::size_t end = text.find('"', at + 1); end != kEnd; end = text.find('"', end + 1)) {
    std::size_t backslashes = 0;
    while (text[end - 1 - backslashes] == '\\') ++backslashes;
    if (backslashes % 2 == 0) return end + 1;
  }
  return kEnd;
}

constexpr auto kStops = [] {
  std::array<bool, 256> stops{};
  for (const char c : {'"', '{', '}', '[', ']'}) stops[static_cast<unsigned char>(c)] = true;
  return stops;
}();

// Position after the value that begins at `at`.
std::size_t after_value(std::string_view text, std::size_t at, MappedText* file) {
  if (at >= text.size()) return kEnd;
  if (text[at] == '"') return after_string(text, at);
  if (text[at] != '{' && text[at] != '[') {
    const std::size_t end = text.find_first_of(",]} \n\t\r", at);
    return end == kEnd ? text.size() : end;
  }
  std::size_t depth = 0;
  for (std::size_t next = at + kStep; at < text.size();) {
    if (file != nullptr && at >= next) {
      file->passed(text.data() + at);
      next = at + kStep;
    }
    const char c = text[at];
    if (!kStops[static_cast<unsigned char>(c)]) {
      ++at;
      continue;
    }
    if (c == '"') {
      at = after_string(text, at);
      if (at == kEnd) return kEnd;
      continue;
    }
    depth += c == '{' || c == '[' ? 1 : static_cast<std::size_t>(-1);
    ++at;
    if (depth == 0) return at;
  }
  return kEnd;
}

// place: "in the middle of" the member named, or "after" it.
tl::unexpected<Error> cut_off(const std::string& where, std::size_t at, const char* place,
                              const std::string& last) {
  return bad_input(fmt::format("{}: byte {}: the text ends {}; is the file cut off?", where, at,
                               last.empty() ? "early" : fmt::format("{} \"{}\"", place, last)));
}

tl::unexpected<Error> expected(const std::string& where, std::size_t at, const char* what) {
  return bad_input(fmt::format("{}: byte {}: {} is expected here", where, at + 1, what));
}

}  // namespace

Result<void> for_each_slice(std::string_view text, const std::string& where,
                            const std::function<Result<void>(const JsonSlice&)>& each,
                            MappedText* file) {
  std::size_t at = skip_blank(text, 0);
  std::string last;
  if (at == text.size()) return bad_input(where + ": is empty");
  const bool is_object = text[at] == '{';
  if (!is_object && text[at] != '[') return expected(where, at, "an object or an array");
  const char close = is_object ? '}' : ']';
  at = skip_blank(text, at + 1);
  for (std::size_t number = 0; at < text.size() && (number > 0 || text[at] != close); ++number) {
    JsonSlice slice{fmt::format("{}", number), {}};
    if (is_object) {
      if (text[at] != '"') return expected(where, at, "a key");
      const std::size_t end = after_string(text, at);
      if (end == kEnd) return cut_off(where, text.size(), "after", last);
      slice.key = text.substr(at + 1, end - at - 2);
      if (slice.key.find('\\') != kEnd) {
        NB_TRY(const Json key, parse_json(text.substr(at, end - at), where));
        slice.key = key.get<std::string>();
      }
      at = skip_blank(text, end);
      if (at == text.size()) return cut_off(where, at, "in the middle of", slice.key);
      if (text[at] != ':') return expected(where, at, "a colon");
      at = skip_blank(text, at + 1);
    }
    last = slice.key;
    const std::size_t end = after_value(text, at, file);
    if (end == kEnd) return cut_off(where, text.size(), "in the middle of", last);
    slice.text = text.substr(at, end - at);
    if (slice.text.empty()) return expected(where, at, "a value");
    at = skip_blank(text, end);
    if (at == text.size()) return cut_off(where, at, "after", last);
    if (text[at] != ',' && text[at] != close) return expected(where, at, "a comma");
    NB_TRY_VOID(each(slice));
    if (file != nullptr) file->passed(text.data() + at);
    if (text[at] == close) break;
    at = skip_blank(text, at + 1);
  }
  if (at >= text.size()) return cut_off(where, at, "after", last);
  at = skip_blank(text, at + 1);
  if (at < text.size()) return expected(where, at, "the end");
  return {};
}

Result<std::map<std::string, std::string_view>> slices_of(std::string_view text,
                                                          const std::string& where,
                                                          MappedText* file) {
  std::map<std::string, std::string_view> slices;
  if (const std::size_t at = skip_blank(text, 0); at < text.size() && text[at] != '{')
    return expected(where, at, "an object");
  const auto add = [&](const JsonSlice& slice) -> Result<void> {
    if (!slices.emplace(slice.key, slice.text).second)
      return bad_input(fmt::format("{}: key \"{}\" appears twice in one object", where, slice.key));
    return {};
  };
  NB_TRY_VOID(for_each_slice(text, where, add, file));
  return slices;
}

Result<Json> parse_slice(std::string_view slice, const std::string& where, NotNumbers not_numbers) {
  constexpr std::array<std::string_view, 3> kWords = {"NaN", "Infinity", "-Infinity"};
  if (auto usual = parse_usual_json(slice)) return std::move(*usual);
  if (not_numbers == NotNumbers::kRefused) return parse_foreign_json(slice, where);
  if (slice.find("NaN") == kEnd && slice.find("Infinity") == kEnd) return parse_json(slice, where);
  std::string quoted;
  quoted.reserve(slice.size() + 64);
  for (std::size_t at = 0; at < slice.size();) {
    if (slice[at] == '"') {
      const std::size_t end = std::min(after_string(slice, at), slice.size());
      quoted += slice.substr(at, end - at);
      at = end;
      continue;
    }
    const std::string_view rest = slice.substr(at);
    const auto word = std::find_if(kWords.begin(), kWords.end(),
                                   [&](std::string_view one) { return rest.starts_with(one); });
    if (word == kWords.end()) {
      quoted += slice[at++];
      continue;
    }
    quoted += fmt::format("\"{}\"", *word);
    at += word->size();
  }
  return parse_json(quoted, where);
}

Result<void> for_each_json_element(
    const std::filesystem::path& path,
    const std::function<Result<void>(const Json& element, const std::string& where)>& each) {
  const auto where_of = [&](const auto& number) {
    return fmt::format("{}: /{}", path.string(), number);
  };
  NB_TRY(MappedText file, MappedText::open(path));
  const auto parse_one = [&](const JsonSlice& slice) -> Result<void> {
    NB_TRY(const Json element, parse_slice(slice.text, where_of(slice.key)));
    return each(element, where_of(slice.key));
  };
  return for_each_slice(file.text(), path.string(), parse_one, &file);
}

Result<MappedText> MappedText::open(const std::filesystem::path& path) {
  MappedText text;
  NB_TRY(const TextStream stream, TextStream::open(path));
  if (stream.coding() == TextCoding::kPlain) {
    NB_TRY(text.file_, MappedFile::open(path));
  } else {
    NB_TRY(std::string unpacked, read_decoded(path));
    text.unpacked_ = std::make_unique<const std::string>(std::move(unpacked));
  }
  return text;
}

std::string_view MappedText::text() const {
  std::string_view text;
  if (file_)
    text = {reinterpret_cast<const char*>(file_->bytes().data()), file_->bytes().size()};
  else
    text = *unpacked_;
  text = without_byte_order_mark(text);
  return text;
}

void MappedText::passed(const char* at) {
  if (!file_) return;
  const char* begin = reinterpret_cast<const char*>(file_->bytes().data());
  if (released_ == nullptr || at < released_) released_ = begin;  // it is read anew
  const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t bytes = static_cast<std::size_t>(at - released_) / page * page;
  if (bytes < kStep) return;
  // A read-only map of a file: its pages are dropped, not changed.
  madvise(const_cast<char*>(released_), bytes, MADV_DONTNEED);
  released_ += bytes;
}

}  // namespace nb
