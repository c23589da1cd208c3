// Objectives of chat training against plain PyTorch in double precision (tests/golden/
// objectives_parity.py): gradients of the first step, losses of 10 optimizer steps and what the
// objectives say besides, from random weights. Everything fp32 here. `--float32` of that script
// says how far PyTorch's own fp32 is: 4.3e-7 in gradients, 9.5e-7 in losses.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>

#include "harness/base/json_io.hpp"
#include "model/decoder/decoder.hpp"
#include "model/device/device.hpp"
#include "model/ops/objectives.hpp"
#include "model/optim/groups.hpp"
#include "model/train/advantages.hpp"
#include "model/train/rl_objective.hpp"
#include "model/train/safetensors.hpp"
#include "tests/support/decoder_golden.hpp"

namespace nb {
namespace {

constexpr double kGradientTolerance = 1e-5;  // ‖Δ‖ / ‖gradient‖
constexpr double kLossTolerance = 1e-5;      // relative
constexpr double kNearZero = 1e-6;  // or of the largest loss of the run: policy losses cross zero
const std::string kGolden = NB_SOURCE_DIR "/tests/golden/objectives_parity";

const Json& golden() {
  static const Json json = read_json(kGolden + ".json").value();
  return json;
}

// A model, its batches, and what one step does: backward, and what the objective said.
class GoldenRun {
 public:
  explicit GoldenRun(const Json& golden_case) : case_(golden_case) {
    const Json& model = golden().at("model");
    const DecoderConfig config = {model.at("sequence_len"), model.at("vocab_size"),
                                  model.at("n_layer"),      model.at("n_head"),
                                  model.at("n_kv_head"),    model.at("n_embd")};
    batch_ = model.at("batch");
    policy_ = std::make_unique<Decoder>(config, device_);
    reference_ = std::make_unique<Decoder>(config, device_);
    for (Decoder* decoder : {policy_.get(), reference_.get()}) test::set_golden_weights(*decoder);
  }

  Decoder& policy() { return *policy_; }
  Json metrics() const { return metrics_; }

  double backward(std::int64_t step) {
    const std::string name = case_.at("name");
    return name == "sft"   ? sft(step)
           : name == "rl"  ? rl(step)
           : name == "dpo" ? dpo(step)
                           : grpo(step);
  }

 private:
  using Floats = std::vector<float>;
  std::int64_t time() const { return policy_->config().sequence_len; }

  // conversation_batch() there.
  test::GoldenTokens conversations(std::int64_t index) const {
    const std::int64_t vocab = policy_->config().vocab_size;
    test::GoldenTokens tokens = test::golden_tokens(index, batch_, time(), vocab, 0);
    for (std::int64_t r = 0; r < batch_; ++r)
      for (std::int64_t t = 0; t < time(); ++t) {
        const auto at = static_cast<std::size_t>(r * time() + t);
        const bool is_padding = t >= time() - (r + index) % 4;
        if (is_padding) tokens.inputs[at] = static_cast<int>(vocab) - 1;
        if (is_padding || t < 2 + r % 3) tokens.targets[at] = -1;
      }
    return tokens;
  }

  // rewards_of() there, after those that are in `to`.
  void add_rewards(const test::GoldenTokens& tokens, std::vector<double>& to) const {
    for (std::int64_t r = 0; r < batch_; ++r) {
      std::int64_t sum = 0;
      for (std::int64_t t = 0; t < time(); ++t)
        sum += std::max(tokens.targets[static_cast<std::size_t>(r * time() + t)], 0);
      to.push_back(sum % 3 == 0 ? 1 : 0);
    }
  }

  Floats log_probs(Decoder& decoder, const test::GoldenTokens& tokens) const {
    Floats all(tokens.targets.size());
    decoder.score_tokens(tokens.inputs, tokens.targets, batch_, time(), all, {});
    return all;
  }

  double train(const test::GoldenTokens& tokens, const TokenObjective& objective) {
    return static_cast<double>(
        policy_->objective_and_backward(tokens.inputs, tokens.targets, batch_, time(), objective));
  }

  static double valid(const test::GoldenTokens& tokens) {
    return static_cast<double>(
        std::ranges::count_if(tokens.targets, [](int target) { return target >= 0; }));
  }

