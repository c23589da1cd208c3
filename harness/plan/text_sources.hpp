// Text sources of a suite → files: names and groups of the data manifest, or own files and folders.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "harness/base/result.hpp"

namespace nb {

struct TextFile {
  std::string name;            // in the manifest, else the path as the suite gives it
  std::filesystem::path path;  // where it should lie
  std::string digest;  // SHA-256; of manifest files as the manifest says, of others as read now
  bool in_manifest = false;
  std::uint64_t size_bytes = 0;  // 0: not known
};

// In the order given; folders and groups sorted by name. Manifest files are not opened (they may be
// missing: check_text_files). Error: a source that is neither in the manifest nor on disk, with the
// nearest name.
Result<std::vector<TextFile>> find_text_files(std::span<const std::string> sources,
                                              const std::filesystem::path& data_dir,
                                              const std::string& where);
// Every file is there, whole and unaltered; the error names file and checksums.
Result<void> check_text_files(std::span<const TextFile> files,
                              const std::filesystem::path& data_dir);

}  // namespace nb
