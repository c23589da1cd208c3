#include "evals/json_lines.hpp"

#include <fmt/core.h>
#include <zlib.h>

#include <array>
#include <memory>
#include <nlohmann/json.hpp>

#include "harness/base/fs.hpp"
#include "model/tokenizer/utf8.hpp"

namespace nb {

namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
constexpr std::string_view kGzip = "\x1f\x8b";
constexpr std::size_t kLargest = std::size_t{1} << 30;  // of an unpacked file

// parse_json counts lines from the beginning of its text, which here is one line of a file.
Result<Json> parse_line(std::string_view line, const std::string& where) {
  auto json = parse_json(line, "");
  if (json) return json;
  constexpr std::string_view kFirstLine = ":1:";
  std::string message = json.error().message;
  if (message.starts_with(kFirstLine)) message.erase(0, kFirstLine.size());
  return bad_input(fmt::format("{}:{}", where, message));
}

Result<std::string> gunzip(std::string_view packed, const std::string& where) {
  z_stream stream{};
  if (inflateInit2(&stream, 15 + 16) != Z_OK)
    return run_error(fmt::format("{}: zlib does not start", where));
  const std::unique_ptr<z_stream, int (*)(z_stream*)> closing(&stream, inflateEnd);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  std::string text;
  std::array<char, 65536> buffer;
  int state = Z_OK;
  while (state != Z_STREAM_END) {
    stream.next_out = reinterpret_cast<Bytef*>(buffer.data());
    stream.avail_out = static_cast<uInt>(buffer.size());
    state = inflate(&stream, Z_NO_FLUSH);
    if ((state != Z_OK && state != Z_STREAM_END) || text.size() > kLargest)
      return bad_input(fmt::format("{}: not a whole gzip file; fetch it again", where));
    text.append(buffer.data(), buffer.size() - stream.avail_out);
  }
  return text;
}

}  // namespace

Result<void> for_each_json_line(
    std::string_view text, const std::string& where,
    const std::function<Result<void>(const Json& row, const std::string& where)>& use) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.find_first_not_of(" \t") == line.npos) continue;
    const std::string place = fmt::format("{}:{}", where, number);
    if (const std::size_t valid = utf8_valid_prefix(line); valid < line.size())
      return bad_input(fmt::format(
          "{}: byte {} of the line (0x{:02x}) is not valid UTF-8; save the file as UTF-8", place,
          valid + 1, static_cast<unsigned char>(line[valid])));
    NB_TRY(const Json row, parse_line(line, place));
    if (!row.is_object())
      return bad_input(fmt::format("{}: expected an object, got {}", place, row.type_name()));
    NB_TRY_VOID(use(row, place));
  }
  return {};
}

Result<std::string> text_member(const Json& row, const char* key, const std::string& where,
                                std::string_view expected_keys) {
  const auto found = row.find(key);
  if (found == row.end())
    return bad_input(fmt::format("{}: \"{}\" is missing; a row has {}", where, key, expected_keys));
  if (!found->is_string())
    return bad_input(
        fmt::format("{}: \"{}\" must be a string, got {}", where, key, found->type_name()));
  return found->get<std::string>();
}

Result<std::string> read_text_or_gzip(const std::filesystem::path& path) {
  NB_TRY(std::string text, read_file(path));
  return text.starts_with(kGzip) ? gunzip(text, path.string()) : text;
}

}  // namespace nb
