// Finding and verifying the files of the manifest.
#include <fmt/core.h>
#include <openssl/evp.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <system_error>
#include <utility>

#include "evals/data/manifest.hpp"
#include "harness/base/check.hpp"
#include "harness/base/fs.hpp"
#include "harness/base/hash.hpp"

namespace nb {
namespace {

std::vector<std::string> names_of(const DataManifest& manifest) {
  std::vector<std::string> names;
  for (const DataFile& file : manifest.files) names.push_back(file.name);
  return names;
}

// Groups: every folder of a name ("text", "text/openstax").
std::vector<std::string> groups_of(const DataManifest& manifest) {
  std::vector<std::string> groups;
  for (const DataFile& file : manifest.files)
    for (auto slash = file.name.find('/'); slash != std::string::npos;
         slash = file.name.find('/', slash + 1))
      groups.push_back(file.name.substr(0, slash));
  std::sort(groups.begin(), groups.end());
  groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
  return groups;
}

std::string expected_text(const DataFile& file) {
  const std::string sum =
      file.sha256.empty() ? "git blob id " + file.git_blob : "SHA-256 " + file.sha256;
  return file.size_bytes == 0 ? sum : fmt::format("{} bytes, {}", file.size_bytes, sum);
}

std::string git_blob_id(std::string_view content) {
  const std::string blob = fmt::format("blob {}", content.size()) + '\0' + std::string(content);
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  NB_CHECK(EVP_Digest(blob.data(), blob.size(), digest, &size, EVP_sha1(), nullptr) == 1,
           "[git_blob] SHA-1 failed");
  std::string hex;
  for (unsigned int i = 0; i < size; ++i) hex += fmt::format("{:02x}", digest[i]);
  return hex;
}

Result<void> check_sum(const DataFile& file, const std::filesystem::path& path) {
  std::string actual;
  if (file.sha256.empty()) {
    NB_TRY(const std::string content, read_file(path));
    actual = git_blob_id(content);
  } else {
    NB_TRY(actual, sha256_file(path));
  }
  const std::string& expected = file.sha256.empty() ? file.git_blob : file.sha256;
  if (actual == expected) return {};
  return bad_input(
      fmt::format("{}: not the file that \"{}\" names: its {} is {}, expected {} (line ends and "
                  "byte order marks must be unchanged); download it again: npubench data get {}",
                  path.string(), file.name, file.sha256.empty() ? "git blob id" : "SHA-256", actual,
                  expected, file.name));
}

// Presence and size; no checksum.
Result<std::uint64_t> present_bytes(const DataFile& file, const std::filesystem::path& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
    return bad_input(fmt::format(
        "{}: {} where data file \"{}\" belongs; move it away, then: npubench data get {}",
        path.string(),
        std::filesystem::is_directory(status) ? "a folder" : "something other than a plain file",
        file.name, file.name));
  const std::uint64_t size = std::filesystem::file_size(path, error);
  if (error)
    return bad_input(
        fmt::format("{}: data file \"{}\" is missing (expected {}); download it: npubench data get "
                    "{} (origin: {}), or name the data folder with --data-dir or NPUBENCH_DATA",
                    path.string(), file.name, expected_text(file), file.name, file.origin));
  if (file.size_bytes != 0 && size != file.size_bytes)
    return bad_input(
        fmt::format("{}: data file \"{}\" is {}: {} bytes instead of {} (expected SHA-256 {}); "
                    "download it again: npubench data get {}",
                    path.string(), file.name, size < file.size_bytes ? "cut short" : "too long",
                    size, file.size_bytes, file.sha256, file.name));
  return size;
}

// Where the file lies: its own place, or that of nanochat's evaluation bundle (the data folder, or
// eval_bundle/ in it, holds eval_data/ and core.yaml); its own place when it is in none.
std::filesystem::path place_of(const DataFile& file, const std::filesystem::path& data_dir) {
  struct Moved {
    std::string_view ours, theirs;
  };
  constexpr std::array kMoved = {
      Moved{"core/eval_data/", "eval_bundle/eval_data/"}, Moved{"core/eval_data/", "eval_data/"},
      Moved{"core/eval_bundle_meta/", "eval_bundle/"}, Moved{"core/eval_bundle_meta/", ""}};
  std::filesystem::path path = data_dir / file.path;
  std::error_code error;
  if (std::filesystem::exists(path, error)) return path;
  for (const Moved& moved : kMoved) {
    if (!file.path.starts_with(moved.ours)) continue;
    std::filesystem::path other =
        data_dir / (std::string(moved.theirs) + file.path.substr(moved.ours.size()));
    if (std::filesystem::exists(other, error)) return other;
  }
  return path;
}

Result<ResolvedFile> resolve_file(const DataFile& file, const std::filesystem::path& data_dir) {
  if (data_dir.empty())
    return bad_input(fmt::format(
        "data file \"{}\" is needed and no data folder was found; name it with --data-dir or "
        "NPUBENCH_DATA",
        file.name));
  const std::filesystem::path path = place_of(file, data_dir);
  NB_TRY_VOID(present_bytes(file, path));
  NB_TRY_VOID(check_sum(file, path));
  return ResolvedFile{&file, path};
}

std::string state_text(const DataFile& file, const std::filesystem::path& data_dir, bool verify) {
  const std::filesystem::path path = place_of(file, data_dir);
  std::error_code error;
  const auto type = std::filesystem::status(path, error).type();
  if (type == std::filesystem::file_type::directory) return "a folder in its place";
  if (type == std::filesystem::file_type::not_found) return "missing";
  if (::access(path.c_str(), R_OK) != 0) return "cannot be read";
  if (!present_bytes(file, path)) return "wrong size";
  if (!verify) return "present";
  return check_sum(file, path) ? "verified" : "wrong checksum";
}

// Licences come with their reasons; a table has room for their names.
std::string short_licence(const std::string& licence) {
  constexpr std::size_t kShown = 40;
  if (licence.size() <= kShown) return licence;
  return licence.substr(0, licence.rfind(' ', kShown)) + " …";
}

// "copa" → `; did you mean "core/copa"?`; else the nearest of the known names.
std::string suggestion(const std::string& name, const std::vector<std::string>& known) {
  for (const std::string& one : known)
    if (one.ends_with("/" + name)) return fmt::format("; did you mean \"{}\"?", one);
  return did_you_mean(name, known);
}

// Empty: it is a folder.
std::string folder_state(const std::filesystem::path& folder) {
  std::error_code error;
  if (std::filesystem::is_directory(folder, error)) return "";
  return std::filesystem::exists(folder, error) ? "is not a folder" : "does not exist";
}

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ", ") + part;
  return text;
}

}  // namespace

