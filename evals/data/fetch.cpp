#include "evals/data/fetch.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <system_error>
#include <utility>

#include "harness/base/fs.hpp"
#include "harness/base/subprocess.hpp"
#include "harness/base/table.hpp"

namespace nb {
namespace {

std::uint64_t size_of(const fs::path& path) {
  std::error_code error;
  const std::uint64_t size = fs::file_size(path, error);
  return error ? 0 : size;
}

void discard(const fs::path& path) {
  std::error_code ignored;
  fs::remove(path, ignored);
}

struct Try {
  bool is_there = false;    // the whole file came
  bool start_over = false;  // what is there already is of no use to this server
  bool has_too_much = false;
  std::string problem;
};

// One run of curl, which goes on with what `part` holds. It asks again by itself while what went
// wrong may pass (curl's manual, --retry: no name, no connection, time-outs, HTTP 408, 429 and
// 5xx), after 1 s, then twice as long each time.
// size_bytes: what the file has by the manifest. A server that has more is cut off one byte behind
// it, also one that never ends.
Result<Try> run_curl(const std::string& url, const fs::path& part, std::uint64_t size_bytes,
                     int attempts) {
  SubprocessOptions limits;
  if (size_bytes > 0) limits.file_limit_bytes = size_bytes + 1;
  NB_TRY(const SubprocessResult curl,
         run_subprocess({"curl",
                         "--fail",
                         "--location",
                         "--silent",
                         "--show-error",
                         "--proto",
                         "=http,https,file",
                         "--continue-at",
                         "-",
                         "--connect-timeout",
                         "20",
                         "--speed-limit",
                         "512",
                         "--speed-time",
                         "30",
                         "--retry",
                         std::to_string(attempts - 1),
                         "--retry-connrefused",
                         "--output",
                         part.string(),
                         "--write-out",
                         "%{http_code}",
                         "--",
                         url},
                        limits),
         "curl is needed to download data (install it, or give --from FOLDER)");
  Try result;
  if (size_bytes > 0 && size_of(part) > size_bytes) {
    result.has_too_much = true;
    result.problem = fmt::format(
        "it has more than the {} of this file in the manifest and was cut off there; is it another "
        "file?",
        human_bytes(static_cast<double>(size_bytes)));
    return result;
  }
  result.is_there = curl.exit_code == 0;
  if (result.is_there) return result;
  const std::string_view said =
      std::string_view(curl.err).substr(0, curl.err.find_last_not_of('\n') + 1);
  result.problem = said.substr(said.rfind('\n') + 1);  // the last try's
  if (result.problem.empty()) result.problem = fmt::format("curl ended with {}", curl.exit_code);
  // curl's manual, EXIT CODES. HTTP 416: nothing there to go on with.
  constexpr int kHttpError = 22, kNoRanges = 33, kBadResume = 36;
  result.start_over = (curl.exit_code == kHttpError && curl.out == "416") ||
                      curl.exit_code == kNoRanges || curl.exit_code == kBadResume;
  return result;
}

class Fetcher {
 public:
  Fetcher(const DataManifest& manifest, const fs::path& data_dir, const FetchOptions& options)
      : manifest_(manifest), data_dir_(data_dir), options_(options) {}

  Result<void> one(const DataFile& file, FetchSummary& summary) {
    if (resolve(manifest_, file.name, data_dir_)) {
      ++summary.kept;
      return {};
    }
    const fs::path target = data_dir_ / file.path;
    const fs::path part = fs::path(target) += ".part";
    NB_TRY_VOID(make_folders(target.parent_path()));
    NB_TRY(const std::string source,
           options_.from.empty() ? from_network(file, part) : from_folder(file, part));
    std::error_code error;
    fs::rename(part, target, error);
    if (error)
      return run_error(fmt::format("cannot put {} in place: {}", target.string(), error.message()));
    ++summary.fetched;
    if (options_.say)
      options_.say(fmt::format("{}: {} from {}", file.name,
                               human_bytes(static_cast<double>(size_of(target))), source));
    return {};
  }

 private:
  // Whole or not at all; fs::copy_file tells of a full disk as an input/output error.
  static Result<void> copy(const fs::path& from, const fs::path& to) {
    constexpr std::size_t kBytesAtOnce = std::size_t{1} << 20;
    NB_TRY(const MappedFile source, MappedFile::open(from));
    NB_TRY(FileWriter writer, FileWriter::create(to));
    for (std::span<const std::byte> left = source.bytes(); !left.empty();) {
      const auto part = left.first(std::min(left.size(), kBytesAtOnce));
      NB_TRY_VOID(writer.write(part));
      left = left.subspan(part.size());
    }
    return writer.commit();
  }

  Result<std::string> from_folder(const DataFile& file, const fs::path& part) {
    const std::vector<std::string> names = {file.name};
    if (!check_presence(manifest_, names, options_.from))
      return bad_input(fmt::format(
          "--from {}: \"{}\" is missing; it belongs at {} (the layout of npubench data list)",
          options_.from.string(), file.name, (options_.from / file.path).string()));
    NB_TRY(const ResolvedFile found, resolve(manifest_, file.name, options_.from),
           "--from");  // names the file and what is wrong with it there
    NB_TRY_VOID(copy(found.path, part));
    NB_TRY_VOID(check_data_file(file, part));
    return found.path.string();
  }