  double sft(std::int64_t step) {
    const std::int64_t micro_batches = case_.at("micro_batches");
    double loss = 0;
    for (std::int64_t m = 0; m < micro_batches; ++m) {
      const test::GoldenTokens tokens = conversations(step * micro_batches + m);
      const Floats weights(
          tokens.targets.size(),
          static_cast<float>(1 / (valid(tokens) * static_cast<double>(micro_batches))));
      loss += train(tokens, [&](const Tensor& l) { return ops::weighted_sum(l, weights); });
    }
    return loss;
  }

  double rl(std::int64_t step) {
    const std::int64_t examples = case_.at("examples"), passes = case_.at("passes");
    double loss = 0;
    for (std::int64_t example = 0; example < examples; ++example) {
      std::vector<test::GoldenTokens> batches;
      std::vector<double> rewards;
      for (std::int64_t pass = 0; pass < passes; ++pass) {
        batches.push_back(conversations((step * examples + example) * passes + pass));
        add_rewards(batches.back(), rewards);
      }
      const auto advantages = *group_advantages(rewards, std::ssize(rewards), AdvantageKind::kMean);
      for (std::size_t pass = 0; pass < batches.size(); ++pass) {
        const double shared = valid(batches[pass]) * static_cast<double>(passes * examples);
        Floats weights;
        for (std::int64_t r = 0; r < batch_; ++r) {
          const double advantage =
              advantages[pass * static_cast<std::size_t>(batch_) + static_cast<std::size_t>(r)];
          weights.insert(weights.end(), static_cast<std::size_t>(time()),
                         static_cast<float>(advantage / shared));
        }
        loss +=
            train(batches[pass], [&](const Tensor& l) { return ops::weighted_sum(l, weights); });
      }
    }
    return loss;
  }

  double grpo(std::int64_t step) {
    const std::int64_t updates = case_.at("updates");
    const test::GoldenTokens tokens = conversations(step / updates);
    if (step % updates == 0) old_ = log_probs(*policy_, tokens);
    std::vector<double> rewards;
    add_rewards(tokens, rewards);
    const auto of_rows = *group_advantages(rewards, case_.at("group"), AdvantageKind::kMeanStd);
    Floats advantages;
    for (const double one : of_rows)
      advantages.insert(advantages.end(), static_cast<std::size_t>(time()),
                        static_cast<float>(one));
    // The settings that a suite would say.
    Json asked = {{"objective", case_.at("name") == "grpo" ? Json("clipped") : case_.at("name")},
                  {"device_batch_size", batch_},
                  {"kl_weight", case_.at("kl_weight")}};
    for (const char* name : {"clip_low", "clip_high", "gate_up", "gate_down"})
      if (case_.contains(name)) asked[name] = case_.at(name);
    if (case_.contains("longest_answer")) asked["max_new_tokens"] = case_.at("longest_answer");
    const RlSettings settings = parse_struct<RlSettings>(asked, "golden").value();
    const Floats reference = log_probs(*reference_, tokens);
    const std::vector<int> sequences = ops::sequences_of(tokens.targets, time());
    const auto said = std::make_shared<ops::PolicyMetrics>();
    const double loss = train(tokens, [&](const Tensor& l) {
      return ops::policy_loss(l, {old_, reference, advantages, sequences}, policy_options(settings),
                              1, said);
    });
    metrics_ = {{"ratio_min", said->ratio_min},
                {"ratio_max", said->ratio_max},
                {"clip_fraction", said->clip_low_fraction + said->clip_high_fraction},
                {"reference_kl", said->reference_kl}};
    return loss;
  }

  double dpo(std::int64_t step) {
    const test::GoldenTokens tokens = conversations(step);
    const Floats reference = log_probs(*reference_, tokens);
    const auto answer = [&](std::int64_t row) {
      const ops::RowSpan rows = {row * time(), (row + 1) * time()};
      return std::pair(
          rows, std::accumulate(reference.begin() + rows.begin, reference.begin() + rows.end, 0.0));
    };
    std::vector<ops::PreferencePair> pairs;
    for (std::int64_t row = 0; row < batch_; row += 2) {
      const auto [chosen, of_chosen] = answer(row);
      const auto [rejected, of_rejected] = answer(row + 1);
      pairs.push_back({chosen, rejected, of_chosen, of_rejected});
    }
    const auto said = std::make_shared<ops::PreferenceMetrics>();
    const double loss = train(tokens, [&](const Tensor& l) {
      return ops::preference_loss(
          l, pairs, {.beta = case_.at("beta"), .label_smoothing = case_.at("label_smoothing")}, 1,
          said);
    });
    metrics_ = {{"margin", said->margin}, {"accuracy", said->accuracy}};
    return loss;
  }

