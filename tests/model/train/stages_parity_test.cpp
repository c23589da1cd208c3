// Whole stages held against what nanochat's scripts do on PyTorch with the same documents and
// conversations (tests/golden/stages_parity.py), through the stages' own functions: batches token
// for token, losses, gradients and updates of ten updates each. In float64 there, in plain fp32
// here.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>

#include "harness/base/fs.hpp"
#include "harness/base/json_io.hpp"
#include "harness/base/progress.hpp"
#include "model/optim/groups.hpp"
#include "model/train/checkpoint.hpp"
#include "model/train/identity.hpp"
#include "tests/model/train/tiny_chat.hpp"
#include "tests/support/decoder_golden.hpp"

namespace nb::stages {
namespace {

// What was asked for. The largest are 8e-6, 7e-5 (an update is the difference of two rounded
// weights) and 5e-7, those of a float32 run of the script itself 3e-5, 9e-5 and 5e-7.
constexpr double kGradientTolerance = 1e-5, kUpdateTolerance = 1e-4, kLossTolerance = 1e-5;
const std::string kGolden = NB_SOURCE_DIR "/tests/golden/stages_parity";
const std::string kDrawn = NB_SOURCE_DIR "/tests/golden/stages_drawn.json";

const Json& golden() {
  static const Json json = read_json(kGolden + ".json").value();
  return json;
}

bool accepts() {
  const char* accept = std::getenv("NB_ACCEPT");
  return accept != nullptr && std::string(accept) == "1";
}

// Norm, then the products with vectors of random signs: seen() there.
std::vector<double> seen(std::span<const double> values) {
  double squares = 0;
  for (const double value : values) squares += value * value;
  std::vector<double> out = {std::sqrt(squares)};
  const int signs = golden().at("signs");
  for (int k = 0; k < signs; ++k) {
    double sum = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const bool is_negative = test::golden_uniform(5000 + static_cast<std::uint64_t>(k), i, 1) < 0;
      sum += is_negative ? -values[i] : values[i];
    }
    out.push_back(sum);
  }
  return out;
}

std::vector<const Parameter*> trained(const Decoder& decoder) {
  std::vector<const Parameter*> all;
  for (const std::vector<Parameter>* some :
       {&decoder.parameters(), &decoder.adapters().parameters()})
    for (const Parameter& p : *some)
      if (p.is_trained) all.push_back(&p);
  return all;
}

using Values = std::map<std::string, std::vector<double>>;

Values values_of(const Decoder& decoder) {
  Values values;
  for (const Parameter* p : trained(decoder)) {
    const std::span<const float> host = p->value.host();
    values[p->name] = {host.begin(), host.end()};
  }
  return values;
}

struct Update {
  std::vector<Batch> batches;
  double loss = 0, rate = 0;
  std::int64_t step = 0;      // as the optimizers were told
  Values gradients, changes;  // seen()
};

// What a stage lends, kept.
class Listener {
 public:
  // Ends the run as if it had been killed after that many updates.
  explicit Listener(std::size_t most) {
    observer_.on_batch = [this](const Batch& batch) { batches_.push_back(batch); };
    observer_.on_gradients = [this](const ObservedUpdate& seen_now) {
      Update& update = updates_.emplace_back();
      update.batches = std::move(batches_);
      batches_.clear();
      update.loss = seen_now.loss;
      update.rate = seen_now.point.lr_multiplier;
      update.step = seen_now.point.step;
      for (const Parameter* p : trained(seen_now.decoder)) {
        const std::span<const float> host = p->grad.host();
        update.gradients[p->name] = seen(std::vector<double>(host.begin(), host.end()));
      }
      before_ = values_of(seen_now.decoder);
      if (first_.empty()) first_ = before_;
    };
    observer_.on_update = [this, most](const ObservedUpdate& seen_now) {
      for (auto& [name, values] : values_of(seen_now.decoder)) {
        const std::vector<double>& before = before_.at(name);
        for (std::size_t i = 0; i < values.size(); ++i) values[i] -= before[i];
        updates_.back().changes[name] = seen(values);
      }
      if (updates_.size() == most) throw test::Killed();
    };
  }
  const StageObserver& observer() const { return observer_; }
  const std::vector<Update>& updates() const { return updates_; }
  const Values& first() const { return first_; }  // values before any update

 private:
  StageObserver observer_;
  std::vector<Batch> batches_;
  std::vector<Update> updates_;
  Values before_, first_;
};

Json to_json(const Batch& batch) {
  return {{"rows", batch.rows}, {"inputs", batch.inputs}, {"targets", batch.targets}};
}

class StagesParity : public testing::TestWithParam<std::size_t> {
 protected:
  static void SetUpTestSuite() { set_progress_mode(ProgressMode::kQuiet); }
  const Json& golden_case() const { return golden().at("cases").at(GetParam()); }
  std::string case_name() const { return golden_case().at("name"); }

