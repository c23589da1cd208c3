// The formats of other harnesses that are read, recognised by their content, not by their names.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.hpp"
#include "results/foreign/foreign.hpp"
#include "results/import/builder.hpp"

namespace nb {

// A file and its beginning.
struct FileHead {
  const std::filesystem::path& path;
  std::string_view bytes;  // the first 64 KiB, or all of it
  bool whole = false;      // bytes are the whole file
};

struct ImportFormat {
  const char* name;    // "lm-evaluation-harness samples"
  const char* source;  // what it was read from or documented in: repository @ commit: path
  bool (*recognises)(const FileHead& head);
  // Errors: one sentence that opens with file:line (JSONL, CSV) or file: /pointer.
  Result<void> (*read)(const std::filesystem::path& path, ForeignBuilder& builder);
};
std::span<const ImportFormat> import_formats();  // first match counts
// What an error says instead of the whole list.
inline constexpr const char* kListsFormats = "npubench import --formats lists what is read";

// A file, or everything known in a folder and below it. Errors: no such path, nothing recognised
// (with what the file begins with), a damaged file.
// names: as of ForeignBuilder::look; then the results hold less than the files.
Result<ForeignResults> read_foreign(const std::filesystem::path& path,
                                    ForeignBuilder::Look look = {},
                                    std::vector<std::string> names = {});

// Any file of it is of a format above; nothing is read but the files' beginnings.
Result<bool> holds_known_format(const std::filesystem::path& path);

// For recognisers: the head is JSON (or its first line is) and has this key on the top level, as
// far as the head shows. No parsing of what lies deeper.
bool head_has_key(const FileHead& head, std::string_view key);
bool head_is_jsonl_with(const FileHead& head, std::span<const std::string_view> keys);

}  // namespace nb
