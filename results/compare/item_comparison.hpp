// The items of one task on two sides: how many answers flipped, and by how much log-probabilities
// moved. Reads the items files of two records; decides nothing (gate_scoring.hpp does).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "results/stats/margin_shift.hpp"
#include "results/stats/stats.hpp"
#include "results/stats/stats_bootstrap.hpp"
#include "results/store/store.hpp"

namespace nb {

// About the first six to eight tokens of a text. Rounding flips near ties alone, about one token in
// a hundred, so few texts part so soon.
inline constexpr std::size_t kEarlyBytes = 24;

struct ItemComparison {
  // A key of record.items: a task, whose "<task>/accuracy" they are; of imported records the metric
  // itself, "gsm8k:strict-match/exact_match".
  std::string task;
  std::string error;       // why there is nothing else: damaged files, other items; empty: none
  bool identical = false;  // equal digests of the items files
  PairedCounts counts;
  double unscored_a = 0, unscored_b = 0;  // share of items with a reason instead of an answer
  bool has_choices = false;               // margins are differences between choices
  Margins margins;                        // items with log-probabilities on both sides
  ChoiceAgreement agreement;              // of items with two choices at least on both sides
  // Of one checkpoint whose log-probabilities differ: whether they moved as rounding moves them.
  std::optional<MarginShift> shift;
  std::int64_t changed = 0;        // items whose answer, score, texts or log-probabilities differ
  std::int64_t texts = 0;          // items answered by a text on both sides
  std::int64_t changed_texts = 0;  // of them: any text differs
  std::int64_t early_texts = 0;    // of them: the first texts part within kEarlyBytes
  // Of imported records, whose sides may have scored other items each:
  std::string paired_by;                // "the source's hashes", "content", "names"
  std::int64_t only_a = 0, only_b = 0;  // items that the other side does not have
  std::vector<std::string> unpaired;    // the first of them by name: "A: 17"
  std::int64_t prompts_differ = 0;  // paired items that were asked differently, where both say how
  std::int64_t samples_differ = 0;  // paired items with more samples on a side: cut to the other's
  std::int64_t golds_differ = 0;    // paired items with another reference answer
  double mean_a = 0, mean_b = 0;    // over the paired items
  // Scores that are not right or wrong alone, paired by items: the test of the mean difference, and
  // its interval by bootstrap, which shares of few samples need.
  std::optional<MeanTest> fractions;
  std::optional<Bootstrap> bootstrap;
};

// The items of one task, which both records have. Reads and verifies both files; error says what
// failed. Records of ours must have the same items; imported ones are compared by those that both
// have, and what does not pair is counted.
ItemComparison compare_items(const StoredRecord& a, const StoredRecord& b, const std::string& task);

}  // namespace nb