  static std::vector<Conversation> conversations(std::size_t count) {
    std::vector<Conversation> all;
    for (std::size_t i = 0; i < count; ++i) {
      const Json& one = golden().at("conversations").at(i);
      all.push_back({{user_says(one.at(0)), assistant_says(one.at(1).get<std::string>())}});
    }
    return all;
  }

  // parameters_of() there, and in RL's case likely answers.
  void set_weights(Decoder& decoder) const {
    test::set_golden_weights(decoder);
    if (golden_case().at("stage") != "rl") return;
    Parameter& head = decoder.parameters().back();
    const std::string likely = golden().at("likely");
    std::vector<int> tokens(likely.begin(), likely.end());
    tokens.push_back(tokenizer_.special("<|assistant_end|>"));
    const auto width = static_cast<std::size_t>(decoder.config().n_embd);
    for (const int token : tokens)
      for (std::size_t i = 0; i < width; ++i)
        head.value.host()[static_cast<std::size_t>(token) * width + i] *=
            golden_case().at("likelier").get<float>();
    if (!golden_case().contains("opposed")) return;
    for (std::size_t i = 0; i < width; ++i)
      head.value.host()[static_cast<std::size_t>(tokens[1]) * width + i] =
          -head.value.host()[static_cast<std::size_t>(tokens[0]) * width + i];
  }

  // take_moments() there: streams go by the order of the weights in parameters_of().
  static void set_moments(const Decoder& decoder, Optimizers optimizers) {
    std::vector<std::string> names = {"transformer.wte.weight", "lm_head.weight"};
    for (const Parameter& p : decoder.parameters())
      if (std::ranges::find(names, p.name) == names.end()) names.push_back(p.name);
    for (const auto& optimizer : optimizers) {
      optimizer->allocate_state();
      for (const NamedState& state : optimizer->state()) {
        const std::size_t at = state.name.find("transformer") == std::string::npos
                                   ? state.name.find("lm_head")
                                   : state.name.find("transformer");
        const auto stream = std::ranges::find(names, state.name.substr(at)) - names.begin();
        const bool is_second = state.name.starts_with("adamw.v");
        const float scale = state.name.starts_with("muon") ? 0x1p-6F
                            : is_second                    ? 0x1p-12F
                                                           : 0x1p-8F;
        const std::span<float> values = state.tensor->host();
        for (std::size_t i = 0; i < values.size(); ++i) {
          values[i] = test::golden_uniform(
              2000 + 2 * static_cast<std::uint64_t>(stream) + (is_second ? 1 : 0), i, scale);
          if (is_second) values[i] = std::fabs(values[i]);
        }
      }
    }
  }

  // The checkpoint that the stage goes on from.
  std::filesystem::path parent() const {
    const Json& sizes = golden().at("model");
    const DecoderConfig config = {sizes.at("sequence_len"), sizes.at("vocab_size"),
                                  sizes.at("n_layer"),      sizes.at("n_head"),
                                  sizes.at("n_kv_head"),    sizes.at("n_embd")};
    Device device(test::fp32_profile(), ExecutionMode::kExecute);
    Decoder decoder(config, device);
    set_weights(decoder);
    const auto optimizers = make_optimizers(decoder, {});
    set_moments(decoder, optimizers);
    RunProgress progress;
    progress.step = golden().at("steps_before");
    const std::filesystem::path path = checkpoint_path(before_.path(), progress.step);
    std::filesystem::create_directories(path.parent_path());
    const auto saved = save_checkpoint(path, decoder, optimizers, progress, Json::object(),
                                       identity_of_run(Json::object(), decoder, tokenizer_));
    EXPECT_TRUE(saved) << saved.error().message;
    return path;
  }

  template <class Settings>
  Settings settings() const {
    auto parsed = parse_struct<Settings>(golden_case().at("settings"), case_name());
    EXPECT_TRUE(parsed) << parsed.error().message;
    return *parsed;
  }

