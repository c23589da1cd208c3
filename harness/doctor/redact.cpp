#include "harness/doctor/redact.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <functional>

#include "harness/doctor/pattern.hpp"

namespace nb::doctor {
namespace {

bool is_word_char(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// Each match of `pattern` in the text by what `with` makes of it.
std::string replaced_by(
    const Pattern& pattern, std::string_view text,
    const std::function<std::string(const std::vector<std::string_view>&)>& with) {
  std::string result;
  while (!text.empty()) {
    const auto groups = pattern.match(text);
    if (groups.empty() || groups[0].empty()) break;
    const auto at = static_cast<std::size_t>(groups[0].data() - text.data());
    result.append(text.substr(0, at));
    result += with(groups);
    text.remove_prefix(at + groups[0].size());
  }
  return result.append(text);
}

std::string with_all(std::string_view text, const std::string& what, const std::string& by) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t found = text.find(what, at);
    if (found == text.npos) {
      result.append(text.substr(at));
      break;
    }
    result.append(text.substr(at, found - at));
    // Only as a word: "root" is not in "rootfs".
    const bool is_word =
        (found == 0 || !is_word_char(text[found - 1])) &&
        (found + what.size() >= text.size() || !is_word_char(text[found + what.size()]));
    result += is_word ? by : what;
    at = found + what.size();
  }
  return result;
}

}  // namespace

bool is_secret_name(std::string_view name) {
  std::string upper(name);
  std::transform(upper.begin(), upper.end(), upper.begin(), [](char c) {
    return static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  });
  constexpr std::array<std::string_view, 9> kWords = {"TOKEN", "SECRET", "KEY",    "PASS", "AUTH",
                                                      "CRED",  "COOKIE", "ACCESS", "API"};
  return std::any_of(kWords.begin(), kWords.end(),
                     [&](std::string_view word) { return upper.find(word) != upper.npos; });
}

Redactor::Redactor(const std::string& host, const std::string& user, const std::string& home) {
  if (home.size() > 1) own_.emplace_back(home, "~");
  if (!host.empty()) own_.emplace_back(host, "host1");
  // The name of everybody's administrator names nobody.
  if (user.size() > 1 && user != "root") own_.emplace_back(user, "user1");
  for (const auto& [original, by] : own_) replaced_[original] = by;
  count_["host"] = host.empty() ? 0 : 1;
  std::stable_sort(own_.begin(), own_.end(),
                   [](const auto& a, const auto& b) { return a.first.size() > b.first.size(); });
}

std::string Redactor::placeholder(const std::string& kind, const std::string& original) {
  const auto known = replaced_.find(original);
  if (known != replaced_.end()) return known->second;
  return replaced_[original] = kind + std::to_string(++count_[kind]);
}

std::string Redactor::redacted(std::string_view text) {
  // Line by line: a pattern gives up on a text that would take it too long.
  std::string result;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    result += redacted_line(text.substr(0, end));
    if (end < text.size()) result += '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return result;
}

std::string Redactor::redacted_line(std::string_view text) {
  static const Pattern assigned(
      R"re(\b([A-Za-z_][A-Za-z0-9_]*)(["']?\s*[=:]\s*)("[^"\n]{0,4000}"|'[^'\n]{0,4000}'|[^\s"',;]{1,4000}))re");
  static const Pattern secret(
      R"(\b(?:hf_[A-Za-z0-9]{8,}|sk-[A-Za-z0-9_-]{8,}|gh[pousr]_[A-Za-z0-9]{8,}|AKIA[A-Z0-9]{12,})|\bBearer\s+[A-Za-z0-9._~+/=-]+)");
  static const Pattern in_url(R"(\b([a-z][a-z0-9+.-]{1,20}://)[^\s/:@]{1,200}:[^\s/@]{1,200}@)");
  static const Pattern mail(R"(\b[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9.-]{1,200}\.[A-Za-z]{2,10}\b)");
  static const Pattern mac(R"(\b(?:[0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}\b)");
  static const Pattern ip4(
      R"((?<![\w.])(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)(?![\w]|\.\d))");
  static const Pattern ip6(R"((?<![\w:.])[0-9A-Fa-f:]{3,39}(?![\w:.]))");
  static const Pattern serial(
      R"((?i)(serial(?: ?number| ?no\.?)?|\bsn)(\s*[:=]\s*)([A-Za-z0-9-]{4,40}))");
  static const Pattern home(R"(/(home|Users)/([A-Za-z0-9._-]{1,64}))");
  using Groups = std::vector<std::string_view>;
  const auto named = [this](const char* kind, std::size_t group) {
    return
        [this, kind, group](const Groups& m) { return placeholder(kind, std::string(m[group])); };
  };
  // "Authorization: Bearer x" before what stands behind a name is cut at its first blank.
  std::string result =
      replaced_by(secret, text, [](const Groups&) { return std::string("(removed)"); });
  result = replaced_by(assigned, result, [](const Groups& m) {
    return is_secret_name(m[1]) ? std::string(m[1]) + std::string(m[2]) + "(removed)"
                                : std::string(m[0]);
  });
  result =
      replaced_by(in_url, result, [](const Groups& m) { return std::string(m[1]) + "(removed)@"; });
  result = replaced_by(mail, result, named("mail", 0));
  result = replaced_by(serial, result, [this](const Groups& m) {
    return std::string(m[1]) + std::string(m[2]) + placeholder("serial", std::string(m[3]));
  });
  for (const auto& [original, by] : own_) result = with_all(result, original, by);
  result = replaced_by(home, result, [this](const Groups& m) {
    return "/" + std::string(m[1]) + "/" + placeholder("user", std::string(m[2]));
  });
  result = replaced_by(mac, result, named("mac", 0));
  result = replaced_by(ip6, result, [this](const Groups& m) {
    const std::string one(m[0]);
    // Times (11:48:12) and bus numbers (0000:C1:00.0) have colons too.
    in6_addr address{};
    if (one == "::1" || inet_pton(AF_INET6, one.c_str(), &address) != 1) return one;
    return placeholder("ip", one);
  });
  return replaced_by(ip4, result, [this](const Groups& m) {
    const std::string one(m[0]);
    return one == "127.0.0.1" || one == "0.0.0.0" ? one : placeholder("ip", one);
  });
}

}  // namespace nb::doctor
