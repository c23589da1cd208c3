// Sentences that results/ makes: patterns of them in English and what they become. "{}" stands for
// any text; what it stood for is translated in turn where it is a sentence itself. A sentence
// without pattern stays as it is.
#include <optional>
#include <vector>

#include "report/words.hpp"

namespace nb {
namespace {

struct Sentence {
  std::string_view en, zh;  // zh: {0}, {1}, … in any order
};

constexpr Sentence kSentences[] = {
    // the gate's first line
    {"can't tell (exit {}): {}: {}", "无法判定（退出码 {0}）：{1}：{2}"},
    {"ERROR (exit {}): nothing was compared", "ERROR（退出码 {0}）：没有可比较的内容"},
    {"{} (exit {}): {} of {} checks are not PASS",
     "{0}（退出码 {1}）：{3} 项检查中 {2} 项不是 PASS"},
    {"{} (exit {}): {}; {} of {} checks are not PASS",
     "{0}（退出码 {1}）：{2}；{4} 项检查中 {3} 项不是 PASS"},
    {"{} (exit {}): {} checks, {} bit-identical; accept as a new baseline?",
     "{0}（退出码 {1}）：{2} 项检查，{3} 项逐位相同；接受为新的基线？"},
    {"{} (exit {}): {} checks, {} bit-identical", "{0}（退出码 {1}）：{2} 项检查，{3} 项逐位相同"},
    {"{} (exit {}): 1 check, {} bit-identical", "{0}（退出码 {1}）：1 项检查，{2} 项逐位相同"},
    {"{} (exit {}): {}", "{0}（退出码 {1}）：{2}"},
    {"equal to the last bit", "逐位相同"},
};

// What each {} of the pattern stands for; nothing where the text is another one.
std::optional<std::vector<std::string>> match(std::string_view pattern, std::string_view text) {
  std::vector<std::string> found;
  std::size_t at = pattern.find("{}");
  if (text.substr(0, std::min(at, pattern.size())) != pattern.substr(0, at)) return std::nullopt;
  if (at == std::string_view::npos) {
    if (text != pattern) return std::nullopt;
    return found;
  }
  text.remove_prefix(at);
  while (at != std::string_view::npos) {
    pattern.remove_prefix(at + 2);
    at = pattern.find("{}");
    const std::string_view literal = pattern.substr(0, at);
    std::size_t end = text.size() - std::min(text.size(), literal.size());
    if (at != std::string_view::npos)
      end = text.find(literal);
    else if (!text.ends_with(literal))
      end = std::string_view::npos;
    if (end == std::string_view::npos || end == 0) return std::nullopt;
    found.emplace_back(text.substr(0, end));
    text.remove_prefix(end + literal.size());
  }
  return found;
}

}  // namespace

std::string Words::sentence(const std::string& text) const {
  if (language_ == Language::kEn) return text;
  for (const Sentence& one : kSentences) {
    const auto found = match(one.en, text);
    if (!found) continue;
    std::string out;
    for (std::size_t i = 0; i < one.zh.size(); ++i) {
      if (one.zh[i] != '{') {
        out += one.zh[i];
        continue;
      }
      out += sentence((*found)[static_cast<std::size_t>(one.zh[i + 1] - '0')]);
      i += 2;
    }
    return out;
  }
  return text;
}

}  // namespace nb
