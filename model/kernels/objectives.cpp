#include "model/kernels/objectives.hpp"

#include <algorithm>
#include <cmath>

#include "harness/base/check.hpp"
#include "harness/base/portable_math.hpp"

namespace nb::kernels {
namespace {

constexpr double kMaxLogRatio = 20;

void check_rows(const char* op, const char* what, std::size_t size, std::size_t rows) {
  NB_CHECK(size == rows, "[{}] {} {} for {} rows", op, size, what, rows);
}
void check_gradient(const char* op, std::span<const float> losses, std::span<float> gradient) {
  if (!gradient.empty()) check_rows(op, "gradients", gradient.size(), losses.size());
}

// exp(x) - x - 1.
double k3(double x) { return pm::expm1(x) - x; }

// What a policy objective says of one token.
struct TokenTerm {
  double loss, gradient;  // by the token's loss
  double ratio, old_kl, reference_kl;
  bool is_cut_low, is_cut_high;
};

TokenTerm token_term(const PolicyObjective& p, std::size_t row, double loss) {
  const PolicyOptions& o = p.options;
  const double log_prob = -loss, a = static_cast<double>(p.advantages[row]);
  const double moved =
      p.old_log_probs.empty() ? 0 : log_prob - static_cast<double>(p.old_log_probs[row]);
  const double log_ratio = std::clamp(moved, -kMaxLogRatio, kMaxLogRatio);
  const double ratio = pm::exp(log_ratio);
  const double clipped = std::clamp(ratio, 1 - o.clip_low, 1 + o.clip_high);
  TokenTerm t = {};
  t.ratio = ratio;
  t.old_kl = k3(moved);
  t.is_cut_low = a < 0 && ratio < 1 - o.clip_low;
  t.is_cut_high = a > 0 && ratio > 1 + o.clip_high;
  t.loss = -std::min(ratio * a, clipped * a);
  // By the log-probability -r A, so by the loss r A.
  if (!t.is_cut_low && !t.is_cut_high && log_ratio == moved) t.gradient = ratio * a;
  if (!p.reference_log_probs.empty()) {
    const double away = static_cast<double>(p.reference_log_probs[row]) - log_prob;
    t.reference_kl = k3(away);
    t.loss += o.kl_weight * t.reference_kl;
    t.gradient += o.kl_weight * pm::expm1(away);
  }
  return t;
}

// Every row's share of the mean.
class TokenWeights {
 public:
  TokenWeights(PolicyMean mean, std::span<const int> sequences)
      : mean_(mean), sequences_(sequences) {
    for (const int sequence : sequences) {
      if (sequence < 0) continue;
      const auto index = static_cast<std::size_t>(sequence);
      if (index >= tokens_of_.size()) tokens_of_.resize(index + 1);
      if (tokens_of_[index]++ == 0) ++sequence_count_;
      ++tokens_;
    }
  }
  std::int64_t tokens() const { return tokens_; }
  double of(std::size_t row) const {
    if (mean_ == PolicyMean::kSum) return 1;
    if (mean_ == PolicyMean::kTokens) return 1 / static_cast<double>(tokens_);
    const auto tokens = tokens_of_[static_cast<std::size_t>(sequences_[row])];
    return 1 / (static_cast<double>(tokens) * static_cast<double>(sequence_count_));
  }

