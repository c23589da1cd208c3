#include "harness/doctor/version_number.hpp"

#include <algorithm>
#include <cctype>
#include <vector>

#include "harness/base/ascii.hpp"

namespace nb::doctor {
namespace {

// "8.3.rc1" → 8 | 3 | rc 1. Letters and numbers apart, dots and dashes between.
struct Part {
  std::string word;    // "rc"; empty: a plain number
  std::string number;  // digits, or "x"; empty: none
};
std::vector<Part> parts_of(std::string_view text) {
  const std::string version = lowered(text);
  std::vector<Part> parts;
  for (std::size_t at = 0; at < version.size();) {
    Part part;
    while (at < version.size() && std::isalpha(static_cast<unsigned char>(version[at])) != 0 &&
           !(version[at] == 'x' && (at + 1 == version.size() || version[at + 1] == '.')))
      part.word += version[at++];
    if (at < version.size() && version[at] == 'x') {
      part.number = "x";
      ++at;
    } else {
      while (at < version.size() && is_digit(version[at])) part.number += version[at++];
    }
    if (part.word.empty() && part.number.empty())
      ++at;  // a dot
    else
      parts.push_back(std::move(part));
  }
  return parts;
}

// Where a word stands beside the final version.
int weight(const std::string& word) {
  if (word == "post" || word == "p") return 1;
  if (word.empty()) return 0;
  if (word == "dev") return -4;
  if (word == "alpha" || word == "a") return -3;
  if (word == "beta" || word == "b") return -2;
  return -1;  // rc, and what else stands before a release
}

int compare_numbers(std::string_view a, std::string_view b) {
  while (a.size() > 1 && a[0] == '0') a.remove_prefix(1);
  while (b.size() > 1 && b[0] == '0') b.remove_prefix(1);
  if (a.empty()) a = "0";
  if (b.empty()) b = "0";
  if (a.size() != b.size()) return a.size() < b.size() ? -1 : 1;
  return a == b ? 0 : a < b ? -1 : 1;
}

bool bound_holds(std::string_view version, std::string_view bound) {
  std::size_t sign = 0;
  while (sign < bound.size() && (bound[sign] == '<' || bound[sign] == '>' || bound[sign] == '='))
    ++sign;
  const std::string_view op = bound.substr(0, sign);
  const int order = compare_versions(version, trimmed(bound.substr(sign)));
  if (op == "<") return order < 0;
  if (op == "<=") return order <= 0;
  if (op == ">") return order > 0;
  if (op == ">=") return order >= 0;
  return order == 0;
}

}  // namespace

std::string normal_version(std::string_view text) {
  text = trimmed(text);
  for (const std::string_view start : {"Ascend HDK ", "CANN ", "CANN-", "v", "V"})
    if (text.starts_with(start) && text.size() > start.size()) text.remove_prefix(start.size());
  text = text.substr(0, text.find('+'));
  std::string version(trimmed(text));
  for (std::size_t at = lowered(version).find("rc"); at != version.npos;
       at = lowered(version).find("rc", at + 2))
    // torch's "rc3" stands behind a digit and stays small; CANN's is a part of its own.
    if (at > 0 && version[at - 1] == '.' && version.find("post") == version.npos) {
      version[at] = 'R';
      version[at + 1] = 'C';
    }
  return version;
}

std::string base_version(std::string_view version) {
  const std::string text = lowered(version);
  std::size_t end = 0;
  while (end < text.size() && (is_digit(text[end]) || text[end] == '.')) ++end;
  while (end > 0 && text[end - 1] == '.') --end;
  return text.substr(0, end);
}

int compare_versions(std::string_view a, std::string_view b) {
  const auto left = parts_of(a), right = parts_of(b);
  for (std::size_t i = 0; i < std::max(left.size(), right.size()); ++i) {
    const Part x = i < left.size() ? left[i] : Part{};
    const Part y = i < right.size() ? right[i] : Part{};
    if (weight(x.word) != weight(y.word)) return weight(x.word) < weight(y.word) ? -1 : 1;
    if (const int order = compare_numbers(x.number, y.number); order != 0) return order;
  }
  return 0;
}

bool version_matches(std::string_view version, std::string_view required) {
  const auto have = parts_of(version), want = parts_of(required);
  for (std::size_t i = 0; i < std::max(have.size(), want.size()); ++i) {
    const Part x = i < have.size() ? have[i] : Part{};
    const Part y = i < want.size() ? want[i] : Part{};
    if (x.word != y.word && !(y.number == "x" && y.word.empty() && x.word == "rc")) return false;
    if (y.number != "x" && compare_numbers(x.number, y.number) != 0) return false;
  }
  return true;
}

bool version_allowed(std::string_view version, std::string_view required) {
  required = trimmed(required);
  if (!required.empty() && (required[0] == '<' || required[0] == '>')) {
    while (!required.empty()) {
      const std::size_t end = std::min(required.find(','), required.size());
      if (!bound_holds(version, trimmed(required.substr(0, end)))) return false;
      required.remove_prefix(std::min(end + 1, required.size()));
    }
    return true;
  }
  while (!required.empty()) {
    const std::size_t end = std::min(required.find(' '), required.size());
    const std::string_view one = required.substr(0, end);
    // "3.11" allows 3.11.9.
    if (version_matches(version, one) ||
        (version.size() > one.size() && version.starts_with(one) && version[one.size()] == '.' &&
         std::count(one.begin(), one.end(), '.') == 1))
      return true;
    required = trimmed(required.substr(end));
  }
  return false;
}

}  // namespace nb::doctor
