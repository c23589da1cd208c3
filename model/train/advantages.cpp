#include "model/train/advantages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "harness/base/check.hpp"
#include "harness/base/portable_math.hpp"

namespace nb {
namespace {

struct KindName {
  AdvantageKind kind;
  std::string_view name;
};
constexpr std::array kNames = {
    KindName{AdvantageKind::kMean, "mean"}, KindName{AdvantageKind::kMeanStd, "mean_std"},
    KindName{AdvantageKind::kLeaveOneOut, "leave_one_out"}, KindName{AdvantageKind::kNone, "none"}};

constexpr double kStdEpsilon = 1e-8;

template <class T>
bool are_equal(std::span<const T> all) {
  return std::ranges::all_of(all, [&](const T& one) { return one == all.front(); });
}

double sum_of(std::span<const double> all) {
  double sum = 0;
  for (const double one : all) sum += one;
  return sum;
}

double standard_deviation(std::span<const double> all, double mean) {
  double squares = 0;
  for (const double one : all) squares += (one - mean) * (one - mean);
  return pm::sqrt(squares / static_cast<double>(all.size() - 1));
}

void add_advantages(std::span<const double> group, AdvantageKind kind, std::vector<double>& to) {
  if (kind == AdvantageKind::kNone) {
    to.insert(to.end(), group.begin(), group.end());
    return;
  }
  if (are_equal(group)) {
    to.insert(to.end(), group.size(), 0.0);
    return;
  }
  const auto count = static_cast<double>(group.size());
  const double sum = sum_of(group), mean = sum / count;
  const double divisor =
      kind == AdvantageKind::kMeanStd ? standard_deviation(group, mean) + kStdEpsilon : 1;
  for (const double reward : group) {
    const double baseline =
        kind == AdvantageKind::kLeaveOneOut ? (sum - reward) / (count - 1) : mean;
    to.push_back((reward - baseline) / divisor);
  }
}

// visit(group) of whole groups.
template <class T, class Visit>
void each_group(std::span<const T> all, std::int64_t size, const Visit& visit) {
  for (std::int64_t first = 0; first < std::ssize(all); first += size)
    visit(all.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(size)));
}

bool are_groups(std::size_t count, std::int64_t size) {
  return size > 0 && static_cast<std::int64_t>(count) % size == 0;
}

double share_of_equal_groups(std::span<const double> all, std::int64_t size) {
  NB_CHECK(are_groups(all.size(), size), "[advantages] {} samples in groups of {}", all.size(),
           size);
  std::int64_t groups = 0, equal = 0;
  each_group(all, size, [&](std::span<const double> group) {
    ++groups;
    equal += are_equal(group) ? 1 : 0;
  });
  return groups == 0 ? 0 : static_cast<double>(equal) / static_cast<double>(groups);
}

}  // namespace

std::string_view name(AdvantageKind kind) {
  return std::ranges::find(kNames, kind, &KindName::kind)->name;
}

Result<std::vector<double>> group_advantages(std::span<const double> rewards,
                                             std::int64_t group_size, AdvantageKind kind) {
  if (!are_groups(rewards.size(), group_size))
    return bad_input(
        fmt::format("{} rewards are no whole groups of {}: give every prompt as many "
                    "samples as a group has",
                    rewards.size(), group_size));
  if (group_size == 1 && kind != AdvantageKind::kNone)
    return bad_input(
        fmt::format("a group of one sample has no other to compare it with: \"{}\" "
                    "needs two samples a prompt or more",
                    name(kind)));
  std::vector<double> advantages;
  advantages.reserve(rewards.size());
  each_group(rewards, group_size,
             [&](std::span<const double> group) { add_advantages(group, kind, advantages); });
  return advantages;
}

double equal_reward_share(std::span<const double> rewards, std::int64_t group_size) {
  return share_of_equal_groups(rewards, group_size);
}

bool is_ratio_stuck(const ops::PolicyMetrics& metrics, std::int64_t update) {
  return update > 0 && metrics.tokens > 0 && metrics.ratio_min == 1 && metrics.ratio_max == 1;
}

std::int64_t sampler_age(std::span<const std::int64_t> steps_of_samples, std::int64_t step) {
  std::int64_t age = 0;
  for (const std::int64_t drawn_at : steps_of_samples) {
    NB_CHECK(drawn_at <= step, "[advantages] a sample of step {} in step {}", drawn_at, step);
    age = std::max(age, step - drawn_at);
  }
  return age;
}

}  // namespace nb
