#include "model/data/tasks/rows.hpp"

#include <fmt/core.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "harness/base/byte_order_mark.hpp"
#include "harness/base/hash.hpp"
#include "model/tokenizer/utf8.hpp"

namespace nb {
namespace {

Result<void> check_utf8(std::string_view line, const std::string& where) {
  const std::size_t valid = utf8_valid_prefix(line);
  if (valid == line.size()) return {};
  return bad_input(
      fmt::format("{}: byte {} of the line (0x{:02x}) is not valid UTF-8; save the file as UTF-8",
                  where, valid + 1, static_cast<unsigned char>(line[valid])));
}

}  // namespace

Result<void> for_each_row(std::string_view text, const std::string& where, const TakeRow& take,
                          EmptyFile empty) {
  text = without_byte_order_mark(text);
  bool is_empty = true;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t newline = text.find('\n');
    std::string_view line = text.substr(0, newline);
    text.remove_prefix(newline == std::string_view::npos ? text.size() : newline + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.find_first_not_of(" \t") == std::string_view::npos) continue;
    const std::string here = fmt::format("{}:{}", where, number);
    NB_TRY_VOID(check_utf8(line, here));
    NB_TRY(const Json row, parse_json_line(line, here));
    NB_TRY_VOID(take(row, here));
    is_empty = false;
  }
  if (is_empty && empty == EmptyFile::kRefused)
    return bad_input(where + ": no rows; expected one JSON value a line");
  return {};
}

RowReader::RowReader(const Json& row, std::string where, std::string_view kind,
                     std::string_view keys)
    : row_(row), where_(std::move(where)), kind_(kind), keys_(keys) {
  if (!row.is_object())
    fail(fmt::format("expected {} (an object with {}), got {}", kind, keys, row.type_name()));
}

const Json* RowReader::member(std::string_view key, std::string_view type) {
  if (!error_.empty()) return nullptr;
  const auto found = row_.find(std::string(key));
  if (found != row_.end()) return &*found;
  fail(fmt::format("\"{}\" is missing ({}); {} has {}", key, type, kind_, keys_));
  return nullptr;
}

std::string RowReader::text(std::string_view key) {
  const Json* value = member(key, "a string");
  if (value == nullptr) return "";
  if (!value->is_string()) return fail_type(key, "a string", *value), "";
  return value->get<std::string>();
}

std::vector<std::string> RowReader::texts(std::string_view key) {
  const Json* value = member(key, "a list of strings");
  if (value == nullptr) return {};
  std::vector<std::string> result;
  if (!value->is_array()) return fail_type(key, "a list of strings", *value), result;
  for (const Json& element : *value) {
    if (!element.is_string()) return fail_type(key, "a list of strings", element), result;
    result.push_back(element.get<std::string>());
  }
  return result;
}

std::int64_t RowReader::integer(std::string_view key) {
  const Json* value = member(key, "an integer");
  if (value == nullptr) return 0;
  const bool is_too_large =
      value->is_number_unsigned() &&
      value->get<std::uint64_t>() >
          static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (is_too_large) return fail(fmt::format("\"{}\" is {}, too large", key, value->dump())), 0;
  if (!value->is_number_integer()) return fail_type(key, "an integer", *value), 0;
  return value->get<std::int64_t>();
}

const Json* RowReader::object(std::string_view key) {
  const Json* value = member(key, "an object");
  if (value == nullptr || value->is_object()) return value;
  fail_type(key, "an object", *value);
  return nullptr;
}

bool RowReader::boolean(std::string_view key) {
  const Json* value = member(key, "true or false");
  if (value == nullptr) return false;
  if (!value->is_boolean()) return fail_type(key, "true or false", *value), false;
  return value->get<bool>();
}

void RowReader::fail_type(std::string_view key, std::string_view type, const Json& value) {
  fail(fmt::format("\"{}\" must be {}, got {}", key, type, value.type_name()));
}

void RowReader::fail(const std::string& what) {
  if (error_.empty()) error_ = where_ + ": " + what;
}

Result<void> RowReader::status() const {
  if (!error_.empty()) return bad_input(error_);
  return {};
}

std::string netstrings(const std::vector<std::string>& texts) {
  std::string bytes;
  for (const std::string& text : texts) bytes += std::to_string(text.size()) + ":" + text;
  return bytes;
}

std::string ItemIds::of(std::string bytes) {
  const int before = seen_[bytes]++;
  if (before > 0) bytes += netstrings({std::to_string(before)});
  return sha256_hex(bytes).substr(0, 16);
}

}  // namespace nb
