#include "results/store/meant_names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "harness/base/fields.hpp"

namespace nb {
namespace {

constexpr std::size_t kMost = 3;
constexpr std::size_t kLeastLetters = 3;  // of a text that is looked for inside names

std::vector<std::string> holding(const std::string& text, std::span<const std::string> names) {
  std::vector<std::string> found;
  if (text.size() < kLeastLetters) return found;
  for (const std::string& name : names)
    if (name.find(text) != std::string::npos) found.push_back(name);
  std::stable_sort(found.begin(), found.end(),
                   [](const std::string& a, const std::string& b) { return a.size() < b.size(); });
  return found;
}

std::vector<std::string> nearest(const std::string& text, std::span<const std::string> names) {
  std::vector<std::string> found, left(names.begin(), names.end());
  while (found.size() < kMost) {
    const std::string name = nearest_name(text, left);
    if (name.empty()) break;
    found.push_back(name);
    std::erase(left, name);
  }
  return found;
}

}  // namespace

std::string meant_names(const std::string& text, std::span<const std::string> names) {
  std::vector<std::string> meant = holding(text, names);
  if (meant.empty()) meant = nearest(text, names);
  if (meant.empty()) return "";
  meant.resize(std::min(meant.size(), kMost));
  std::string sentence = "; did you mean ";
  for (std::size_t i = 0; i < meant.size(); ++i)
    sentence += fmt::format("{}\"{}\"",
                            i == 0                  ? ""
                            : i + 1 == meant.size() ? " or "
                                                    : ", ",
                            meant[i]);
  return sentence + "?";
}

}  // namespace nb
