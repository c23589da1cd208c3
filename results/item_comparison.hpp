// The items of one task on two sides: how many answers flipped, and by how much log-probabilities
// moved. Reads the items files of two records; decides nothing (gate_scoring.hpp does).
#pragma once

#include <string>
#include <vector>

#include "results/margin_shift.hpp"
#include "results/stats.hpp"
#include "results/store.hpp"

namespace nb {

// About the first six to eight tokens of a text. Rounding flips near ties alone, about one token in
// a hundred, so few texts part so soon.
inline constexpr std::size_t kEarlyBytes = 24;

struct ItemComparison {
  std::string task;
  std::string error;       // why there is nothing else: damaged files, other items; empty: none
  bool identical = false;  // equal digests of the items files
  PairedCounts counts;
  double unscored_a = 0, unscored_b = 0;  // share of items with a reason instead of an answer
  bool has_choices = false;               // margins are differences between choices
  std::vector<MarginPair> margins;        // items with log-probabilities on both sides
  ChoiceAgreement agreement;              // of items with two choices at least on both sides
  std::int64_t changed = 0;               // items whose answer, texts or log-probabilities differ
  std::int64_t texts = 0;                 // items answered by a text on both sides
  std::int64_t early_texts = 0;           // of them: the first texts part within kEarlyBytes
};

// The items of one task, which both records have. Reads and verifies both files; error says what
// failed.
ItemComparison compare_items(const StoredRecord& a, const StoredRecord& b, const std::string& task);

}  // namespace nb
