// Scores and costs of a comparison as text: what stands below the first sentence.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "harness/base/table.hpp"
#include "results/compare/compare.hpp"

namespace nb {

// "−5.2 pp [−8.1, −2.4]" of shares, else in the score's unit; the interval where there is one.
std::string change_text(const Score& score);
// The smallest difference that it could see, as "1.8 pp"; score.min_detectable is there.
std::string visible_text(const Score& score);

// The surest first.
std::vector<Score> surest_first(const Comparison& comparison);
// Name, A, B, B − A and the 95 % interval as text.
struct ScoreCells {
  std::string name, a, b, difference, interval;
};
ScoreCells cells_of(const Score& score);
// A row a score, the surest first: score, A, B, B − A, 95 % interval, verdict.
TextTable score_rows(const Comparison& comparison);

// For terminals; empty: no scores. At most kScoreRows scores; how many more there are is said.
inline constexpr std::size_t kScoreRows = 12;
std::string score_table(const Comparison& comparison);
std::string cost_table(const Comparison& comparison);
// A line a score, however long: "gsm8k: 62.0 % → 57.8 %, −4.2 pp [−7.3, −1.2], worse".
std::string score_lines(const Comparison& comparison);

}  // namespace nb
