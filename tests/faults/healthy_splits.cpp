// How often the gate is red although nothing changed: a run with many seeds is split into two
// halves, which are gated: as they are, so that no seed occurs on both sides, and relabelled as the
// same seeds of a baseline and a candidate, so that they are paired. Both halves come from one
// program, so a red verdict is a false alarm. That relabelled seeds start from other weights is
// true and allowed. Prints two lines per device and two for all devices together.
//   nb_healthy_splits RUN [seeds a side] [splits] [seed of the draw]
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "harness/base/rng.hpp"
#include "results/gate/gate.hpp"
#include "results/store/store.hpp"

namespace nb {
namespace {

struct Tally {
  std::map<Verdict, int> nights;      // worst verdict of each split
  std::map<std::string, int> red_of;  // metric → splits in which it was red
};

bool is_red(Verdict verdict) {
  return verdict == Verdict::kRegressed || verdict == Verdict::kSuspicious;
}

std::vector<std::int64_t> seeds_of(const RunRecords& run) {
  std::set<std::int64_t> seeds;
  for (const StoredRecord& stored : run.records)
    if (stored.record.seed) seeds.insert(*stored.record.seed);
  return {seeds.begin(), seeds.end()};
}

void relabel(JsonBox& box, std::initializer_list<const char*> pointers, std::int64_t seed) {
  for (const char* pointer : pointers)
    if (const Json::json_pointer at(pointer); box->is_object() && box->contains(at))
      (*box)[at] = seed;
}

// Wherever a record holds the seed of the training: in its settings, and in what an evaluation says
// of its checkpoint.
void relabel(Record& record, std::int64_t seed) {
  record.seed = seed;
  relabel(record.settings, {"/seed", "/train/seed"}, seed);
  relabel(record.checkpoint, {"/seed", "/settings/seed"}, seed);
}

// The records of these seeds, relabelled 1, 2, … in this order, and those without a seed.
RunRecords half(const RunRecords& run, const std::vector<std::int64_t>& seeds,
                const std::string& device, bool relabels) {
  RunRecords out;
  out.path = run.path;
  for (const StoredRecord& stored : run.records) {
    if (!device.empty() && stored.record.device != device) continue;
    if (!stored.record.seed) {
      out.records.push_back(stored);
      continue;
    }
    const auto at = std::find(seeds.begin(), seeds.end(), *stored.record.seed);
    if (at == seeds.end()) continue;
    out.records.push_back(stored);
    if (relabels) relabel(out.records.back().record, 1 + (at - seeds.begin()));
  }
  return out;
}

// A permutation that depends on (seed, split) only.
std::vector<std::int64_t> shuffled(std::vector<std::int64_t> seeds, std::uint64_t seed,
                                   std::uint64_t split) {
  const Rng rng(seed, "healthy splits", split);
  for (std::size_t i = seeds.size(); i > 1; --i) std::swap(seeds[i - 1], seeds[rng.below(i, i)]);
  return seeds;
}

Tally tally(const RunRecords& run, const std::string& device, std::size_t side, int splits,
            std::uint64_t seed, bool relabels) {
  Tally result;
  GatePolicy policy;
  policy.allow_procedure_change = relabels;
  const std::vector<std::int64_t> all = seeds_of(run);
  for (int split = 0; split < splits; ++split) {
    const auto order = shuffled(all, seed, static_cast<std::uint64_t>(split));
    const auto middle = order.begin() + static_cast<std::ptrdiff_t>(side);
    const RunRecords base = half(run, {order.begin(), middle}, device, relabels);
    const RunRecords candidate =
        half(run, {middle, middle + static_cast<std::ptrdiff_t>(side)}, device, relabels);
    const GateResult night = gate(base, candidate, policy);
    ++result.nights[night.night];
    std::set<std::string> red;
    for (const TaskVerdict& verdict : night.verdicts)
      if (is_red(verdict.verdict))
        red.insert(fmt::format("{} {}", name(verdict.verdict), verdict.task()));
    for (const std::string& task : red) ++result.red_of[task];
  }
  return result;
}

constexpr double kMaxRed = 0.05, kMaxOpen = 0.5;

// Whether the shares are within their limits.
bool print(const std::string& what, const Tally& t, int splits) {
  const auto count = [&](std::initializer_list<Verdict> verdicts) {
    int sum = 0;
    for (const Verdict verdict : verdicts)
      if (const auto at = t.nights.find(verdict); at != t.nights.end()) sum += at->second;
    return sum;
  };
  const int red = count({Verdict::kRegressed, Verdict::kSuspicious});
  const int open = count({Verdict::kInconclusive});
  const int pass = count({Verdict::kPass, Verdict::kImproved});
  fmt::print(
      "{:20} {:4} splits: red {} ({:.1f} %; {} REGRESSED, {} SUSPICIOUS), can't tell {} ({:.1f} "
      "%), "
      "pass {} ({:.1f} %), other {}\n",
      what, splits, red, 100.0 * red / splits, count({Verdict::kRegressed}),
      count({Verdict::kSuspicious}), open, 100.0 * open / splits, pass, 100.0 * pass / splits,
      splits - red - open - pass);
  for (const auto& [task, times] : t.red_of) fmt::print("  {:4} × {}\n", times, task);
  const bool too_red = red > kMaxRed * splits, too_open = open > kMaxOpen * splits;
  if (too_red) fmt::print("  TOO MANY: more than {:.0f} % are red\n", 100 * kMaxRed);
  if (too_open) fmt::print("  TOO MANY: more than {:.0f} % can't tell\n", 100 * kMaxOpen);
  return !too_red && !too_open;
}

int run(const std::vector<std::string>& arguments) {
  if (arguments.empty() || arguments.size() > 4) {
    fmt::print(stderr, "nb_healthy_splits RUN [seeds a side] [splits] [seed of the draw]\n");
    return 64;
  }
  const auto number = [&](std::size_t i, long long otherwise) {
    return i < arguments.size() ? std::stoll(arguments[i]) : otherwise;
  };
  const auto side = static_cast<std::size_t>(number(1, 5));
  const int splits = static_cast<int>(number(2, 500));
  const auto seed = static_cast<std::uint64_t>(number(3, 1));
  const auto records = read_run(arguments[0]);
  if (!records) {
    fmt::print(stderr, "{}\n", records.error().message);
    return 64;
  }
  if (seeds_of(*records).size() < 2 * side || side < 1 || splits < 1) {
    fmt::print(stderr, "{}: {} seeds, which gives no two halves of {}\n", arguments[0],
               seeds_of(*records).size(), side);
    return 64;
  }
  std::set<std::string> devices;
  for (const StoredRecord& stored : records->records)
    if (stored.record.seed) devices.insert(stored.record.device);
  bool ok = true;
  for (const bool relabels : {false, true}) {
    const auto report = [&](const std::string& device, const std::string& what) {
      const Tally counts = tally(*records, device, side, splits, seed, relabels);
      ok &= print(what + (relabels ? ", paired" : ", groups"), counts, splits);
    };
    for (const std::string& device : devices) report(device, device);
    if (devices.size() > 1) report("", "all devices");
  }
  return ok ? 0 : 1;
}

}  // namespace
}  // namespace nb

int main(int argc, char** argv) { return nb::run({argv + 1, argv + argc}); }
