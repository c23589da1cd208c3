// Brings files of the manifest into the data folder: from a folder, from mirrors, or from the
// repository that a file is a copy of. What arrives counts only when its checksum is right; nothing
// ever takes another file's place. Downloads and their repetition are the program `curl`: no TLS,
// no proxies, no certificates in this program, and offline use needs none of it.
#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "evals/data/manifest.hpp"
#include "harness/base/result.hpp"

namespace nb {

struct FetchOptions {
  // URL prefixes that hold the layout of the data folder, tried in order, before the file's own
  // repository; http, https and file.
  std::vector<std::string> mirrors;
  std::filesystem::path from;  // a folder instead: no network at all
  bool use_origins = true;     // false: mirrors only
  int attempts = 5;            // of each URL, while what went wrong may pass
  // One line for people: "core/copa: 24.1 KiB from …"; empty: none.
  std::function<void(const std::string& line)> say;
};

struct FetchSummary {
  int kept = 0;     // there already, checksum right
  int fetched = 0;  // new
  int absent = 0;   // not in the folder that files are taken from
};

// Files of those names or groups (none: all of the manifest that has a checksum and a source, or
// that the folder has, at least one). A
// download that was interrupted (<path>.part) goes on where it was. The first file that cannot be
// had ends it with what was tried for it; files fetched before stay.
Result<FetchSummary> fetch(const DataManifest& manifest, std::span<const std::string> names,
                           const std::filesystem::path& data_dir, const FetchOptions& options);

// Where a byte copy comes from ("owner/repo@commit:path"); empty: the file was made, not copied.
std::string origin_url(const DataFile& file);
// Letters, digits and "-._~/" as they are, the rest as %XX.
std::string url_path(std::string_view path);

}  // namespace nb
