#include "model/train/rl_rollout.hpp"

#include "harness/base/check.hpp"
#include "harness/base/cpython_hash.hpp"
#include "model/tokenizer/tokenizer.hpp"

namespace nb {
namespace {

// plan.seed 42 gives the reference's own seeds.
std::uint64_t seed_of(std::int64_t step, std::size_t question, std::int64_t request,
                      std::uint64_t seed) {
  constexpr std::uint64_t kReferenceSeed = 42, kLow31 = 0x7FFFFFFF;
  const std::uint64_t items[] = {static_cast<std::uint64_t>(step), question,
                                 static_cast<std::uint64_t>(request)};
  return (cpython_tuple_hash(items) & kLow31) ^ (seed ^ kReferenceSeed) << 31;
}

}  // namespace

std::vector<Rollout> roll_out(LanguageModel& model, const QuestionSet& set,
                              std::span<const std::size_t> questions, std::int64_t step,
                              const RolloutPlan& plan) {
  NB_CHECK(plan.num_samples % plan.samples_a_seed == 0, "[rollout] {} samples, {} a request",
           plan.num_samples, plan.samples_a_seed);
  const std::int64_t requests_each = plan.num_samples / plan.samples_a_seed;
  std::vector<GenerateRequest> requests;
  for (const std::size_t question : questions)
    for (std::int64_t request = 0; request < requests_each; ++request) {
      GenerateRequest one;
      one.prompt = set.questions[question].prompt;
      one.num_samples = static_cast<int>(plan.samples_a_seed);
      one.max_tokens = plan.max_new_tokens;
      one.temperature = plan.temperature;
      if (plan.top_k) one.top_k = static_cast<int>(*plan.top_k);
      one.seed = seed_of(step, question, request, plan.seed);
      one.shares_first_token = plan.shares_first_token;
      requests.push_back(std::move(one));
    }
  const std::vector<GenerateResult> results = model.generate(requests);
  std::vector<Rollout> rollouts;
  for (std::size_t r = 0; r < results.size(); ++r) {
    const std::size_t question = questions[r / static_cast<std::size_t>(requests_each)];
    const Question& asked = set.questions[question];
    for (const GeneratedSample& sample : results[r].samples) {
      Rollout rollout{question, asked.prompt, std::vector<std::uint8_t>(asked.prompt.size(), 0), 0};
      rollout.ids.insert(rollout.ids.end(), sample.tokens.begin(), sample.tokens.end());
      rollout.mask.insert(rollout.mask.end(), sample.mask.begin(), sample.mask.end());
      rollout.reward = reward_of(model.tokenizer().decode(sample.tokens), asked.gold);
      rollouts.push_back(std::move(rollout));
    }
  }
  return rollouts;
}

}  // namespace nb
