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

double log_sigmoid(double x) { return std::min(x, 0.0) - pm::log1p(pm::exp(-std::fabs(x))); }
double sigmoid(double x) {
  const double e = pm::exp(-std::fabs(x));
  return x < 0 ? e / (1 + e) : 1 / (1 + e);
}

// log p - log p_old.
double moved(const PolicyObjective& p, std::size_t row, double loss) {
  return p.old_log_probs.empty() ? 0 : -loss - static_cast<double>(p.old_log_probs[row]);
}
double bounded(double log_ratio) { return std::clamp(log_ratio, -kMaxLogRatio, kMaxLogRatio); }

// What a policy objective says of one token. Gradients by the token's loss: through the ratio, and
// besides it. A loss rises as the log of its ratio falls.
struct TokenTerm {
  double loss, ratio_gradient, gradient;
  double reference_kl;
  bool is_cut_low, is_cut_high;
};

TokenTerm token_term(const PolicyObjective& p, std::size_t row, double loss, double ratio) {
  const PolicyOptions& o = p.options;
  const double log_prob = -loss, a = static_cast<double>(p.advantages[row]);
  TokenTerm t = {};
  switch (o.form) {
    case PolicyForm::kClippedRatio:
    case PolicyForm::kSequenceRatio: {
      const double clipped = std::clamp(ratio, 1 - o.clip_low, 1 + o.clip_high);
      t.is_cut_low = a < 0 && ratio < 1 - o.clip_low;
      t.is_cut_high = a > 0 && ratio > 1 + o.clip_high;
      t.loss = -std::min(ratio * a, clipped * a);
      if (!t.is_cut_low && !t.is_cut_high) t.ratio_gradient = ratio * a;
      break;
    }
    case PolicyForm::kSoftGate: {
      const double steepness = a > 0 ? o.gate_up : o.gate_down;
      const double gate = sigmoid(steepness * (ratio - 1));
      t.loss = -4 / steepness * gate * a;
      t.ratio_gradient = 4 * gate * (1 - gate) * ratio * a;
      break;
    }
    case PolicyForm::kCappedConstant: {
      const double capped = std::min(ratio, 1 + o.clip_high);
      t.is_cut_high = ratio > 1 + o.clip_high;
      t.loss = -capped * a * log_prob;
      t.gradient = capped * a;
      break;
    }
  }
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
  TokenWeights(const PolicyOptions& options, std::span<const int> sequences)
      : mean_(options.mean), divisor_(options.divisor), sequences_(sequences) {
    for (const int sequence : sequences) {
      if (sequence < 0) continue;
      const auto index = static_cast<std::size_t>(sequence);
      if (index >= tokens_of_.size()) tokens_of_.resize(index + 1);
      if (tokens_of_[index]++ == 0) ++sequence_count_;
      ++tokens_;
    }
    if (options.sequences > 0) sequence_count_ = options.sequences;
  }
  std::int64_t tokens() const { return tokens_; }
  double of(std::size_t row) const {
    if (mean_ == PolicyMean::kSum) return 1 / divisor_;
    if (mean_ == PolicyMean::kTokens) return 1 / static_cast<double>(tokens_);
    return 1 / (sequence_tokens(row) * static_cast<double>(sequence_count_));
  }
  // Of the row's sequence.
  double sequence_tokens(std::size_t row) const {
    return static_cast<double>(tokens_of_[static_cast<std::size_t>(sequences_[row])]);
  }

 private:
  PolicyMean mean_;
  double divisor_;
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

// The log of every row's ratio: its own, or the mean over its sequence.
std::vector<double> log_ratios(const PolicyObjective& p, std::span<const float> losses,
                               const TokenWeights& weights) {
  std::vector<double> all(losses.size()), of_sequence(losses.size());
  const bool is_of_sequence = p.options.form == PolicyForm::kSequenceRatio;
  const auto sequence = [&](std::size_t i) { return static_cast<std::size_t>(p.sequences[i]); };
  for (std::size_t i = 0; i < losses.size(); ++i) {
    if (p.sequences[i] < 0) continue;
    all[i] = bounded(moved(p, i, static_cast<double>(losses[i])));
    of_sequence[sequence(i)] += all[i];
  }
  for (std::size_t i = 0; is_of_sequence && i < losses.size(); ++i)
    if (p.sequences[i] >= 0) all[i] = of_sequence[sequence(i)] / weights.sequence_tokens(i);
  return all;
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
  const TokenWeights weights(policy.options, policy.sequences);
  const std::vector<double> log_ratio = log_ratios(policy, losses, weights);
  const bool is_of_sequence = policy.options.form == PolicyForm::kSequenceRatio;
  std::vector<double> slopes(losses.size()), through_sequence(losses.size());
  const auto is_out_of_bounds = [&](std::size_t row) {
    const double value = moved(policy, row, static_cast<double>(losses[row]));
    return value != bounded(value);
  };
  PolicyMetrics m;
  double total = 0;
  std::int64_t low = 0, high = 0;
  for (std::size_t i = 0; i < losses.size(); ++i) {
    if (policy.sequences[i] < 0) continue;
    const double loss = static_cast<double>(losses[i]), ratio = pm::exp(log_ratio[i]);
    const TokenTerm t = token_term(policy, i, loss, ratio);
    const double weight = weights.of(i);
    total += weight * t.loss;
    const double through_ratio = is_of_sequence || is_out_of_bounds(i) ? 0 : t.ratio_gradient;
    slopes[i] = scale * weight * (through_ratio + t.gradient);
    if (is_of_sequence)
      through_sequence[static_cast<std::size_t>(policy.sequences[i])] +=
          scale * weight * t.ratio_gradient;
    m.ratio_min = m.tokens == 0 ? ratio : std::min(m.ratio_min, ratio);
    m.ratio_max = m.tokens == 0 ? ratio : std::max(m.ratio_max, ratio);
    m.ratio_mean += ratio;
    m.old_kl += k3(moved(policy, i, loss));
    m.reference_kl += t.reference_kl;
    low += t.is_cut_low ? 1 : 0;
    high += t.is_cut_high ? 1 : 0;
    ++m.tokens;
  }
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    if (is_of_sequence && policy.sequences[i] >= 0 && !is_out_of_bounds(i))
      slopes[i] += through_sequence[static_cast<std::size_t>(policy.sequences[i])] /
                   weights.sequence_tokens(i);
    gradient[i] = static_cast<float>(slopes[i]);
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
