#include "results/compare/pairing_captured.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <tuple>

#include "results/compare/compare.hpp"
#include "results/messages/sentences.hpp"
#include "results/store/captured.hpp"
#include "results/store/comparability.hpp"

namespace nb {
namespace {

using Records = std::vector<const StoredRecord*>;

bool has_common_task(const Record& a, const Record& b) {
  return std::ranges::any_of(a.items, [&](const auto& one) { return b.items.contains(one.first); });
}

// "base@60.core" is of another moment than "base.core".
std::string moment_of(const Record& record) { return record.name.substr(0, record.name.find('.')); }

enum class Same { kWeights, kStage };

bool is_same(const Record& a, const Record& b, Same same) {
  if (a.kind != b.kind || (!is_captured(a) && !is_captured(b))) return false;
  if (a.status != "ok" || b.status != "ok") return false;
  if (same == Same::kWeights)
    return a.kind == "eval" && has_same_weights(a, b) && has_common_task(a, b);
  if (a.kind == "train") return !stage_of(a).empty() && stage_of(a) == stage_of(b);
  return a.kind == "eval" && !stage_of(a).empty() && moment_of(a) == moment_of(b) &&
         has_common_task(a, b);
}

Records fitting(const Records& records, const StoredRecord& one, Same same) {
  Records found;
  for (const StoredRecord* other : records)
    if (is_same(one.record, other->record, same)) found.push_back(other);
  return found;
}

bool is_comparable(const Record& a, const Record& b) {
  return std::ranges::any_of(a.items, [&](const auto& one) {
    return b.items.contains(one.first) && incomparable_because(a, b, one.first).empty();
  });
}

// A script evaluates at the end of its training what another one evaluates again: of evaluations of
// the same weights on one device the last that can be compared stands for all.
Records without_repeats(const Records& records, const Record& partner) {
  const Record& first = records.front()->record;
  const auto repeats = [&](const StoredRecord* one) {
    return one->record.kind == "eval" && one->record.device == first.device &&
           has_same_weights(one->record, first);
  };
  if (records.size() == 1 || !std::ranges::all_of(records, repeats)) return records;
  Records comparable;
  std::ranges::copy_if(records, std::back_inserter(comparable),
                       [&](const auto* one) { return is_comparable(one->record, partner); });
  const Records& from = comparable.empty() ? records : comparable;
  return {*std::ranges::max_element(
      from, {}, [](const StoredRecord* one) { return finished_at(one->record); })};
}

// One node with several seeds, as far as names tell.
bool is_one_node(const Records& records) {
  const auto node = [](const StoredRecord* stored) {
    const Record& r = stored->record;
    return std::tie(r.name, r.trained_on, r.device);
  };
  return std::ranges::all_of(records, [&](const StoredRecord* one) {
    return one->record.seed && node(one) == node(records.front());
  });
}

std::string names_of(const Records& records) {
  std::vector<std::string> names;
  for (const StoredRecord* stored : records) names.push_back(describe(stored->record));
  return fmt::format("{}", fmt::join(names, ", "));
}

void take(Pairing& pairing, const Records& left, const Records& right, Same same) {
  const Record& a = left.front()->record;
  if (left.size() == 1 && right.size() == 1) {
    const std::string of_a = describe(a), of_b = describe(right.front()->record);
    Sentence why = same == Same::kWeights ? message("pair.same_weights", of_a, of_b)
                   : a.kind == "eval"     ? message("pair.evaluations_of", stage_of(a), of_a, of_b)
                                          : message("pair.trainings_of", stage_of(a), of_a, of_b);
    pairing.pairs.push_back({left.front(), right.front(), std::move(why)});
  } else {
    pairing.unmatched.push_back({left, right});
  }
  for (const StoredRecord* stored : left) std::erase(pairing.only_a, stored);
  for (const StoredRecord* stored : right) std::erase(pairing.only_b, stored);
}

void pair_by(Pairing& pairing, Same same) {
  for (const StoredRecord* first : Records(pairing.only_a)) {
    if (std::ranges::find(pairing.only_a, first) == pairing.only_a.end()) continue;
    const Records answers = fitting(pairing.only_b, *first, same);
    if (answers.empty()) continue;
    const Records right = without_repeats(answers, first->record);
    const Records left =
        without_repeats(fitting(pairing.only_a, *right.front(), same), right.front()->record);
    const bool is_clear =
        (left.size() == 1 || (is_one_node(left) && !is_captured(left.front()->record))) &&
        (right.size() == 1 || (is_one_node(right) && !is_captured(right.front()->record)));
    if (is_clear) take(pairing, left, right, same);
  }
}

}  // namespace

void pair_captured(Pairing& pairing) {
  pair_by(pairing, Same::kWeights);
  pair_by(pairing, Same::kStage);
}

std::vector<Sentence> undecided_captures(const Pairing& pairing) {
  std::vector<Sentence> sentences;
  for (const StoredRecord* one : pairing.only_a)
    for (const Same same : {Same::kWeights, Same::kStage}) {
      const Records right = fitting(pairing.only_b, *one, same);
      if (right.empty()) continue;
      const Records left = fitting(pairing.only_a, *right.front(), same);
      const Records& several = right.size() > 1 ? right : left;
      if (several.size() < 2) continue;  // pair_captured() was not asked
      sentences.push_back(message("pair.undecided", describe(one->record), names_of(several)));
      break;
    }
  return sentences;
}

}  // namespace nb
