#include "results/compare/pairing.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "results/compare/pairing_captured.hpp"
#include "results/messages/sentences.hpp"

namespace nb {
namespace {

using Records = std::vector<const StoredRecord*>;

constexpr std::string_view kAccepted = "accepted.";  // plan.hpp: kAcceptedPrefix

auto identity(const Record& r) { return std::tie(r.kind, r.name, r.trained_on, r.device, r.seed); }

auto without_seed(const Record& r) { return std::tie(r.kind, r.name, r.trained_on, r.device); }

Records evaluations(const Records& records) {
  Records found;
  for (const StoredRecord* stored : records)
    if (stored->record.kind == "eval") found.push_back(stored);
  return found;
}

std::set<std::string> tasks_of(const Record& record) {
  std::set<std::string> tasks;
  for (const auto& [task, file] : record.items) tasks.insert(task);
  return tasks;
}

bool have_common_metric(const Record& a, const Record& b) {
  const auto is_common = [](const std::vector<Metric>& left, const std::vector<Metric>& right) {
    return std::ranges::any_of(left, [&](const Metric& metric) {
      return std::ranges::find(right, metric.name, &Metric::name) != right.end();
    });
  };
  return is_common(a.metrics, b.metrics) || is_common(a.host_metrics, b.host_metrics);
}

// A folder that holds one evaluation names it by its model and task set; another model or device
// gives another name.
void pair_only_evaluations(Pairing& pairing, PairAcross across) {
  const Records left = evaluations(pairing.only_a), right = evaluations(pairing.only_b);
  if (left.size() != 1 || right.size() != 1) return;
  const Record &a = left[0]->record, &b = right[0]->record;
  if (is_imported(a) || is_imported(b)) {  // what they have in common is compared
    if (!have_common_metric(a, b)) return;
    pairing.pairs.push_back({left[0], right[0], message("pair.names", describe(a), describe(b))});
    std::erase(pairing.only_a, left[0]);
    std::erase(pairing.only_b, right[0]);
    return;
  }
  if (a.seed != b.seed || tasks_of(a).empty() || tasks_of(a) != tasks_of(b)) return;
  if (a.device != b.device && across != PairAcross::kDevices) return;
  pairing.pairs.push_back(
      {left[0], right[0], message("pair.only_evaluations", describe(a), describe(b))});
  std::erase(pairing.only_a, left[0]);
  std::erase(pairing.only_b, right[0]);
}

// Of one stage each side has one record, and one of them is imported.
void pair_stages(Pairing& pairing) {
  const auto alike = [](const StoredRecord* x, const StoredRecord* y) {
    return x->record.kind == y->record.kind && stage_of(x->record) == stage_of(y->record);
  };
  for (const StoredRecord* left : Records(pairing.only_a)) {
    if (stage_of(left->record).empty()) continue;
    const auto fits = [&](const StoredRecord* other) { return alike(left, other); };
    const auto right = std::ranges::find_if(pairing.only_b, fits);
    if (std::ranges::count_if(pairing.only_a, fits) != 1 || right == pairing.only_b.end() ||
        std::ranges::count_if(pairing.only_b, fits) != 1)
      continue;
    const Record &a = left->record, &b = (*right)->record;
    if (!is_imported(a) && !is_imported(b)) continue;
    if (!have_common_metric(a, b)) continue;
    pairing.pairs.push_back(
        {left, *right,
         a.kind == "eval"
             ? message("pair.only_evaluations_of", stage_of(a), describe(a), describe(b))
             : message("pair.only_trainings_of", stage_of(a), describe(a), describe(b))});
    pairing.only_b.erase(right);
    std::erase(pairing.only_a, left);
  }
}

void pair_across_devices(Pairing& pairing) {
  for (const StoredRecord* left : Records(pairing.only_a)) {
    const auto fits = [&](const StoredRecord* right) {
      const Record &a = left->record, &b = right->record;
      return std::tie(a.kind, a.name, a.seed) == std::tie(b.kind, b.name, b.seed) &&
             a.device != b.device;
    };
    if (std::count_if(pairing.only_b.begin(), pairing.only_b.end(), fits) != 1) continue;
    const auto right = std::find_if(pairing.only_b.begin(), pairing.only_b.end(), fits);
    pairing.pairs.push_back(
        {left, *right,
         message("pair.across_devices", describe(left->record), describe((*right)->record))});
    pairing.only_b.erase(right);
    std::erase(pairing.only_a, left);
  }
}

// "accepted.sft.chat" of B is the evaluation once more of what "sft.chat" of A evaluated. A's own
// such records look at a run before it: nothing of B answers them.
void pair_evaluated_again(const RunRecords& a, Pairing& pairing) {
  const auto is_again = [](const StoredRecord* stored) {
    return stored->record.kind == "eval" && stored->record.name.starts_with(kAccepted);
  };
  std::erase_if(pairing.only_a, is_again);
  for (const StoredRecord* right : Records(pairing.only_b)) {
    if (!is_again(right)) continue;
    const Record& again = right->record;
    const auto left = std::ranges::find_if(a.records, [&](const StoredRecord& stored) {
      const Record& r = stored.record;
      return r.kind == "eval" && r.name == again.name.substr(kAccepted.size()) &&
             std::tie(r.trained_on, r.device, r.seed) ==
                 std::tie(again.trained_on, again.device, again.seed) &&
             has_same_weights(r, again);
    });
    if (left == a.records.end()) continue;
    auto renamed = std::make_shared<StoredRecord>(*left);
    renamed->record.name = again.name;
    pairing.pairs.push_back({renamed.get(), right, {}});
    pairing.renamed.push_back(std::move(renamed));
    std::erase(pairing.only_b, right);
  }
}

void split_unmatched(Pairing& pairing) {
  std::vector<UnmatchedSeeds> groups;
  const auto paired = [&](const Record& record) {
    return std::any_of(pairing.pairs.begin(), pairing.pairs.end(), [&](const PairedRecords& pair) {
      return without_seed(pair.a->record) == without_seed(record);
    });
  };
  for (const StoredRecord* left : pairing.only_a) {
    if (!left->record.seed || paired(left->record)) continue;
    const auto same = [&](const StoredRecord* other) {
      return other->record.seed && without_seed(other->record) == without_seed(left->record);
    };
    if (std::any_of(groups.begin(), groups.end(),
                    [&](const UnmatchedSeeds& group) { return same(group.a[0]); }))
      continue;
    UnmatchedSeeds group;
    std::copy_if(pairing.only_a.begin(), pairing.only_a.end(), std::back_inserter(group.a), same);
    std::copy_if(pairing.only_b.begin(), pairing.only_b.end(), std::back_inserter(group.b), same);
    if (!group.b.empty()) groups.push_back(std::move(group));
  }
  for (const UnmatchedSeeds& group : groups) {
    for (const StoredRecord* stored : group.a) std::erase(pairing.only_a, stored);
    for (const StoredRecord* stored : group.b) std::erase(pairing.only_b, stored);
  }
  std::ranges::move(groups, std::back_inserter(pairing.unmatched));
}

}  // namespace

Pairing pair_records(const RunRecords& a, const RunRecords& b, PairAcross across) {
  Pairing pairing;
  std::set<const StoredRecord*> used;
  for (const StoredRecord& left : a.records) {
    const auto right = std::find_if(b.records.begin(), b.records.end(), [&](const auto& other) {
      return identity(other.record) == identity(left.record) &&
             (!left.record.name.starts_with(kAccepted) ||
              has_same_weights(left.record, other.record));
    });
    if (right == b.records.end()) {
      pairing.only_a.push_back(&left);
      continue;
    }
    used.insert(&*right);
    pairing.pairs.push_back({&left, &*right, {}});
  }
  for (const StoredRecord& right : b.records)
    if (!used.contains(&right)) pairing.only_b.push_back(&right);
  pair_evaluated_again(a, pairing);
  if (across == PairAcross::kDevices) {
    pair_across_devices(pairing);
    pair_captured(pairing);
  }
  pair_only_evaluations(pairing, across);
  pair_stages(pairing);
  split_unmatched(pairing);
  return pairing;
}

Result<Pairing> pair_devices(const RunRecords& run, const std::string& device_a,
                             const std::string& device_b) {
  std::set<std::string> devices;
  for (const StoredRecord& stored : run.records)
    if (!stored.record.device.empty()) devices.insert(stored.record.device);
  for (const std::string& device : {device_a, device_b})
    if (!devices.contains(device)) {
      std::string known;
      for (const std::string& one : devices) known += (known.empty() ? "" : ", ") + one;
      return bad_input(fmt::format("{}: has no record of device \"{}\"; it has: {}",
                                   run.path.string(), device, known.empty() ? "none" : known));
    }
  Pairing pairing;
  std::set<const StoredRecord*> used;
  for (const StoredRecord& left : run.records) {
    if (left.record.device != device_a) continue;
    for (const StoredRecord& right : run.records) {
      const Record &l = left.record, &r = right.record;
      const bool own = l.trained_on == device_a && r.trained_on == device_b;
      const bool same_task = std::tie(l.kind, l.name, l.seed) == std::tie(r.kind, r.name, r.seed);
      if (r.device != device_b || !same_task || (l.trained_on != r.trained_on && !own)) continue;
      used.insert(&left);
      used.insert(&right);
      pairing.pairs.push_back({&left, &right, {}});
    }
  }
  for (const StoredRecord& stored : run.records)
    if (!used.contains(&stored)) {
      if (stored.record.device == device_a) pairing.only_a.push_back(&stored);
      if (stored.record.device == device_b) pairing.only_b.push_back(&stored);
    }
  pair_only_evaluations(pairing, PairAcross::kDevices);
  return pairing;
}

}  // namespace nb
