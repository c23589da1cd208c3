// The rules of sampling beyond temperature and top_k: worked-out values, a plain reference in
// double, and the distribution of what is drawn.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "harness/base/check.hpp"
#include "harness/base/rng.hpp"
#include "model/engine/logit_rules.hpp"
#include "model/engine/sampler.hpp"

namespace nb {
namespace {

constexpr float kTaken = -std::numeric_limits<float>::infinity();

using Doubles = std::vector<double>;

std::vector<float> logs(const Doubles& probabilities) {
  std::vector<float> logits;
  for (const double p : probabilities) logits.push_back(static_cast<float>(std::log(p)));
  return logits;
}

Doubles shares(const std::vector<float>& weights) {
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  Doubles of_sum;
  for (const float weight : weights) of_sum.push_back(weight / sum);
  return of_sum;
}

void expect_near(const Doubles& actual, const Doubles& expected, const std::string& what) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    EXPECT_NEAR(actual[i], expected[i], 1e-6) << what << ", id " << i;
    EXPECT_TRUE(expected[i] > 0 || actual[i] == 0) << what << ", id " << i;
  }
}

struct WorkedOut {
  std::string name;
  std::vector<float> logits;
  SamplingRule rule;
  Doubles expected;
};

// Worked out in double from vLLM's and vllm-ascend's definitions.
TEST(SamplingRule, WorkedOutDistributions) {
  const std::vector<float> four = logs({.4, .3, .2, .1});
  const SamplingOptions p75{.top_p = .75};
  const SamplingOptions p75_full{.top_p = .75, .sampler = SamplerKind::kFullSoftmaxTopP};
  const std::vector<WorkedOut> goldens = {
      {"top_k 3, top_p .75", four, {1, 3, p75}, {.571429, .428571, 0, 0}},
      {"the same of the full softmax", four, {1, 3, p75_full}, {.444444, .333333, .222222, 0}},
      {"T .8, top_k 3, top_p .9", four, {.8, 3, {.top_p = .9}}, {.472054, .329472, .198474, 0}},
      {"min_p .3", four, {1, {}, {.min_p = .3}}, {.444444, .333333, .222222, 0}},
      {"min_p .3, T .5", four, {.5, {}, {.min_p = .3}}, {.64, .36, 0, 0}},
      {"top_k 2 with ties",
       {2, 1, 1, 1, 0},
       {1, 2, {.ties = TopKTies::kAll}},
       {.475367, .174878, .174878, .174878, 0}},
      {"top_k 2, lowest ids", {2, 1, 1, 1, 0}, {1, 2, {}}, {.731059, .268941, 0, 0, 0}}};
  for (const WorkedOut& golden : goldens)
    expect_near(shares(sampling_weights(golden.logits, golden.rule)), golden.expected, golden.name);
}

TEST(SamplingRule, WorkedOutPenalties) {
  std::vector<float> logits = {2, -1, .5F, 1};
  change_logits(logits,
                {.repetition_penalty = 1.25, .frequency_penalty = .5, .presence_penalty = .25},
                {.prompt = std::vector<int>{0, 1}, .tokens = std::vector<int>{3, 3, 1}});
  const Doubles expected = {1.6, -2, .5, -.45};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(logits[i], expected[i], 1e-6) << i;
}

