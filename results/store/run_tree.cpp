#include "results/store/run_tree.hpp"

#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <set>
#include <system_error>
#include <utility>

#include "results/store/store.hpp"

namespace nb {
namespace {

namespace fs = std::filesystem;

constexpr int kDeepest = 6;  // folders below the one that is searched
constexpr const char* kKeepers[] = {"accepted.json", "golden.json"};

std::int64_t ns_of(const timespec& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

// Sub-folders' names, sorted; links after what is really there.
Result<std::vector<std::string>> folders_in(const fs::path& path) {
  std::error_code error;
  std::vector<std::pair<bool, std::string>> found;
  for (fs::directory_iterator at(path, error), end; !error && at != end; at.increment(error)) {
    std::string name = at->path().filename().string();
    std::error_code ignored;
    if (name.starts_with('.') || !at->is_directory(ignored)) continue;
    found.emplace_back(at->is_symlink(ignored), std::move(name));
  }
  if (error) return bad_input(fmt::format("{}: {}", path.string(), error.message()));
  std::sort(found.begin(), found.end());
  std::vector<std::string> names;
  for (auto& [is_link, name] : found) names.push_back(std::move(name));
  return names;
}

class Search {
 public:
  explicit Search(const fs::path& root) : root_(root) {}

  // The number of runs found in it and below.
  Result<std::size_t> look(const fs::path& path, int depth) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0 || !seen_.insert({status.st_dev, status.st_ino}).second)
      return std::size_t{0};
    NB_TRY(const auto names, folders_in(path));
    RunFolder run;
    run.path = path;
    if (auto record = stamp_of(path / "record.json")) run.nodes.push_back({"", record, true});
    auto list = read_run_list(path);
    if (!list) run.damage = list.error().message;
    run.has_list = list && list->has_value();
    std::vector<std::string> listed;
    if (run.has_list) listed = std::move(**list);
    std::sort(listed.begin(), listed.end());
    std::size_t below = 0;
    std::vector<std::string> may_be_unfinished;
    for (const std::string& name : names) {
      const bool is_listed =
          !run.has_list || std::binary_search(listed.begin(), listed.end(), name);
      if (auto record = stamp_of(path / name / "record.json")) {
        run.nodes.push_back({name, record, is_listed});
        continue;
      }
      std::size_t inside = 0;
      if (depth < kDeepest) {
        // What nobody may look into holds nothing for us.
        if (auto found = look(path / name, depth + 1)) inside = *found;
      }
      below += inside;
      if (inside == 0 && !run.has_list && is_node_name(name)) may_be_unfinished.push_back(name);
    }
    for (const std::string& name : listed)
      if (std::none_of(run.nodes.begin(), run.nodes.end(),
                       [&](const RunNode& node) { return node.name == name; }))
        run.nodes.push_back({name, std::nullopt, true});
    if (run.nodes.empty() && !run.has_list && run.damage.empty()) return below;
    for (const std::string& name : may_be_unfinished)
      run.nodes.push_back({name, std::nullopt, true});
    add(std::move(run));
    return below + 1;
  }

  std::vector<RunFolder> take() {
    std::sort(runs_.begin(), runs_.end(),
              [](const RunFolder& a, const RunFolder& b) { return a.name < b.name; });
    return std::move(runs_);
  }

 private:
  void add(RunFolder run) {
    std::sort(run.nodes.begin(), run.nodes.end(),
              [](const RunNode& a, const RunNode& b) { return a.name < b.name; });
    run.name = run.path.lexically_relative(root_).string();
    if (run.name == ".") run.name = fs::absolute(root_).lexically_normal().filename().string();
    for (const char* file : kKeepers)
      if (run.kept_by.empty() && stamp_of(run.path / file)) run.kept_by = file;
    runs_.push_back(std::move(run));
  }

  fs::path root_;
  std::set<std::pair<dev_t, ino_t>> seen_;
  std::vector<RunFolder> runs_;
};

}  // namespace

std::optional<FileStamp> stamp_of(const fs::path& file) {
  struct stat status {};
  if (::stat(file.c_str(), &status) != 0) return std::nullopt;
  return FileStamp{ns_of(status.st_mtim), ns_of(status.st_ctim), std::int64_t{status.st_size},
                   static_cast<std::int64_t>(status.st_ino)};
}

fs::path RunFolder::folder_of(const RunNode& node) const {
  return node.name.empty() ? path : path / node.name;
}

Result<std::vector<RunFolder>> find_runs(const fs::path& folder) {
  std::error_code error;
  const fs::path root = folder.has_filename() ? folder : folder.parent_path();  // "runs/"
  if (!fs::is_directory(root, error))
    return bad_input(fmt::format("{}: {}; give a folder of runs", root.string(),
                                 fs::exists(root, error) ? "is not a folder"
                                 : error                 ? error.message()
                                                         : "does not exist"));
  Search search(root);
  NB_TRY([[maybe_unused]] const std::size_t found, search.look(root, 0));
  return search.take();
}

std::uint64_t folder_bytes(const fs::path& folder) {
  std::uint64_t bytes = 0;
  std::error_code error;
  const auto options = fs::directory_options::skip_permission_denied;
  for (fs::recursive_directory_iterator at(folder, options, error), end; !error && at != end;
       at.increment(error)) {
    struct stat status {};
    if (::lstat(at->path().c_str(), &status) == 0 && S_ISREG(status.st_mode))
      bytes += static_cast<std::uint64_t>(status.st_size);
  }
  return bytes;
}

std::string sequence_of(const fs::path& run) {
  std::string sequence;
  for (const char c : run.filename().string()) {
    const bool is_digit = c >= '0' && c <= '9';
    if (is_digit && sequence.ends_with('#')) continue;
    sequence += is_digit ? '#' : c;
  }
  return sequence;
}

}  // namespace nb
