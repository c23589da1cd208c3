#include "results/compare/item_comparison.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <initializer_list>
#include <nlohmann/json.hpp>

#include "results/compare/item_pairing.hpp"
#include "results/store/item_pairs.hpp"
#include "results/store/items.hpp"
#include "results/store/stored_items.hpp"

namespace nb {
namespace {

constexpr std::size_t kNamedItems = 5;  // of those that do not pair

std::size_t top_of(const ItemRecord& item) {
  return static_cast<std::size_t>(std::max_element(item.log_probs.begin(), item.log_probs.end()) -
                                  item.log_probs.begin());
}

bool differs(const ItemRecord& a, const ItemRecord& b) {
  return a.ok != b.ok || a.prediction != b.prediction || a.log_probs != b.log_probs ||
         a.texts != b.texts || a.reason != b.reason || a.loss != b.loss || a.value != b.value ||
         a.sample_ok != b.sample_ok;
}

double unscored(const PackedItems& items) {
  std::int64_t count = 0;
  for (const ItemRecord& item : items) count += item.reason.empty() ? 0 : 1;
  return static_cast<double>(count) / static_cast<double>(items.size());
}

// Of choice items: how far the two distributions over the choices lie apart.
struct Agreement {
  Spool<double> divergences;
  std::int64_t same_top = 0;
};

void add_pair(ItemComparison& result, Agreement& agreement, const ItemRecord& left,
              const ItemRecord& right) {
  if (left.ok)
    ++(right.ok ? result.counts.both : result.counts.only_a);
  else
    ++(right.ok ? result.counts.only_b : result.counts.neither);
  result.changed += differs(left, right) ? 1 : 0;
  if (!left.texts.empty() && !right.texts.empty()) {
    ++result.texts;
    result.changed_texts += left.texts != right.texts ? 1 : 0;
    result.early_texts +=
        left.texts[0].substr(0, kEarlyBytes) != right.texts[0].substr(0, kEarlyBytes) ? 1 : 0;
  }
  if (left.log_probs.size() > 1 && left.log_probs.size() == right.log_probs.size()) {
    agreement.divergences.push_back(choice_divergence(left.log_probs, right.log_probs));
    agreement.same_top += top_of(left) == top_of(right) ? 1 : 0;
  }
  const auto margin = gold_margins(left, right);
  if (!margin) return;
  result.has_choices = result.has_choices || left.log_probs.size() > 1;
  result.margins.add(*margin);
  if (left.ok != right.ok) result.margins.add_flip(*margin, left.id);
}

// Records of ours: the same items, or an error.
Result<void> fill_ours(ItemComparison& result, const StoredRecord& a, const StoredRecord& b) {
  Agreement agreement;
  std::int64_t unscored_a = 0, unscored_b = 0;
  NB_TRY_VOID(for_each_pair(a, b, result.task,
                            [&](std::size_t, const ItemRecord& left, const ItemRecord& right) {
                              add_pair(result, agreement, left, right);
                              unscored_a += left.reason.empty() ? 0 : 1;
                              unscored_b += right.reason.empty() ? 0 : 1;
                            }));
  const auto items = static_cast<double>(result.counts.n());
  result.unscored_a = static_cast<double>(unscored_a) / items;
  result.unscored_b = static_cast<double>(unscored_b) / items;
  result.agreement = choice_agreement(agreement.divergences, agreement.same_top);
  return {};
}

void fill_imported(ItemComparison& result, const PackedItems& items_a, const PackedItems& items_b) {
  const ItemPairing pairing = pair_items(items_a, items_b);
  Agreement agreement;
  std::vector<double> values_a, values_b;
  bool fractional = false;
  ItemRecord left, right;
  for (const auto& [i, j] : pairing.pairs) {
    items_a.read(i, left);
    items_b.read(j, right);
    const std::size_t samples_a = std::max<std::size_t>(1, left.sample_ok.size());
    const std::size_t samples_b = std::max<std::size_t>(1, right.sample_ok.size());
    if (samples_a != samples_b) {  // as many as the other side has
      ++result.samples_differ;
      if (samples_a > samples_b)
        left = first_samples(left, samples_b);
      else
        right = first_samples(right, samples_a);
    }
    add_pair(result, agreement, left, right);
    values_a.push_back(score_of(left));
    values_b.push_back(score_of(right));
    fractional = fractional || left.value || right.value;
    result.prompts_differ += !left.prompt_hash.empty() && !right.prompt_hash.empty() &&
                                     left.prompt_hash != right.prompt_hash
                                 ? 1
                                 : 0;
    result.golds_differ +=
        !left.gold.empty() && !right.gold.empty() && left.gold != right.gold ? 1 : 0;
  }
  result.agreement = choice_agreement(agreement.divergences, agreement.same_top);
  result.paired_by = pairing.by;
  result.only_a = static_cast<std::int64_t>(pairing.only_a.size());
  result.only_b = static_cast<std::int64_t>(pairing.only_b.size());
  const auto name_some = [&](const char* side, const PackedItems& items,
                             const std::vector<std::size_t>& left_over) {
    for (std::size_t k = 0; k < std::min(left_over.size(), kNamedItems); ++k) {
      const ItemRecord item = items[left_over[k]];
      result.unpaired.push_back(
          fmt::format("{}: {}", side, item.source_id.empty() ? item.id : item.source_id));
    }
  };
  name_some("A", items_a, pairing.only_a);
  name_some("B", items_b, pairing.only_b);
  if (values_a.empty()) return;
  result.mean_a = mean(values_a);
  result.mean_b = mean(values_b);
  if (!fractional || values_a.size() < 2) return;
  result.fractions = paired_t(values_a, values_b);
  std::vector<double> differences(values_a.size());
  for (std::size_t i = 0; i < differences.size(); ++i) differences[i] = values_b[i] - values_a[i];
  result.bootstrap = bootstrap(differences, {}, {.task = result.task});
}

// A number that the probes of a server found, where the model was one; else 0.
double probed(const Record& record, std::initializer_list<const char*> path) {
  const Json* at = &*record.environment;
  for (const char* member : path) {
    if (!at->is_object() || !at->contains(member)) return 0;
    at = &at->at(member);
  }
  return at->is_number() ? std::max(0.0, at->get<double>()) : 0;
}

double noise_of(const Record& record) {
  return probed(record, {"server", "noise", "max_abs_log_prob"});
}

// Of an emulated device the last bit of logits from 8 to 16, which nanochat's cap of 15 keeps them
// below: they are stored as its products are. Of a server what its probe found.
double logit_step_of(const Record& record) {
  for (const NumericsEntry& entry : record.numerics)
    if (entry.item == "matmul_output")
      return entry.value == "bf16" ? 0x1p-4 : entry.value == "fp16" ? 0x1p-7 : 0;
  return probed(record, {"server", "logit_step"});
}

Result<void> fill(ItemComparison& result, const StoredRecord& a, const StoredRecord& b) {
  if (is_imported(a.record) || is_imported(b.record)) {
    NB_TRY(const StoredItems items_a, stored_items(a, result.task));
    NB_TRY(const StoredItems items_b, stored_items(b, result.task));
    fill_imported(result, items_a.get(), items_b.get());
    result.unscored_a = unscored(items_a.get());
    result.unscored_b = unscored(items_b.get());
  } else {
    NB_TRY_VOID(fill_ours(result, a, b));
  }
  const auto digest = [&](const Record& record) {
    return record.artifacts.at(record.items.at(result.task));
  };
  result.identical = digest(a.record) == digest(b.record);
  result.margins.set_noise(std::max(noise_of(a.record), noise_of(b.record)));
  result.margins.set_logit_step(std::max(logit_step_of(a.record), logit_step_of(b.record)));
  return {};
}

}  // namespace

ItemComparison compare_items(const StoredRecord& a, const StoredRecord& b,
                             const std::string& task) {
  ItemComparison result;
  result.task = task;
  if (const auto filled = fill(result, a, b); !filled) {
    result = {};
    result.task = task;
    result.error = filled.error().message;
  }
  return result;
}

}  // namespace nb