// The definitions once more in double, in their order and with plain loops.
Doubles by_definition(const std::vector<float>& logits, const SamplingRule& rule,
                      const std::vector<int>& prompt, const std::vector<int>& tokens) {
  const double gone = -std::numeric_limits<double>::infinity();
  const SamplingOptions& o = rule.options;
  Doubles z(logits.begin(), logits.end());
  const auto has = [](const std::vector<int>& ids, std::size_t id) {
    return std::ranges::count(ids, static_cast<int>(id)) > 0;
  };
  for (std::size_t i = 0; i < z.size(); ++i)
    if (!o.allowed.empty() && !has(o.allowed, i)) z[i] = gone;
  for (const std::vector<int>& words : o.bad_words) {
    std::vector<int> end = tokens;
    end.push_back(words.back());
    if (end.size() >= words.size() && std::equal(words.rbegin(), words.rend(), end.rbegin()))
      z[static_cast<std::size_t>(words.back())] = gone;
  }
  for (std::size_t i = 0; i < z.size(); ++i) {
    if (std::ssize(tokens) < o.min_tokens && has(o.min_tokens_ids, i)) z[i] = gone;
    if (o.logit_bias.contains(static_cast<int>(i)))
      z[i] += std::clamp(o.logit_bias.at(static_cast<int>(i)), -100.0, 100.0);
    if (has(prompt, i) || has(tokens, i))
      z[i] = z[i] > 0 ? z[i] / o.repetition_penalty : z[i] * o.repetition_penalty;
    z[i] -=
        o.frequency_penalty * static_cast<double>(std::ranges::count(tokens, static_cast<int>(i)));
    if (has(tokens, i)) z[i] -= o.presence_penalty;
  }
  const auto best = static_cast<std::size_t>(std::ranges::max_element(z) - z.begin());
  if (rule.temperature < 1e-5) {
    Doubles greedy(z.size(), 0);
    greedy[best] = 1;
    return greedy;
  }
  for (double& value : z) value /= std::max(rule.temperature, .01);
  const auto softmax = [&] {
    Doubles p;
    double sum = 0;
    for (const double value : z) sum += std::exp(value - z[best]);
    for (const double value : z) p.push_back(std::exp(value - z[best]) / sum);
    return p;
  };
  const Doubles with_all = softmax();
  for (std::size_t i = 0; i < z.size(); ++i)
    if (with_all[i] < o.min_p * with_all[best]) z[i] = gone;
  const bool is_full = o.sampler == SamplerKind::kFullSoftmaxTopP;
  const Doubles before_k = softmax();
  if (rule.top_k && std::cmp_less(*rule.top_k, z.size())) {
    Doubles sorted = z;
    std::ranges::sort(sorted, std::greater<>());
    const double kth = sorted[static_cast<std::size_t>(*rule.top_k) - 1];
    int left =
        *rule.top_k - static_cast<int>(std::ranges::count_if(z, [&](double v) { return v > kth; }));
    const bool keeps_all = is_full || o.ties == TopKTies::kAll;
    for (double& value : z)
      if (value < kth || (value == kth && !keeps_all && left-- <= 0)) value = gone;
  }
  if (o.top_p < 1) {
    const Doubles p = is_full ? before_k : softmax();
    std::vector<std::size_t> order(p.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(
        order, [&](std::size_t a, std::size_t b) { return p[a] != p[b] ? p[a] < p[b] : a > b; });
    double sum = 0;
    double cutoff = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
      sum += p[order[i]];
      const bool stays = sum > 1 - o.top_p || i + 1 == order.size();
      if (stays && cutoff == 0) cutoff = p[order[i]];
      if (!stays && !is_full) z[order[i]] = gone;
    }
    for (std::size_t i = 0; i < z.size(); ++i)
      if (is_full && p[i] < cutoff) z[i] = gone;
  }
  return softmax();
}

// P(χ² of so many degrees of freedom >= x).
double chi_square_tail(double x, int degrees) {
  const double half = x / 2;
  double a = degrees % 2 == 0 ? 1 : .5;
  double tail = degrees % 2 == 0 ? std::exp(-half) : std::erfc(std::sqrt(half));
  for (; a < degrees / 2.0; ++a) tail += std::exp(a * std::log(half) - half - std::lgamma(a + 1));
  return tail;
}

std::vector<int> counts_of(const std::vector<float>& logits, const SamplingRule& rule,
                           const SampleHistory& history, int draws) {
  const Rng rng(44, "test/sampler_rules");
  std::vector<int> counts(logits.size());
  for (int i = 0; i < draws; ++i)
    ++counts[static_cast<std::size_t>(
        sample_token(logits, rule, rng.uniform(static_cast<std::uint64_t>(i)), history))];
  return counts;
}

// Of the counts being drawn from the probabilities; 0 where one was drawn that cannot be.
double chance_of(const std::vector<int>& counts, const Doubles& probabilities) {
  const int draws = std::accumulate(counts.begin(), counts.end(), 0);
  double sum = 0;
  int degrees = -1;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (probabilities[i] == 0) {
      if (counts[i] > 0) return 0;
      continue;
    }
    const double expected = draws * probabilities[i];
    sum += (counts[i] - expected) * (counts[i] - expected) / expected;
    ++degrees;
  }
  return degrees == 0 ? 1 : chi_square_tail(sum, degrees);
}

TEST(SamplingRule, TailOfChiSquareIsRight) {
  EXPECT_NEAR(chi_square_tail(3.841459, 1), .05, 1e-6);
  EXPECT_NEAR(chi_square_tail(5.991465, 2), .05, 1e-6);
  EXPECT_NEAR(chi_square_tail(14.06714, 7), .05, 1e-6);
}

