// Items whose mark differs between two sides, for people to look at. Reads the items files of
// paired evaluations; decides nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "results/compare.hpp"

namespace nb {

// How much says that a flip is rounding: both margins within the near-tie limit, one of them
// beyond it, or an answer by text, which has no margin.
enum class FlipKind { kNearTie, kHard, kText };

struct Flip {
  std::size_t group = 0;  // into ItemList::groups
  std::string id;         // of items.jsonl: `npubench show` takes it
  std::int64_t row = 0;   // in the items file of side A, from 0
  bool lost = false;      // A right, B wrong; else won
  FlipKind kind = FlipKind::kText;
  std::string gold, a, b;                    // predictions
  std::optional<double> margin_a, margin_b;  // nat
  std::vector<float> log_probs_a, log_probs_b;
  std::string reason_a, reason_b;  // "timeout", …
  std::string text_a, text_b;      // the first text of each side, cut to kShownText bytes
};

// One task of one pair of records.
struct FlipGroup {
  std::string label_a, label_b;  // the comparison's
  std::string pair_a, pair_b;    // describe() of the records
  std::string task;
  bool same_weights = false;
  std::string folder_a, folder_b;  // of the records
  std::int64_t items = 0, lost = 0, won = 0, near_tie = 0, hard = 0;
  double limit = 0;  // nat; margins below it are near-ties: max(.05, 4 s)
};

struct ItemList {
  std::vector<FlipGroup> groups;
  std::vector<Flip> flips;              // same weights first, then by group
  std::vector<std::string> unreadable;  // sentences
};

inline constexpr std::size_t kShownText = 600;

ItemList flips_of(const std::vector<Comparison>& comparisons);

}  // namespace nb
