// Which data files there are: the names that suites use → path under the data folder, size,
// SHA-256, rows, licence. The table is evals/data/manifest.json, built into the program; it holds
// names and checksums only, never data. Immutable after loading.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/fields.hpp"
#include "harness/base/result.hpp"
#include "harness/base/table.hpp"

namespace nb {

struct DataFile {
  std::string name;              // "core/arc_easy", "text/openstax/astronomy"
  std::string path;              // under the data folder, with "/"
  std::uint64_t size_bytes = 0;  // 0: not known
  std::string sha256;            // empty: not known, then git_blob is there
  std::string git_blob;          // git's id of the file's content (SHA-1), where only that is known
  std::optional<std::int64_t> rows;  // records, lines of plain text, tests; absent: not a list
  std::string licence;
  std::string origin;              // owner/repo@commit:path
  std::vector<std::string> tasks;  // ids of the evaluation tasks that read it
  std::string note;                // known deviation

  FieldList fields();
};

struct DataManifest {
  std::vector<DataFile> files;                        // sorted by name
  const DataFile* find(std::string_view name) const;  // nullptr: none
};

Result<DataManifest> parse_data_manifest(std::string_view text, const std::string& where);
// The one built into the program.
const DataManifest& data_manifest();

struct ResolvedFile {
  const DataFile* file = nullptr;
  std::filesystem::path path;
};

// The file of that name under data_dir, its presence, size and checksum verified. Errors say which
// file, which checksum was expected and what to do; an unknown name gets the nearest known one.
Result<ResolvedFile> resolve(const DataManifest& manifest, std::string_view name,
                             const std::filesystem::path& data_dir);

// Size and checksum of that file; an error says what was expected.
Result<void> check_data_file(const DataFile& file, const std::filesystem::path& path);
// Files of names or groups, in the manifest's order, each once; no names: all. An unknown name is
// an error with the nearest one.
Result<std::vector<const DataFile*>> find_files(const DataManifest& manifest,
                                                std::span<const std::string> names);
// bad_input when it is no folder or not there: "<what> <folder> does not exist".
Result<void> check_folder(const std::filesystem::path& folder, std::string_view what);
// bad_input when one of those files is not under data_dir (presence and size, no checksum): names
// them all and the command that gets them.
Result<void> check_presence(const DataManifest& manifest, std::span<const std::string> names,
                            const std::filesystem::path& data_dir);

struct VerifiedFile {
  const DataFile* file = nullptr;
  // "verified", "missing", "wrong size", "wrong checksum", "cannot be read", "a folder in its
  // place"
  std::string state;
};
// Reads every byte of the files that are there.
std::vector<VerifiedFile> verify(std::span<const DataFile* const> files,
                                 const std::filesystem::path& data_dir);

// What `npubench data list` shows: name, rows, size, licence, tasks, and whether data_dir has it
// (present, missing, wrong size; checksums only when `verify`). An empty data_dir leaves that
// column out.
TextTable data_table(const DataManifest& manifest, const std::filesystem::path& data_dir,
                     bool verify);

}  // namespace nb