 private:
  PolicyMean mean_;
  std::span<const int> sequences_;
  std::vector<std::int64_t> tokens_of_;
  std::int64_t tokens_ = 0, sequence_count_ = 0;
};

void check_policy(const PolicyObjective& p, std::size_t rows) {
  constexpr const char* kOp = "policy_loss";
  check_rows(kOp, "advantages", p.advantages.size(), rows);
  check_rows(kOp, "sequences", p.sequences.size(), rows);
  if (!p.old_log_probs.empty()) check_rows(kOp, "old log_probs", p.old_log_probs.size(), rows);
  if (!p.reference_log_probs.empty())
    check_rows(kOp, "reference log_probs", p.reference_log_probs.size(), rows);
  for (const int sequence : p.sequences)
    NB_CHECK(sequence >= -1 && sequence < static_cast<std::int64_t>(rows),
             "[{}] sequence {} of {} rows", kOp, sequence, rows);
}

double log_sigmoid(double x) { return std::min(x, 0.0) - pm::log1p(pm::exp(-std::fabs(x))); }
double sigmoid(double x) {
  const double e = pm::exp(-std::fabs(x));
  return x < 0 ? e / (1 + e) : 1 / (1 + e);
}

double log_prob_of(std::span<const float> losses, RowSpan rows) {
  NB_CHECK(rows.begin >= 0 && rows.begin <= rows.end && rows.end <= std::ssize(losses),
           "[preference_loss] rows {} to {} of {}", rows.begin, rows.end, losses.size());
  double sum = 0;
  for (std::int64_t i = rows.begin; i < rows.end; ++i)
    sum -= static_cast<double>(losses[static_cast<std::size_t>(i)]);
  return sum;
}

}  // namespace

float objective_loss(const WeightedSum& sum, std::span<const float> losses, double scale,
                     std::span<float> gradient) {
  check_rows("weighted_sum", "weights", sum.weights.size(), losses.size());
  check_gradient("weighted_sum", losses, gradient);
  double total = 0;
  for (std::size_t i = 0; i < losses.size(); ++i) {
    const auto weight = static_cast<double>(sum.weights[i]);
    total += weight * static_cast<double>(losses[i]);
    if (!gradient.empty()) gradient[i] = static_cast<float>(scale * weight);
  }
  return static_cast<float>(total);
}

float objective_loss(const PolicyObjective& policy, std::span<const float> losses, double scale,
                     std::span<float> gradient) {
  check_policy(policy, losses.size());
  check_gradient("policy_loss", losses, gradient);
  const TokenWeights weights(policy.options.mean, policy.sequences);
  PolicyMetrics m;
  double total = 0;
  std::int64_t low = 0, high = 0;
  for (std::size_t i = 0; i < losses.size(); ++i) {
    if (!gradient.empty()) gradient[i] = 0;
    if (policy.sequences[i] < 0) continue;
    const TokenTerm t = token_term(policy, i, static_cast<double>(losses[i]));
    const double weight = weights.of(i);
    total += weight * t.loss;
    if (!gradient.empty()) gradient[i] = static_cast<float>(scale * weight * t.gradient);
    m.ratio_min = m.tokens == 0 ? t.ratio : std::min(m.ratio_min, t.ratio);
    m.ratio_max = m.tokens == 0 ? t.ratio : std::max(m.ratio_max, t.ratio);
    m.ratio_mean += t.ratio;
    m.old_kl += t.old_kl;
    m.reference_kl += t.reference_kl;
    low += t.is_cut_low ? 1 : 0;
    high += t.is_cut_high ? 1 : 0;
    ++m.tokens;
  }
  if (policy.metrics != nullptr) {
    const double tokens = static_cast<double>(std::max<std::int64_t>(m.tokens, 1));
    m.ratio_mean /= tokens;
    m.old_kl /= tokens;
    m.reference_kl /= tokens;
    m.clip_low_fraction = static_cast<double>(low) / tokens;
    m.clip_high_fraction = static_cast<double>(high) / tokens;
    *policy.metrics = m;
  }
  return static_cast<float>(total);
}

float objective_loss(const PreferenceObjective& preference, std::span<const float> losses,
                     double scale, std::span<float> gradient) {
  check_gradient("preference_loss", losses, gradient);
  const auto [beta, smoothing] = preference.options;
  const double pairs = static_cast<double>(std::max<std::size_t>(preference.pairs.size(), 1));
  std::vector<double> slopes(gradient.size());  // an answer may stand in several pairs
  const auto add = [&](RowSpan rows, double slope) {
    if (slopes.empty()) return;
    for (std::int64_t i = rows.begin; i < rows.end; ++i)
      slopes[static_cast<std::size_t>(i)] += slope;
  };
  PreferenceMetrics m;
  double total = 0;
  std::int64_t won = 0;
  for (const PreferencePair& pair : preference.pairs) {
    const double chosen = beta * (log_prob_of(losses, pair.chosen) - pair.reference_chosen);
    const double rejected = beta * (log_prob_of(losses, pair.rejected) - pair.reference_rejected);
    const double z = chosen - rejected;
    total -= (1 - smoothing) * log_sigmoid(z) + smoothing * log_sigmoid(-z);
    // By z; and z falls by β with each loss of the chosen answer.
    const double slope = smoothing * sigmoid(z) - (1 - smoothing) * sigmoid(-z);
    add(pair.chosen, -beta * slope / pairs);
    add(pair.rejected, beta * slope / pairs);
    m.chosen_reward += chosen / pairs;
    m.rejected_reward += rejected / pairs;
    m.margin += z / pairs;
    if (z > 0) ++won;
    ++m.pairs;
  }
  for (std::size_t i = 0; i < slopes.size(); ++i)
    gradient[i] = static_cast<float>(scale * slopes[i]);
  m.accuracy = static_cast<double>(won) / pairs;
  if (preference.metrics != nullptr) *preference.metrics = m;
  return static_cast<float>(total / pairs);
}

}  // namespace nb::kernels