  // BASE makes its own first weights. A run that is killed before its first update leaves them in a
  // checkpoint, which is given the golden's, and goes on from there.
  Result<TrainResult> run_base(const TrainHooks& hooks) const {
    const Json& documents = golden().at("conversations");
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < golden_case().at("documents").get<std::size_t>(); ++i)
      texts.push_back(documents.at(i).at(0).get<std::string>() + " " +
                      documents.at(i).at(1).get<std::string>());
    std::vector<TokenShard> shards;
    shards.push_back(TokenShard::encode(texts, tokenizer_));
    TrainSettings asked = settings<TrainSettings>();
    asked.keep_steps = {0};
    const auto go_on = [&](const TrainHooks& with) -> Result<TrainResult> {
      NB_TRY(TokenLoader documents_of_training, TokenLoader::create(shards));
      NB_TRY(TokenLoader documents_of_validation, TokenLoader::create(shards));
      Device device(test::fp32_profile(), ExecutionMode::kExecute);
      return train(asked, device, {documents_of_training, documents_of_validation, tokenizer_},
                   folder_.path(), with);
    };
    StageObserver killer;
    killer.on_batch = [](const Batch&) { throw test::Killed(); };
    TrainHooks before_any;
    before_any.observer = &killer;
    EXPECT_THROW(static_cast<void>(go_on(before_any)), test::Killed);
    const std::filesystem::path first = checkpoint_path(folder_.path(), 0);
    {
      NB_TRY(const SafetensorsFile file, SafetensorsFile::open(first));
      NB_TRY(const DecoderConfig config, read_model_config(file));
      Device device(test::fp32_profile(), ExecutionMode::kExecute);
      Decoder decoder(config, device);
      const auto optimizers = make_optimizers(decoder, {});
      NB_TRY(const LoadedRun loaded,
             load_checkpoint(file, decoder, optimizers, TrainingStage::kBase));
      NB_TRY(const std::string identity, file.text("identity"));
      NB_TRY(const Json parsed, parse_json(identity, first.string()));
      set_weights(decoder);
      NB_TRY_VOID(
          save_checkpoint(first, decoder, optimizers, loaded.progress, *loaded.loader, parsed));
    }
    return go_on(hooks);
  }

  Result<TrainResult> run_stage(const TrainHooks& hooks) const {
    if (golden_case().at("stage") == "base") return run_base(hooks);
    NB_TRY(const SafetensorsFile file, SafetensorsFile::open(parent()));
    const ParentCheckpoint from{file, "golden weights"};
    Device device(test::fp32_profile(), ExecutionMode::kExecute);
    const std::string stage = golden_case().at("stage");
    const auto& folder = folder_.path();
    if (stage == "dpo") {
      std::vector<Preference> pairs;
      for (const Json& one : golden().at("pairs")) {
        const std::string question = one.at(0), chosen = one.at(1), rejected = one.at(2);
        pairs.push_back({{{user_says(question), assistant_says(chosen)}},
                         {{user_says(question), assistant_says(rejected)}}});
      }
      NB_TRY(const PreferenceSet set,
             render_preferences(tokenizer_, pairs, kMaxConversationTokens, "pairs"));
      return train_dpo(settings<DpoSettings>(), device, {set, set, tokenizer_}, from, folder,
                       hooks);
    }
    if (stage == "rl") {
      std::vector<Conversation> asked;
      for (const Json& one : golden_case().at("questions"))
        asked.push_back({{user_says(one.at(0)), assistant_says(one.at(1).get<std::string>())}});
      NB_TRY(const QuestionSet set,
             questions_of(tokenizer_, asked, kMaxConversationTokens, "questions"));
      return train_rl(settings<RlSettings>(), device, {set, set, tokenizer_}, from, folder, hooks);
    }
    NB_TRY(const ConversationSet set,
           render_conversations(tokenizer_, conversations(golden_case().at("conversations")),
                                kMaxConversationTokens, "conversations"));
    const ChatData data{set, set, tokenizer_};
    if (stage == "mid")
      return train_mid(settings<MidSettings>(), device, data, from, folder, hooks);
    return train_sft(settings<SftSettings>(), device, data, from, folder, hooks);
  }

  std::size_t updates_per_rollout() const {
    return golden_case().at("settings").value("updates_per_rollout", std::size_t{1});
  }
  Json wanted_batches(std::size_t update) const {
    if (golden_case().contains("batches")) return golden_case().at("batches").at(update);
    return read_json(kDrawn).value().at(case_name()).at(update / updates_per_rollout());
  }

  // What the script reads: samples of RL, first adapters.
  void write_drawn(const Listener& listener) const {
    Json drawn = Json::object();
    if (std::filesystem::exists(kDrawn)) drawn = read_json(kDrawn).value();
    const Json& asked = golden_case().at("settings");
    if (golden_case().at("stage") == "rl") {
      Json steps = Json::array();
      for (std::size_t u = 0; u < listener.updates().size(); u += updates_per_rollout()) {
        Json passes = Json::array();
        for (const Batch& batch : listener.updates()[u].batches) passes.push_back(to_json(batch));
        steps.push_back(passes);
      }
      drawn[case_name()] = steps;
    } else if (asked.contains("lora")) {
      Json adapters = Json::object();
      for (const auto& [name, values] : listener.first())
        if (name.ends_with(".lora_a")) adapters[name.substr(0, name.size() - 7)] = values;
      drawn["lora"] = adapters;
    }
    EXPECT_TRUE(write_file(kDrawn, drawn.dump() + "\n")) << kDrawn;
  }