TEST(SamplingRule, DrawsFollowEveryRule) {
  const std::vector<float> logits = {1.5F, .5F, 1, .5F, -1, .5F, 0, -.5F};
  const std::vector<int> prompt = {0, 6}, tokens = {2, 3, 2};
  const std::vector<std::pair<std::string, SamplingRule>> rules = {
      {"all off", {1, {}, {}}},
      {"temperature", {.7, {}, {}}},
      {"top_k", {1, 3, {}}},
      {"ties", {1, 3, {.ties = TopKTies::kAll}}},
      {"top_p", {1, {}, {.top_p = .6}}},
      {"min_p", {1, {}, {.min_p = .3}}},
      {"repetition", {1, {}, {.repetition_penalty = 1.7}}},
      {"frequency", {1, {}, {.frequency_penalty = .8}}},
      {"presence", {1, {}, {.presence_penalty = -1.5}}},
      {"bias", {1, {}, {.logit_bias = {{4, 2}, {0, -1000}}}}},
      {"allowed", {1, {}, {.allowed = {7, 1, 3}}}},
      {"min_tokens", {1, {}, {.min_tokens = 4, .min_tokens_ids = {0, 5}}}},
      {"bad words", {1, {}, {.bad_words = {{3, 2, 1}, {2, 3, 5}, {0}}}}},
      {"full softmax", {1, 5, {.top_p = .7, .sampler = SamplerKind::kFullSoftmaxTopP}}},
      {"many",
       {1.3,
        6,
        {.top_p = .85,
         .min_p = .05,
         .repetition_penalty = 1.2,
         .presence_penalty = .3,
         .logit_bias = {{7, .5}},
         .ties = TopKTies::kAll}}}};
  for (const auto& [name, rule] : rules) {
    const Doubles expected = by_definition(logits, rule, prompt, tokens);
    expect_near(shares(sampling_weights(logits, rule, {prompt, tokens})), expected, name);
    EXPECT_GT(chance_of(counts_of(logits, rule, {prompt, tokens}, 100'000), expected), 1e-4)
        << name;
  }
}

// Where a rule does nothing to this row it would be no test of it.
TEST(SamplingRule, AgreesWithTheDefinitionsOnRandomRules) {
  const Rng rng(3, "test/random_rules");
  std::uint64_t at = 0;
  const auto below = [&](std::uint64_t n) { return static_cast<int>(rng.below(at++, n)); };
  for (int trial = 0; trial < 3000; ++trial) {
    std::vector<float> logits;
    for (int i = 0; i < 12; ++i)
      logits.push_back(trial % 2 == 0 ? static_cast<float>(below(9) - 4) / 2
                                      : static_cast<float>(2 * rng.normal(at++)));
    std::vector<int> prompt, tokens;
    for (int i = below(6); i > 0; --i) prompt.push_back(below(12));
    for (int i = below(6); i > 0; --i) tokens.push_back(below(12));
    SamplingRule rule;
    rule.temperature = below(8) == 0 ? 0 : .2 + 2 * rng.uniform(at++);
    if (below(2) == 0) rule.top_k = 1 + below(14);
    SamplingOptions& o = rule.options;
    if (below(2) == 0) o.top_p = .05 + .9 * rng.uniform(at++);
    if (below(3) == 0) o.min_p = .6 * rng.uniform(at++);
    if (below(3) == 0) o.repetition_penalty = .5 + rng.uniform(at++);
    if (below(3) == 0) o.frequency_penalty = 2 * rng.uniform(at++) - 1;
    if (below(3) == 0) o.presence_penalty = 2 * rng.uniform(at++) - 1;
    if (below(3) == 0) o.logit_bias[below(12)] = 6 * rng.uniform(at++) - 3;
    if (below(4) == 0) o.allowed = {0, 2, 4, 6, 7, 8, 11};
    if (below(4) == 0) {
      o.min_tokens = below(6);
      o.min_tokens_ids = {2, 3};
    }
    if (below(4) == 0) o.bad_words = {{below(12)}, {below(12), below(12)}};
    if (below(2) == 0) o.ties = TopKTies::kAll;
    if (below(3) == 0) o.sampler = SamplerKind::kFullSoftmaxTopP;
    expect_near(shares(sampling_weights(logits, rule, {prompt, tokens})),
                by_definition(logits, rule, prompt, tokens), std::to_string(trial));
    if (HasFailure()) return;
  }
}

TEST(SamplingRule, TwentyThousandDrawsTellTheFullSoftmaxFromVllm) {
  const std::vector<float> logits = logs({.4, .3, .2, .1});
  const SamplingRule vllm{1, 3, {.top_p = .75}};
  SamplingRule full = vllm;
  full.options.sampler = SamplerKind::kFullSoftmaxTopP;
  const Doubles of_vllm = {4 / 7.0, 3 / 7.0, 0, 0}, of_full = {4 / 9.0, 3 / 9.0, 2 / 9.0, 0};
  EXPECT_GT(chance_of(counts_of(logits, vllm, {}, 20'000), of_vllm), 1e-4);
  EXPECT_GT(chance_of(counts_of(logits, full, {}, 20'000), of_full), 1e-4);
  EXPECT_EQ(chance_of(counts_of(logits, full, {}, 20'000), of_vllm), 0);
  EXPECT_LT(chance_of(counts_of(logits, vllm, {}, 20'000), of_full), 1e-10);
}

// Rows of 500 logits with ties, 20,000 draws; the digest is that of the sampler before it had
// options.
TEST(SamplingRule, AllOffDrawsTheSameTokensAsEver) {
  const Rng rng(5, "test/all_off");
  std::uint64_t at = 0;
  std::uint64_t digest = 0xcbf29ce484222325ULL;
  for (int row = 0; row < 20; ++row) {
    std::vector<float> logits;
    for (int i = 0; i < 500; ++i)
      logits.push_back(static_cast<float>(std::floor(rng.normal(at++) * 64) / 16));
    for (int draw = 0; draw < 1000; ++draw) {
      SamplingRule rule;
      rule.temperature = draw % 10 == 0 ? 0 : 0.004 * (draw % 500) + 1e-6;
      if (draw % 3 == 0) rule.top_k = 1 + draw % 77;
      const int token = sample_token(logits, rule, rng.uniform(at++));
      digest = (digest ^ static_cast<std::uint64_t>(token)) * 0x100000001b3ULL;
    }
  }
  EXPECT_EQ(digest, 15355119744666409682ULL);
}

// An option that cuts nothing draws what the plain rule draws.
TEST(SamplingRule, OptionsThatDoNothingChangeNoBit) {
  const std::vector<float> logits = {1.5F, .25F, 1, .5F, -1, 2, 0, -.5F};
  const SamplingRule plain{.9, 5, {}};
  SamplingRule with_options = plain;
  with_options.options.ties = TopKTies::kAll;
  with_options.options.sampler = SamplerKind::kFullSoftmaxTopP;
  with_options.options.min_tokens_ids = {3};
  EXPECT_EQ(sampling_weights(logits, with_options), sampling_weights(logits, plain));
}

TEST(SamplingRule, TheLargestIsNeverTaken) {
  const std::vector<float> logits = {0, 3, 1, 3, 2};
  const std::vector<int> tokens = {4};
  const auto only = [&](const SamplingOptions& options) {
    const std::vector<float> weights = sampling_weights(logits, {1, {}, options}, {{}, tokens});
    EXPECT_EQ(std::ranges::count_if(weights, [](float w) { return w > 0; }), 1);
    return static_cast<int>(std::ranges::max_element(weights) - weights.begin());
  };
  EXPECT_EQ(only({.top_p = 1e-12}), 1);
  EXPECT_EQ(only({.top_p = 1e-300, .min_p = .5}), 1);
  EXPECT_EQ(only({.bad_words = {{0}, {1}, {2}, {3}, {4}}}), 1);
  EXPECT_EQ(only({.allowed = {2, 4}, .bad_words = {{2}, {4, 4}}}), 4);
  EXPECT_EQ(only({.min_tokens = 9, .min_tokens_ids = {0, 1, 2, 3, 4}}), 1);
  EXPECT_EQ(only({.allowed = {0, 2}, .min_tokens = 9, .min_tokens_ids = {2, 0}}), 2);
  // The largest after the penalties.
  EXPECT_EQ(only({.top_p = 1e-12, .logit_bias = {{0, 3.5}}}), 0);
}

TEST(SamplingRule, EvenMinPOfOneKeepsEqualOnes) {
  const std::vector<float> weights =
      sampling_weights(std::vector<float>{0, 3, 1, 3}, {1, {}, {.min_p = 1}});
  EXPECT_EQ(weights, (std::vector<float>{0, 1, 0, 1}));
}

TEST(SamplingRule, SmallTemperaturesAreVllms) {
  const std::vector<float> logits = {1, 1.03125F, 1};
  SamplingRule rule{1e-6, {}, {.ties = TopKTies::kAll}};
  EXPECT_EQ(sampling_weights(logits, rule), (std::vector<float>{0, 1, 0}));
  rule.temperature = 1e-3;  // is .01
  const Doubles of_weights = shares(sampling_weights(logits, rule));
  EXPECT_NEAR(of_weights[0] / of_weights[1], std::exp(-3.125), 1e-6);
}

TEST(SamplingRule, PenaltiesMakeNoInfinity) {
  std::vector<float> logits = {3e38F, -3e38F, 1};
  const std::vector<int> tokens = {0, 1};
  change_logits(logits, {.repetition_penalty = 1e-30, .frequency_penalty = 2}, {{}, tokens});
  EXPECT_TRUE(std::isfinite(logits[0]) && std::isfinite(logits[1]));
  change_logits(logits, {.repetition_penalty = 1e30, .frequency_penalty = 2}, {{}, tokens});
  EXPECT_TRUE(std::isfinite(logits[0]) && std::isfinite(logits[1]));
}

TEST(SamplingRule, WhatMayNotComeStaysTakenThroughBiasAndPenalties) {
  std::vector<float> logits = {1, 2, 3};
  const std::vector<int> tokens = {1};
  change_logits(logits, {.frequency_penalty = -2, .logit_bias = {{1, 100}}, .allowed = {0, 2}},
                {{}, tokens});
  EXPECT_EQ(logits, (std::vector<float>{1, kTaken, 3}));
}

TEST(SamplingOptions, SayInOneSentenceWhatIsOutOfRange) {
  const double nan = std::nan("");
  const std::vector<std::pair<SamplingOptions, std::string>> wrong = {
      {{.top_p = 0}, "top_p is 0: above 0 and at most 1, 1 keeps all tokens"},
      {{.top_p = 1.01}, "top_p is 1.01: above 0 and at most 1, 1 keeps all tokens"},
      {{.top_p = nan}, "top_p is nan: above 0 and at most 1, 1 keeps all tokens"},
      {{.min_p = -.1}, "min_p is -0.1: from 0 to 1, 0 keeps all tokens"},
      {{.min_p = 1.5}, "min_p is 1.5: from 0 to 1, 0 keeps all tokens"},
      {{.repetition_penalty = 0}, "repetition_penalty is 0: above 0, 1 changes nothing"},
      {{.frequency_penalty = 2.5}, "frequency_penalty is 2.5: from -2 to 2, 0 changes nothing"},
      {{.presence_penalty = -3}, "presence_penalty is -3: from -2 to 2, 0 changes nothing"},
      {{.logit_bias = {{8, 1}}}, "logit_bias has token 8: ids go from 0 to 7"},
      {{.logit_bias = {{7, nan}}}, "logit_bias of token 7 is nan: a finite number"},
      {{.allowed = {0, -1}}, "allowed has token -1: ids go from 0 to 7"},
      {{.min_tokens = -1}, "min_tokens is -1: at least 0"},
      {{.min_tokens_ids = {9}}, "min_tokens_ids has token 9: ids go from 0 to 7"},
      {{.bad_words = {{1}, {}}}, "bad_words has an empty sequence: at least one token each"},
      {{.bad_words = {{1, 8}}}, "bad_words has token 8: ids go from 0 to 7"}};
  for (const auto& [options, sentence] : wrong)
    EXPECT_EQ(trouble_with(options, 8).value_or("nothing"), sentence);
  EXPECT_FALSE(trouble_with({}, 8));
  EXPECT_FALSE(trouble_with({.top_p = 1e-9, .min_p = 1, .logit_bias = {{7, 1e9}}}, 8));
  EXPECT_FALSE(trouble_with(2, 1, {}, 8));
  EXPECT_EQ(trouble_with(2.1, {}, {}, 8).value_or(""),
            "temperature is 2.1: from 0 to 2, 0 takes the most likely token");
  EXPECT_EQ(trouble_with(-1, {}, {}, 8).value_or(""),
            "temperature is -1: from 0 to 2, 0 takes the most likely token");
  EXPECT_EQ(trouble_with(1, 0, {}, 8).value_or(""), "top_k is 0: at least 1");
  EXPECT_THROW(sample_token(std::vector<float>{1, 2}, {1, {}, {.top_p = 2}}, 0), CheckFailure);
}

}  // namespace
}  // namespace nb
