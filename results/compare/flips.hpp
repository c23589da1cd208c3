// Items whose score differs between two sides, for people to look at: `compare --flips` and the
// report. Reads the items files of paired evaluations; decides nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "results/compare/compare.hpp"
#include "results/text/item_text.hpp"

namespace nb {

// How much says that a flip is rounding: both margins within the limit, one of them beyond it, or
// an answer that has no margin: a text, or a choice of which the log-probabilities are not there.
enum class FlipKind { kNearTie, kHard, kText };
std::string_view name(FlipKind kind);  // "near-tie", "hard", "text"

struct Flip {
  std::size_t group = 0;  // into ItemList::groups
  std::string id;         // `npubench show` takes it: the source's name, else ItemRecord::id
  std::int64_t row = 0;   // in the items of side A, from 1: `show` takes it too
  bool lost = false;      // the score of A is higher; else won
  FlipKind kind = FlipKind::kText;
  std::string gold, a, b;                    // predictions
  std::optional<double> value_a, value_b;    // scores that are not right or wrong alone
  std::optional<double> margin_a, margin_b;  // nat
  std::vector<float> log_probs_a, log_probs_b;
  std::string reason_a, reason_b;  // "timeout", …
  std::string text_a, text_b;      // the first text of each side, cut to kShownText bytes
  ItemName name_a, name_b;         // for look_at_items.hpp,
  ItemText text;                   // which fills it
};

// One task of one pair of records.
struct FlipGroup {
  std::string label_a, label_b;  // the comparison's
  std::string pair_a, pair_b;    // describe() of the records
  std::string task;
  bool same_weights = false;
  std::string folder_a, folder_b;  // of the records
  std::int64_t items = 0, lost = 0, won = 0, near_tie = 0, hard = 0;
  double limit = 0;                 // nat: MarginShift::hard_limit of the margins
  const StoredRecord* a = nullptr;  // into the comparison's runs, which outlive the list
  const StoredRecord* b = nullptr;
};

struct ItemList {
  std::vector<FlipGroup> groups;        // same weights first
  std::vector<Flip> flips;              // by group, as many as were asked for
  std::int64_t count = 0;               // of all flips
  std::vector<std::string> unreadable;  // sentences
};

// "npubench show FOLDER --task TASK" of a side of a group, for a shell; " --item ID" shows one.
std::string show_command(const FlipGroup& group, bool side_a);

inline constexpr std::size_t kShownText = 600;
// A text cut to that many bytes, not in the middle of a character.
std::string cut_text(std::string text);

inline constexpr std::size_t kAllFlips = static_cast<std::size_t>(-1);
struct FlipChoice {
  std::size_t most = kAllFlips;  // so many are kept; groups count all
  std::function<bool(const std::string& task)> is_wanted = {};  // none: every task
  // Is given every flip of these tasks as it is read, kept or not: `group` without its counts, the
  // flip without its group and its text. Of a group that turns out unreadable too.
  std::function<void(const FlipGroup& group, const Flip& flip)> take = {};
};
ItemList flips_of(std::span<const Comparison> comparisons, const FlipChoice& choice = {});
ItemList flips_of(const Comparison& comparison, const FlipChoice& choice = {});

inline constexpr const char* kFlipsSchema = "npubench.flips/1";

// For terminals: the flips of the list, and how many more there are.
std::string flips_text(const ItemList& list);
Json flips_json(const ItemList& list);

}  // namespace nb
