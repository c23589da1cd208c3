#include "harness/plan/text_sources.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "evals/data/manifest.hpp"
#include "harness/base/hash.hpp"

namespace nb {
namespace {

namespace fs = std::filesystem;

bool is_text(const fs::path& path) {
  return path.extension() == ".txt" || path.extension() == ".jsonl";
}

// Files of the manifest with that name or in that group.
std::vector<TextFile> from_manifest(const std::string& source, const fs::path& data_dir) {
  std::vector<TextFile> files;
  for (const DataFile& file : data_manifest().files) {
    if (file.name != source && !file.name.starts_with(source + "/")) continue;
    if (!is_text(file.path)) continue;  // a group's licence or README is no text to learn from
    const std::string digest = file.sha256.empty() ? "git:" + file.git_blob : file.sha256;
    files.push_back({file.name, data_dir / file.path, digest, true, file.size_bytes});
  }
  return files;
}

Result<std::vector<TextFile>> from_disk(const std::string& source, const fs::path& data_dir) {
  const fs::path path = fs::path(source).is_absolute() ? fs::path(source) : data_dir / source;
  std::vector<fs::path> found;
  std::error_code error, ignored;
  if (fs::is_regular_file(path, error)) {
    if (!is_text(path))
      return bad_input(path.string() + ": documents are read from .txt and .jsonl files");
    found.push_back(path);
  } else if (fs::is_directory(path, error)) {
    fs::recursive_directory_iterator at(path, error);
    for (; !error && at != fs::recursive_directory_iterator(); at.increment(error))
      if (is_text(at->path()) && at->is_regular_file(ignored)) found.push_back(at->path());
    if (error) return bad_input(fmt::format("{}: {}", path.string(), error.message()));
    std::sort(found.begin(), found.end());
  }
  std::vector<TextFile> files;
  for (const fs::path& file : found) {
    NB_TRY(std::string digest, sha256_file(file));
    const std::string name =
        file == path ? source : (fs::path(source) / file.lexically_relative(path)).string();
    files.push_back({name, file, std::move(digest), false, fs::file_size(file, ignored)});
  }
  return files;
}

// Where a path is meant that the shell would find.
std::string here_but_not_there(const std::string& source) {
  std::error_code ignored;
  const bool is_here = !fs::path(source).is_absolute() && fs::exists(source, ignored);
  return is_here ? "; it is in the current folder: give its absolute path" : "";
}

std::string nearest_source(const std::string& source) {
  std::vector<std::string> names;
  for (const DataFile& file : data_manifest().files) {
    names.push_back(file.name);
    if (const std::size_t slash = file.name.rfind('/'); slash != std::string::npos)
      names.push_back(file.name.substr(0, slash));
  }
  return did_you_mean(source, names);
}

}  // namespace

Result<std::vector<TextFile>> find_text_files(std::span<const std::string> sources,
                                              const fs::path& data_dir, const std::string& where) {
  std::vector<TextFile> files;
  std::vector<std::string> nowhere;  // a sentence each
  for (std::size_t i = 0; i < sources.size(); ++i) {
    std::vector<TextFile> found = from_manifest(sources[i], data_dir);
    if (found.empty()) {
      NB_TRY(found, from_disk(sources[i], data_dir));
    }
    if (found.empty())
      nowhere.push_back(
          fmt::format("/corpus/text/sources/{}: \"{}\" is neither in the data manifest nor a .txt "
                      "or .jsonl file or folder under \"{}\"{}{}",
                      i, sources[i], data_dir.string(), nearest_source(sources[i]),
                      here_but_not_there(sources[i])));
    for (TextFile& file : found) files.push_back(std::move(file));
  }
  if (nowhere.empty()) return files;
  return bad_input(fmt::format("{}: {} (npubench data list)", where, fmt::join(nowhere, "\n  ")));
}

Result<void> check_text_files(std::span<const TextFile> files, const fs::path& data_dir) {
  for (const TextFile& file : files) {
    if (file.in_manifest) {
      auto resolved = resolve(data_manifest(), file.name, data_dir);
      if (!resolved) return tl::unexpected<Error>(resolved.error());
      continue;
    }
    NB_TRY(const std::string digest, sha256_file(file.path));
    if (digest != file.digest)
      return bad_input(fmt::format(
          "{}: changed while npubench was running: SHA-256 {} is now {}; run the command again",
          file.path.string(), file.digest, digest));
  }
  return {};
}

}  // namespace nb
