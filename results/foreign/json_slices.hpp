// Cuts a JSON text into its members without parsing them, so that a log of gigabytes is read sample
// by sample over a memory map. What lies inside a member is judged when it is parsed.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "harness/base/fs.hpp"
#include "harness/base/json_io.hpp"
#include "harness/base/result.hpp"
#include "results/foreign/lines.hpp"

namespace nb {

struct JsonSlice {
  std::string key;        // of an object's member; of an array's element its number
  std::string_view text;  // one value, as it stands in the text
};

// A mapped JSON file. What has been read is given back to the system on the way, so that a file of
// any size takes little memory; read again, it comes from the file again. One that is packed, or
// UTF-16, stands in memory instead.
class MappedText {
 public:
  static Result<MappedText> open(const std::filesystem::path& path);
  std::string_view text() const;  // without a byte order mark
  // Everything before `at` was read. Cheap: acts once in several megabytes.
  void passed(const char* at);

 private:
  MappedText() = default;
  std::optional<MappedFile> file_;
  std::unique_ptr<const std::string> unpacked_;  // views of it outlive a move
  const char* released_ = nullptr;
};

// The members of the object, or the elements of the array, that `text` is, in its order. Errors
// open with `where`; a text that ends early is named as cut off, with the byte and the last member.
Result<void> for_each_slice(std::string_view text, const std::string& where,
                            const std::function<Result<void>(const JsonSlice&)>& each,
                            MappedText* file = nullptr);  // that the text lies in

// The members of an object by key. Errors: as above; not an object; a key that is there twice.
Result<std::map<std::string, std::string_view>> slices_of(std::string_view text,
                                                          const std::string& where,
                                                          MappedText* file = nullptr);

// NaN, Infinity and -Infinity, which Python writes as bare words: see lines.hpp.
Result<Json> parse_slice(std::string_view slice, const std::string& where,
                         NotNumbers not_numbers = NotNumbers::kAsTexts);

// The elements of a file's list one by one, parsed so; where: "file: /3".
Result<void> for_each_json_element(
    const std::filesystem::path& path,
    const std::function<Result<void>(const Json& element, const std::string& where)>& each);

}  // namespace nb