Result<ResolvedFile> resolve(const DataManifest& manifest, std::string_view name,
                             const std::filesystem::path& data_dir) {
  const DataFile* file = manifest.find(name);
  if (file == nullptr)
    return bad_input(fmt::format("there is no data file \"{}\"{} (npubench data list)", name,
                                 suggestion(std::string(name), names_of(manifest))));
  return resolve_file(*file, data_dir);
}

Result<std::vector<const DataFile*>> find_files(const DataManifest& manifest,
                                                std::span<const std::string> names) {
  std::vector<bool> is_wanted(manifest.files.size(), names.empty());
  for (const std::string& name : names) {
    const std::string group = name + "/";
    bool found = false;
    for (std::size_t i = 0; i < manifest.files.size(); ++i) {
      const std::string& one = manifest.files[i].name;
      if (one != name && !one.starts_with(group)) continue;
      found = is_wanted[i] = true;
    }
    if (found) continue;
    std::vector<std::string> known = names_of(manifest);
    for (std::string& one : groups_of(manifest)) known.push_back(std::move(one));
    return bad_input(fmt::format("there is no data file or group \"{}\"{} (npubench data list)",
                                 name, suggestion(name, known)));
  }
  std::vector<const DataFile*> files;
  for (std::size_t i = 0; i < manifest.files.size(); ++i)
    if (is_wanted[i]) files.push_back(&manifest.files[i]);
  return files;
}

Result<void> check_data_file(const DataFile& file, const std::filesystem::path& path) {
  NB_TRY_VOID(present_bytes(file, path));
  return check_sum(file, path);
}

Result<void> check_folder(const std::filesystem::path& folder, std::string_view what) {
  const std::string state = folder_state(folder);
  if (state.empty()) return {};
  return bad_input(fmt::format("{} {} {}", what, folder.string(), state));
}

Result<void> check_presence(const DataManifest& manifest, std::span<const std::string> names,
                            const std::filesystem::path& data_dir) {
  NB_TRY(const auto files, find_files(manifest, names));
  std::string missing, last;
  int count = 0;
  for (const DataFile* file : files) {
    std::error_code error;
    if (!data_dir.empty() && std::filesystem::exists(place_of(*file, data_dir), error)) continue;
    missing += " " + file->name;
    last = file->name;
    ++count;
  }
  if (count == 0) return {};
  const std::string state = data_dir.empty() ? "" : folder_state(data_dir);
  return bad_input(
      fmt::format("data folder {}{}: {} missing; download {}: npubench data get{} (or name the "
                  "folder that has {} with --data-dir or NPUBENCH_DATA)",
                  data_dir.empty() ? "(none)" : data_dir.string(), state.empty() ? "" : " " + state,
                  count == 1 ? "\"" + last + "\" is" : fmt::format("{} files are", count),
                  count == 1 ? "it" : "them", missing, count == 1 ? "it" : "them"));
}

std::vector<VerifiedFile> verify(std::span<const DataFile* const> files,
                                 const std::filesystem::path& data_dir) {
  std::vector<VerifiedFile> verified;
  for (const DataFile* file : files)
    verified.push_back({file, state_text(*file, data_dir, /*verify=*/true)});
  return verified;
}

TextTable data_table(const DataManifest& manifest, const std::filesystem::path& data_dir,
                     bool verify) {
  TextTable table;
  table.header = {"name", "rows", "size", "licence", "tasks", "note"};
  if (!data_dir.empty()) table.header.insert(table.header.begin() + 1, "state");
  for (const DataFile& file : manifest.files) {
    std::vector<std::string> row = {
        file.name,
        file.rows ? with_commas(*file.rows) : "",
        file.size_bytes == 0 ? "" : human_bytes(static_cast<double>(file.size_bytes)),
        short_licence(file.licence),
        joined(file.tasks),
        file.note};
    if (!data_dir.empty()) row.insert(row.begin() + 1, state_text(file, data_dir, verify));
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace nb
