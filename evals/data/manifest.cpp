#include "evals/data/manifest.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "evals/data/manifest_text.hpp"
#include "harness/base/check.hpp"
#include "harness/base/json_io.hpp"

namespace nb {
namespace {

constexpr int kManifestSchema = 1;

bool is_hex(std::string_view text, std::size_t digits) {
  return text.size() == digits &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// A path that stays inside the data folder.
bool is_inside(const std::string& path) {
  const std::filesystem::path p(path);
  return !path.empty() && p.is_relative() && std::find(p.begin(), p.end(), "..") == p.end();
}

Result<void> check_file(const DataFile& file, const std::string& where) {
  if (!is_inside(file.path))
    return bad_input(fmt::format("{}: path \"{}\" leaves the data folder", where, file.path));
  if (file.sha256.empty() && file.git_blob.empty())
    return bad_input(where +
                     ": neither sha256 nor git_blob; a file without a checksum cannot be verified");
  if (!file.sha256.empty() && !is_hex(file.sha256, 64))
    return bad_input(where + ": sha256 must be 64 hex digits");
  if (!file.git_blob.empty() && !is_hex(file.git_blob, 40))
    return bad_input(where + ": git_blob must be 40 hex digits");
  return {};
}

}  // namespace

FieldList DataFile::fields() {
  return {
      {"name", "what suites call it", &name, {.required = true}},
      {"path", "under the data folder", &path, {.required = true}},
      {"size_bytes", "0: not known", &size_bytes, {.unit = "byte"}},
      {"sha256", "of the file; empty: not known", &sha256},
      {"git_blob", "git's id of its content, where the SHA-256 is not known", &git_blob},
      {"rows", "records, lines of plain text, tests", &rows, {.min = 0}},
      {"licence", "as stated by its origin", &licence, {.required = true}},
      {"origin", "owner/repo@commit:path", &origin, {.required = true}},
      {"tasks", "evaluation tasks that read it", &tasks},
      {"note", "known deviation", &note},
  };
}

const DataFile* DataManifest::find(std::string_view name) const {
  const auto found = std::find_if(files.begin(), files.end(),
                                  [&](const DataFile& file) { return file.name == name; });
  return found == files.end() ? nullptr : &*found;
}

Result<DataManifest> parse_data_manifest(std::string_view text, const std::string& where) {
  NB_TRY(const Json json, parse_json(text, where));
  struct Document {
    int schema = 0;
    std::vector<DataFile> files;
    FieldList fields() {
      return {{"schema",
               "version of this format",
               &schema,
               {.min = kManifestSchema, .max = kManifestSchema, .required = true}},
              {"files", "one entry per file", list(&files), {.required = true}}};
    }
  };
  NB_TRY(Document document, parse_struct<Document>(json, where));
  DataManifest manifest{std::move(document.files)};
  for (std::size_t i = 0; i < manifest.files.size(); ++i)
    NB_TRY_VOID(check_file(manifest.files[i], fmt::format("{}: /files/{}", where, i)));
  const auto by_name = [](const DataFile& a, const DataFile& b) { return a.name < b.name; };
  std::sort(manifest.files.begin(), manifest.files.end(), by_name);
  for (std::size_t i = 1; i < manifest.files.size(); ++i)
    if (manifest.files[i].name == manifest.files[i - 1].name)
      return bad_input(
          fmt::format("{}: two files are named \"{}\"", where, manifest.files[i].name));
  return manifest;
}

const DataManifest& data_manifest() {
  static const DataManifest manifest = [] {
    auto parsed = parse_data_manifest(kDataManifestText, "evals/data/manifest.json");
    NB_CHECK(parsed.has_value(), "[data_manifest] {}", parsed.error().message);
    return std::move(*parsed);
  }();
  return manifest;
}

}  // namespace nb
