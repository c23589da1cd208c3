#include "evals/jsonl.hpp"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "model/tokenizer/utf8.hpp"

namespace nb {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

// parse_json counts lines from the beginning of its text, which here is one line of the file.
Result<Json> parse_line(std::string_view line, const std::string& where) {
  auto json = parse_json(line, "");
  if (json) return json;
  constexpr std::string_view kFirstLine = ":1:";
  std::string message = json.error().message;
  if (message.starts_with(kFirstLine)) message.erase(0, kFirstLine.size());
  return bad_input(fmt::format("{}:{}", where, message));
}

Result<Json> parse_row(std::string_view line, const std::string& where) {
  if (const std::size_t valid = utf8_valid_prefix(line); valid < line.size())
    return bad_input(
        fmt::format("{}: byte {} of the line (0x{:02x}) is not valid UTF-8; save the file as UTF-8",
                    where, valid + 1, static_cast<unsigned char>(line[valid])));
  NB_TRY(Json row, parse_line(line, where));
  if (!row.is_object())
    return bad_input(fmt::format("{}: expected an object, got {}", where, row.type_name()));
  return row;
}

}  // namespace

Result<void> for_each_json_line(
    std::string_view text, const std::string& where,
    const std::function<Result<void>(const Json& row, const std::string& line)>& use) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t newline = text.find('\n');
    std::string_view line = text.substr(0, newline);
    text.remove_prefix(newline == std::string_view::npos ? text.size() : newline + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.find_first_not_of(" \t") == std::string_view::npos) continue;
    const std::string at = fmt::format("{}:{}", where, number);
    NB_TRY(const Json row, parse_row(line, at));
    NB_TRY_VOID(use(row, at));
  }
  return {};
}

}  // namespace nb