  Result<std::string> from_network(const DataFile& file, const fs::path& part) {
    std::vector<std::string> urls;
    for (const std::string& mirror : options_.mirrors)
      urls.push_back(mirror + (mirror.ends_with('/') ? "" : "/") + url_path(file.path));
    const std::string origin = origin_url(file);
    if (options_.use_origins && !origin.empty()) urls.push_back(origin);
    if (urls.empty() && !origin.empty())
      return bad_input(
          fmt::format("\"{}\": its origin is excluded (--no-origins); give a mirror of the data "
                      "folder with --mirror URL, or a folder that has the file with --from",
                      file.name));
    if (urls.empty())
      return bad_input(
          fmt::format("\"{}\" is not a copy of a public file (origin: {}); give a mirror of the "
                      "data folder with --mirror URL, or a folder that has the file with --from",
                      file.name, file.origin));
    std::string tried;
    for (const std::string& url : urls) {
      NB_TRY(const std::string problem, download(file, url, part));
      if (problem.empty()) return url;
      tried += fmt::format("{}{}: {}", tried.empty() ? "" : "; ", url, problem);
    }
    return run_error(fmt::format("\"{}\" could not be downloaded: {}", file.name, tried));
  }

  // Empty: `part` is the file. Else why not.
  Result<std::string> download(const DataFile& file, const std::string& url, const fs::path& part) {
    bool may_begin_again = size_of(part) > 0;  // what lies there may be of another file
    for (;;) {
      if (file.size_bytes != 0 && size_of(part) > file.size_bytes) discard(part);
      const std::uint64_t before = size_of(part);
      Try last;
      if (file.size_bytes != 0 && before == file.size_bytes) {
        last.is_there = true;
      } else {
        NB_TRY(last, run_curl(url, part, file.size_bytes, options_.attempts));
      }
      if (last.is_there) {
        const auto checked = check_data_file(file, part);
        if (checked) return std::string();
        discard(part);  // of another file: going on with it would never end well
        if (std::exchange(may_begin_again, false)) continue;
        return checked.error().message;
      }
      if (last.has_too_much) {
        discard(part);
        if (std::exchange(may_begin_again, false)) continue;  // what lay there was of another file
        return last.problem;
      }
      if (last.start_over && before > 0) {
        discard(part);
        continue;
      }
      if (size_of(part) <= before) return last.problem;
      if (options_.say)
        options_.say(fmt::format("{}: {}; going on after {}", file.name, last.problem,
                                 human_bytes(static_cast<double>(size_of(part)))));
    }
  }

  const DataManifest& manifest_;
  const fs::path& data_dir_;
  const FetchOptions& options_;
};

Result<void> check_mirror(const std::string& mirror) {
  for (const char* scheme : {"http://", "https://", "file://"})
    if (mirror.starts_with(scheme)) return {};
  return bad_input(fmt::format(
      "mirror \"{}\": no URL that can be fetched; it begins with https://, http:// or file://",
      mirror));
}

// Can it be had at all with these options?
bool has_source(const DataManifest& manifest, const DataFile& file, const FetchOptions& options) {
  const std::vector<std::string> names = {file.name};
  if (!options.from.empty()) return check_presence(manifest, names, options.from).has_value();
  return !options.mirrors.empty() || (options.use_origins && !origin_url(file).empty());
}

}  // namespace

std::string url_path(std::string_view path) {
  std::string url;
  for (const char c : path) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("-._~/").find(c) != std::string_view::npos;
    url += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return url;
}

std::string origin_url(const DataFile& file) {
  constexpr std::size_t kCommitDigits = 40;
  const std::string& origin = file.origin;
  const std::size_t slash = origin.find('/'), at = origin.find('@');
  if (slash == std::string::npos || at == std::string::npos || slash > at) return "";
  const std::string repository = origin.substr(0, at);
  const std::string commit = origin.substr(at + 1, kCommitDigits);
  const std::size_t colon = at + 1 + kCommitDigits;
  if (repository.find(' ') != std::string::npos ||
      commit.find_first_not_of("0123456789abcdef") != std::string::npos ||
      colon + 1 >= origin.size() || origin[colon] != ':' ||
      origin.find_first_of(",;(*", colon) != std::string::npos)
    return "";
  return fmt::format("https://raw.githubusercontent.com/{}/{}/{}", repository, commit,
                     url_path(origin.substr(colon + 1)));
}

Result<FetchSummary> fetch(const DataManifest& manifest, std::span<const std::string> names,
                           const fs::path& data_dir, const FetchOptions& options) {
  NB_TRY(const std::vector<const DataFile*> files, find_files(manifest, names));
  if (!options.from.empty()) NB_TRY_VOID(check_folder(options.from, "--from"));
  for (const std::string& mirror : options.mirrors) NB_TRY_VOID(check_mirror(mirror));
  FetchSummary summary;
  Fetcher fetcher(manifest, data_dir, options);
  for (const DataFile* file : files) {
    // Asked for everything: what cannot be had is left out, `data list` shows it.
    if (names.empty() && !has_source(manifest, *file, options)) {
      if (!options.from.empty()) ++summary.absent;
      continue;
    }
    NB_TRY_VOID(fetcher.one(*file, summary));
  }
  if (summary.absent > 0 && summary.fetched + summary.kept == 0)
    return bad_input(
        fmt::format("--from {}: has none of the files (npubench data list shows their paths)",
                    options.from.string()));
  return summary;
}

}  // namespace nb