  Tokenizer tokenizer_ = byte_tokenizer();
  const test::TempDir before_, folder_;
};

// The root mean square of the products' differences over the wanted norm.
double difference(const std::vector<double>& have, std::span<const float> wanted) {
  double squares = 0;
  for (std::size_t k = 1; k < wanted.size(); ++k) {
    const double delta = have[k] - static_cast<double>(wanted[k]);
    squares += delta * delta;
  }
  const double rms = std::sqrt(squares / static_cast<double>(wanted.size() - 1));
  const auto norm = static_cast<double>(wanted[0]);
  return norm > 0 ? rms / norm : rms;
}

TEST_P(StagesParity, EveryUpdateIsThatOfPyTorch) {
  Listener listener(golden_case().value("updates", std::size_t{0}));
  TrainHooks hooks;
  hooks.observer = &listener.observer();
  try {
    const auto result = run_stage(hooks);
    ASSERT_TRUE(result) << result.error().message;
  } catch (const test::Killed&) {
  }
  if (accepts()) return write_drawn(listener);

  const std::vector<double> losses = golden_case().at("losses");
  ASSERT_GE(losses.size(), 10U);
  ASSERT_EQ(listener.updates().size(), losses.size());
  const auto reference = SafetensorsFile::open(kGolden + ".safetensors");
  ASSERT_TRUE(reference) << reference.error().message;
  const std::vector<std::string> names = golden_case().at("tensors");
  const std::size_t width = golden().at("signs").get<std::size_t>() + 1;
  const auto table = [&](const char* what) {
    return reference
        ->read_floats(case_name() + "/" + what,
                      {std::ssize(losses), static_cast<std::int64_t>(names.size() * width)})
        .value();
  };
  const std::vector<float> gradients = table("gradients"), updates = table("updates");
  // Policy losses cross zero.
  const double largest =
      std::fabs(std::ranges::max(losses, {}, [](double l) { return std::fabs(l); }));
  double worst_loss = 0, worst_gradient = 0, worst_update = 0;
  const bool keeps = case_name().starts_with("packed");
  for (std::size_t u = 0; u < losses.size(); ++u) {
    SCOPED_TRACE(u);
    const Update& update = listener.updates()[u];
    EXPECT_EQ(update.step, static_cast<std::int64_t>(u) +
                               (keeps ? golden().at("steps_before").get<std::int64_t>() : 0));
    Json batches = Json::array();
    for (const Batch& batch : update.batches) batches.push_back(to_json(batch));
    ASSERT_EQ(batches, wanted_batches(u));
    EXPECT_NEAR(update.rate, golden_case().at("rates").at(u).get<double>(), 1e-12);
    EXPECT_NEAR(update.loss, losses[u], kLossTolerance * largest);
    worst_loss = std::max(worst_loss, std::fabs(update.loss - losses[u]) / largest);
    ASSERT_EQ(update.gradients.size(), names.size());
    for (std::size_t n = 0; n < names.size(); ++n) {
      SCOPED_TRACE(names[n]);
      const std::size_t at = (u * names.size() + n) * width;
      const double gradient =
          difference(update.gradients.at(names[n]), std::span(gradients).subspan(at, width));
      const double change =
          difference(update.changes.at(names[n]), std::span(updates).subspan(at, width));
      EXPECT_LE(gradient, kGradientTolerance);
      EXPECT_LE(change, kUpdateTolerance);
      worst_gradient = std::max(worst_gradient, gradient);
      worst_update = std::max(worst_update, change);
    }
  }
  for (const auto& [what, worst] :
       {std::pair{"loss", worst_loss}, std::pair{"gradient", worst_gradient},
        std::pair{"update", worst_update}})
    RecordProperty(std::string("worst_relative_difference_of_a_") + what,
                   std::to_string(worst * 1e6) + "e-6");
}

INSTANTIATE_TEST_SUITE_P(
    Cases, StagesParity, testing::Range<std::size_t>(0, golden().at("cases").size()),
    [](const auto& instance) {
      return golden().at("cases").at(instance.param).at("name").template get<std::string>();
    });

}  // namespace
}  // namespace nb::stages
