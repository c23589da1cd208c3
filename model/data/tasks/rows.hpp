// What all task files share: JSON Lines read row by row with errors that name file, line and what
// is missing, and ids made of content. A byte order mark, CRLF and blank lines are accepted; text
// that is not UTF-8 is named by its byte.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/json_io.hpp"
#include "harness/base/result.hpp"

namespace nb {

// `where` of a row is "file:line". An error of `take` ends the reading.
enum class EmptyFile { kRefused, kAllowed };
using TakeRow = std::function<Result<void>(const Json& row, const std::string& where)>;
Result<void> for_each_row(std::string_view text, const std::string& where, const TakeRow& take,
                          EmptyFile empty = EmptyFile::kRefused);

// Reads the members of one JSON object; other members are ignored, as the reference does. The first
// thing that is wrong stays: read all, then ask status(). `kind` and `keys` are for messages: "an
// ARC row", "id, question, choices, answerKey".
class RowReader {
 public:
  RowReader(const Json& row, std::string where, std::string_view kind, std::string_view keys);
  std::string text(std::string_view key);
  std::vector<std::string> texts(std::string_view key);
  std::int64_t integer(std::string_view key);
  const Json* object(std::string_view key);  // nullptr: status() says why
  bool boolean(std::string_view key);
  void fail(const std::string& what);  // where and ": " are put in front
  Result<void> status() const;

 private:
  const Json* member(std::string_view key, std::string_view type);
  void fail_type(std::string_view key, std::string_view type, const Json& value);
  const Json& row_;
  std::string where_;
  std::string_view kind_, keys_;
  std::string error_;
};

// "3:abc1:d": neither order nor borders of the texts can be mistaken.
std::string netstrings(const std::vector<std::string>& texts);

// Ids of the items of one list: 16 hex digits of the SHA-256 of what an item is; equal items are
// told apart by how many came before.
class ItemIds {
 public:
  std::string of(std::string bytes);

 private:
  std::map<std::string, int> seen_;
};

}  // namespace nb
