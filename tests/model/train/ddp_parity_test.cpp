// BASE on two and four cards held against DistributedDataParallel of PyTorch over gloo
// (tests/golden/ddp_parity.py), through the stage: twenty steps in fp32 there and here.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "harness/base/json_io.hpp"
#include "harness/base/progress.hpp"
#include "model/optim/groups.hpp"
#include "model/train/checkpoint.hpp"
#include "model/train/data_ranks.hpp"
#include "tests/model/train/tiny_run.hpp"
#include "tests/support/decoder_golden.hpp"
#include "tests/support/temp_dir.hpp"

namespace nb::ddp {
namespace {

constexpr double kGradientTolerance = 1e-6, kTolerance = 1e-5;  // relative; asked for

const Json& golden() {
  static const Json json = read_json(NB_SOURCE_DIR "/tests/golden/ddp_parity.json").value();
  return json;
}
Json documents() {
  return read_json(NB_SOURCE_DIR "/tests/golden/stages_parity.json").value().at("conversations");
}

// Norm, then the products with vectors of random signs: seen() of stages_parity.py.
std::vector<double> seen(std::span<const float> values, std::size_t signs) {
  double squares = 0;
  for (const float value : values)
    squares += static_cast<double>(value) * static_cast<double>(value);
  std::vector<double> out = {std::sqrt(squares)};
  for (std::size_t k = 0; k < signs; ++k) {
    double sum = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto value = static_cast<double>(values[i]);
      sum += test::golden_uniform(5000 + k, i, 1) < 0 ? -value : value;
    }
    out.push_back(sum);
  }
  return out;
}

// The root mean square of the products' differences over the wanted norm: within a third the norm
// of the difference.
double difference(std::span<const float> values, const std::vector<double>& wanted) {
  const std::vector<double> have = seen(values, wanted.size() - 1);
  double squares = 0;
  for (std::size_t k = 1; k < wanted.size(); ++k)
    squares += (have[k] - wanted[k]) * (have[k] - wanted[k]);
  return std::sqrt(squares / static_cast<double>(wanted.size() - 1)) / wanted[0];
}

class DdpParity : public testing::TestWithParam<std::size_t> {
 protected:
  static void SetUpTestSuite() { set_progress_mode(ProgressMode::kQuiet); }
  const Json& wanted() const { return golden().at("cases").at(GetParam()); }

  static DeviceProfile profile() { return test::fp32_profile("ascend_910b3"); }

  // From the golden's first weights: a run that is killed before its first update leaves its own in
  // a checkpoint, which is given those.
  Result<TrainResult> run(const StageObserver& observer) {
    std::vector<std::string> texts;
    const Json all = documents();
    for (std::size_t i = 0; i < golden().at("documents").get<std::size_t>(); ++i)
      texts.push_back(all.at(i).at(0).get<std::string>() + " " +
                      all.at(i).at(1).get<std::string>());
    std::vector<TokenShard> shards;
    shards.push_back(TokenShard::encode(texts, tokenizer_));
    NB_TRY(TrainSettings asked, parse_struct<TrainSettings>(wanted().at("settings"), "settings"));
    asked.keep_steps = {0};
    const MeshSettings mesh{.dp = wanted().at("ranks")};
    const auto go_on = [&](const StageObserver& with) -> Result<TrainResult> {
      NB_TRY(TokenLoader training, TokenLoader::create(shards));
      NB_TRY(TokenLoader validation, TokenLoader::create(shards));
      Device device(profile(), ExecutionMode::kExecute, {.ranks = static_cast<int>(mesh.dp)});
      TrainHooks hooks;
      hooks.observer = &with;
      return train(asked, device, {training, validation, tokenizer_}, folder_.path(), hooks, {},
                   mesh);
    };
    StageObserver killer;
    killer.on_batch = [](const Batch&) { throw test::Killed(); };
    EXPECT_THROW(static_cast<void>(go_on(killer)), test::Killed);
    const std::filesystem::path first = checkpoint_path(folder_.path(), 0);
    NB_TRY_VOID(put_golden_weights(first, static_cast<int>(mesh.dp)));
    return go_on(observer);
  }

  Result<void> put_golden_weights(const std::filesystem::path& path, int ranks) const {
    NB_TRY(const SafetensorsFile file, SafetensorsFile::open(path));
    NB_TRY(const DecoderConfig config, read_model_config(file));
    Device device(profile(), ExecutionMode::kExecute, {.ranks = ranks});
    Decoder decoder(config, device);
    const auto optimizers = make_optimizers(decoder, {});
    NB_TRY(const LoadedRun loaded,
           load_checkpoint(file, decoder, optimizers, TrainingStage::kBase));
    NB_TRY(const std::string identity, file.text("identity"));
    NB_TRY(const Json parsed, parse_json(identity, path.string()));
    test::set_golden_weights(decoder);
    return save_checkpoint(path, decoder, optimizers, loaded.progress, *loaded.loader, parsed);
  }

  Tokenizer tokenizer_ = byte_tokenizer();
  const test::TempDir folder_;
};

TEST_P(DdpParity, TwentyStepsAreThoseOfPyTorch) {
  double worst_gradient = 0, worst_weight = 0, worst_loss = 0;
  StageObserver observer;
  observer.on_gradients = [&](const ObservedUpdate& now) {
    if (now.point.step != 0) return;
    for (const Parameter& p : now.decoder.parameters()) {
      const double away = difference(p.grad.host(), wanted().at("gradients").at(p.name));
      EXPECT_LT(away, kGradientTolerance) << p.name;
      worst_gradient = std::max(worst_gradient, away);
    }
  };
  std::vector<double> losses;
  observer.on_update = [&](const ObservedUpdate& now) {
    losses.push_back(now.loss);
    if (losses.size() < wanted().at("losses").size()) return;
    for (const Parameter& p : now.decoder.parameters()) {
      const double away = difference(p.value.host(), wanted().at("weights").at(p.name));
      EXPECT_LT(away, kTolerance) << p.name;
      worst_weight = std::max(worst_weight, away);
    }
  };
  const auto result = run(observer);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->replica_mismatch, 0);
  ASSERT_EQ(losses.size(), wanted().at("losses").size());
  for (std::size_t i = 0; i < losses.size(); ++i) {
    const double loss = wanted().at("losses").at(i);
    EXPECT_NEAR(losses[i] / loss, 1, kTolerance) << i;
    worst_loss = std::max(worst_loss, std::fabs(losses[i] / loss - 1));
  }
  for (const auto& [what, worst] :
       {std::pair{"loss", worst_loss}, std::pair{"gradient", worst_gradient},
        std::pair{"weight", worst_weight}})
    RecordProperty(std::string("worst_relative_difference_of_a_") + what,
                   std::to_string(worst * 1e6) + "e-6");
}

INSTANTIATE_TEST_SUITE_P(
    Ranks, DdpParity, testing::Range<std::size_t>(0, golden().at("cases").size()),
    [](const auto& instance) {
      return "Of" + std::to_string(
                        golden().at("cases").at(instance.param).at("ranks").template get<int>());
    });

}  // namespace
}  // namespace nb::ddp