  Json case_, metrics_;
  std::int64_t batch_ = 0;
  Device device_{test::fp32_profile(), ExecutionMode::kExecute};
  std::unique_ptr<Decoder> policy_, reference_;
  Floats old_;
};

class ObjectivesParity : public testing::TestWithParam<std::size_t> {
 protected:
  const Json& golden_case() const { return golden().at("cases").at(GetParam()); }
  double largest_loss() const {
    double largest = 0;
    for (const double loss : golden_case().at("losses"))
      largest = std::max(largest, std::fabs(loss));
    return largest;
  }
  double tolerance_of(double loss) const {
    return std::max(kLossTolerance * std::fabs(loss), kNearZero * largest_loss());
  }
};

TEST_P(ObjectivesParity, GradientsOfEveryTensorAreThoseOfPyTorch) {
  const auto reference = SafetensorsFile::open(kGolden + ".safetensors");
  ASSERT_TRUE(reference) << reference.error().message;
  GoldenRun run(golden_case());
  const double first = golden_case().at("losses")[0];
  EXPECT_NEAR(run.backward(0), first, tolerance_of(first));
  double worst = 0;
  for (const Parameter& p : run.policy().parameters()) {
    const auto wanted =
        reference->read_floats(golden_case().at("name").get<std::string>() + "/" + p.name,
                               {p.value.shape()[0], p.value.shape()[1]});
    ASSERT_TRUE(wanted) << wanted.error().message;
    double difference = 0, norm = 0;
    for (std::size_t i = 0; i < wanted->size(); ++i) {
      const auto expected = static_cast<double>((*wanted)[i]);
      const double delta = static_cast<double>(p.grad.host()[i]) - expected;
      difference += delta * delta;
      norm += expected * expected;
    }
    EXPECT_GT(norm, 0) << p.name;
    EXPECT_LE(std::sqrt(difference / norm), kGradientTolerance) << p.name;
    worst = std::max(worst, std::sqrt(difference / norm));
  }
  RecordProperty("worst_relative_gradient_difference", std::to_string(worst * 1e6) + "e-6");
}

TEST_P(ObjectivesParity, LossesOfOptimizerStepsAreThoseOfPyTorch) {
  const std::int64_t steps = golden().at("steps");
  const double fraction = golden_case().at("lr_frac");
  GoldenRun run(golden_case());
  const OptimizerRates rates;
  const auto optimizers =
      make_optimizers(run.policy(), {.embedding_lr = rates.embedding_lr * fraction,
                                     .unembedding_lr = rates.unembedding_lr * fraction,
                                     .matrix_lr = rates.matrix_lr * fraction});
  double worst = 0;
  for (std::int64_t step = 0; step < steps; ++step) {
    SCOPED_TRACE(step);
    const auto at = static_cast<std::size_t>(step);
    const double expected = golden_case().at("losses")[at], loss = run.backward(step);
    EXPECT_NEAR(loss, expected, tolerance_of(expected));
    worst = std::max(worst, std::fabs(loss - expected) / largest_loss());
    const Json said = golden_case().contains("metrics") ? golden_case().at("metrics")[at] : Json();
    for (const auto& [name, value] : said.items())
      EXPECT_NEAR(run.metrics().at(name).get<double>(), value.get<double>(), 1e-5) << name;
    const double lrm = 1 - static_cast<double>(step) / static_cast<double>(steps);
    for (const auto& optimizer : optimizers) optimizer->step({step, lrm, 0.95});
    run.policy().zero_grad();
  }
  RecordProperty("worst_loss_difference_over_the_largest", std::to_string(worst * 1e6) + "e-6");
}

INSTANTIATE_TEST_SUITE_P(
    Cases, ObjectivesParity, testing::Range<std::size_t>(0, 9), [](const auto& instance) {
      return golden().at("cases").at(instance.param).at("name").template get<std::string>();
    });

}  // namespace
}  // namespace nb
