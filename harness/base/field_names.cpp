#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>

#include "harness/base/ascii.hpp"
#include "harness/base/fields.hpp"

namespace nb {

namespace {

// Letters changed, added, dropped or swapped with their neighbour, without regard to case; limit
// where there are so many, or more.
std::size_t edit_distance(std::string_view a, std::string_view b, std::size_t limit) {
  const auto same = [](char x, char y) { return lower_case(x) == lower_case(y); };
  std::vector<std::size_t> before(b.size() + 1), last(before), row(before);  // i - 2, i - 1, i
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1, least_before = 0; i <= a.size(); ++i) {
    std::size_t least = row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] =
          std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (same(a[i - 1], b[j - 1]) ? 0 : 1)});
      if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1]))
        row[j] = std::min(row[j], before[j - 2] + 1);
      least = std::min(least, row[j]);
    }
    if (std::min(least, least_before) >= limit) return limit;  // neither row leads below
    least_before = least;
    before.swap(last);
    last.swap(row);
  }
  return std::min(last[b.size()], limit);
}

// Candidates with a part that is the name: "910B" is in "ascend_910b3". Those that begin so first.
std::vector<std::string> names_with(std::string_view name,
                                    std::span<const std::string> candidates) {
  std::vector<std::string> found;
  const auto same = [](char x, char y) { return lower_case(x) == lower_case(y); };
  for (const bool at_begin : {true, false})
    for (const std::string& candidate : candidates) {
      const auto at =
          std::search(candidate.begin(), candidate.end(), name.begin(), name.end(), same);
      if (at != candidate.end() && (at == candidate.begin()) == at_begin)
        found.push_back(candidate);
    }
  return found;
}

constexpr std::size_t kLeastPart = 3;  // letters: two are a part of too much
constexpr std::size_t kMostNamed = 4;

}  // namespace

std::string nearest_name(std::string_view name, std::span<const std::string> candidates) {
  std::string nearest;
  std::size_t least = std::max<std::size_t>(1, name.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    // So many letters are added at least; a name of a megabyte is nobody's typing error.
    const auto [shorter, longer] = std::minmax({name.size(), candidate.size()});
    if (longer - shorter >= least) continue;
    const std::size_t distance = edit_distance(name, candidate, least);
    if (distance < least && distance < std::max(name.size(), candidate.size())) {
      least = distance;
      nearest = candidate;
    }
  }
  if (!nearest.empty() || name.size() < kLeastPart) return nearest;
  const auto parts = names_with(name, candidates);
  return parts.empty() ? "" : parts.front();
}

std::string did_you_mean(std::string_view name, std::span<const std::string> candidates) {
  const std::string nearest = nearest_name(name, candidates);
  const auto parts =
      name.size() < kLeastPart ? std::vector<std::string>() : names_with(name, candidates);
  if (parts.size() > 1 && parts.size() <= kMostNamed && parts.front() == nearest)
    return fmt::format("; did you mean \"{}\" or \"{}\"?",
                       fmt::join(std::span(parts).first(parts.size() - 1), "\", \""), parts.back());
  return nearest.empty() ? "" : fmt::format("; did you mean \"{}\"?", nearest);
}

}  // namespace nb
