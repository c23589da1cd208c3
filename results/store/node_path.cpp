#include "results/store/node_path.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace nb {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kKeyDigits = 8;  // that end a node's folder name
constexpr std::size_t kMinDigits = 4;

bool is_hex(std::string_view text) {
  return text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// "train-base-ascend_910b3-s1-1a2b3c4d": "train-base-ascend_910b3-s1" and "1a2b3c4d".
bool matches(std::string_view folder, std::string_view given) {
  if (folder.size() < kKeyDigits + 2 || folder[folder.size() - kKeyDigits - 1] != '-') return false;
  const std::string_view key = folder.substr(folder.size() - kKeyDigits);
  if (!is_hex(key)) return false;
  if (folder.substr(0, folder.size() - kKeyDigits - 1) == given) return true;
  return given.size() >= kMinDigits && is_hex(given) && given.size() <= kKeyDigits &&
         key.starts_with(given);
}

}  // namespace

Result<fs::path> find_node_path(const fs::path& given) {
  std::error_code error;
  if (fs::exists(given, error) || error) return given;
  const fs::path path = given.has_filename() ? given : given.parent_path();
  std::vector<std::string> found;
  const fs::path suite = path.has_parent_path() ? path.parent_path() : fs::path(".");
  for (fs::directory_iterator at(suite, error), end; !error && at != end; at.increment(error))
    if (matches(at->path().filename().string(), path.filename().string()))
      found.push_back(at->path().filename().string());
  if (found.empty()) return given;
  if (found.size() == 1) return path.parent_path() / found.front();
  std::sort(found.begin(), found.end());
  std::string list;
  for (const std::string& name : found) list += "\n  " + (path.parent_path() / name).string();
  return bad_input(
      fmt::format("{}: {} nodes match; give one of them:{}", given.string(), found.size(), list));
}

}  // namespace nb
