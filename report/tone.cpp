#include <array>

#include "report/document.hpp"

namespace nb {

Tone tone_of(const std::string& text) {
  struct Word {
    std::string_view word;
    Tone tone;
  };
  static constexpr std::array kWords = {
      Word{"PASS", Tone::kGood},          Word{"IMPROVED", Tone::kGood},
      Word{"REGRESSED", Tone::kBad},      Word{"SUSPICIOUS", Tone::kBad},
      Word{"ERROR", Tone::kBad},          Word{"INCOMPARABLE", Tone::kUnsure},
      Word{"INCONCLUSIVE", Tone::kUnsure}};
  for (const Word& one : kWords)
    if (text == one.word) return one.tone;
  for (const Language language : {Language::kEn, Language::kZh}) {
    const Words say(language);
    if (text == say("shown_better") || text == say("cell_better")) return Tone::kGood;
    if (text == say("shown_worse") || text == say("cell_worse")) return Tone::kBad;
  }
  return Tone::kPlain;
}

}  // namespace nb
