#include "harness/plan/expectation.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <vector>

#include "evals/task_registry.hpp"
#include "model/decoder/presets.hpp"
#include "model/kernels/matmul.hpp"
#include "model/train/settings.hpp"

namespace nb {
namespace {

// Of the matrix products' rate: what a whole step reaches with its norms, attention and optimizers.
constexpr double kStepEfficiency = 0.3;
constexpr double kTokenizerBytesPerS = 4e6;
constexpr double kCorpusBytesPerS = 2e7;
constexpr double kGeneratedDocumentBytes = 420;
constexpr double kTokensPerItem = 220;      // all choices together, few-shot examples included
constexpr double kItemBytes = 150;          // of items.jsonl
constexpr double kGeneratedItems = 180;     // of a mw/ task
constexpr double kConversationBytes = 400;  // of train.jsonl
constexpr double kConversationTokens = 100;
constexpr std::int64_t kConversationsOfFile = 5000;
constexpr double kSmallNodeBytes = 20e3;
constexpr double kTraceBytes = 1.5e6;
constexpr double kPredictionTimeS = 0.5;
constexpr double kProbesTimeS = 1;
constexpr double kBenchmarksInGroup = 8;
constexpr std::uint64_t kBaseMemoryBytes = 60'000'000;

std::uint64_t bytes(double value) { return static_cast<std::uint64_t>(std::max(value, 0.0)); }

class Expecter {
 public:
  Expecter(const Plan& plan, const Node& node, double host_flop_s)
      : plan_(plan), node_(node), flop_s_(host_flop_s * kStepEfficiency) {}

  Expectation operator()(const DatasetWork& work) const {
    const double size = corpus_bytes(work);
    return {0.1 + size / kCorpusBytesPerS, bytes(1.1 * size), kBaseMemoryBytes + bytes(3 * size)};
  }

  Expectation operator()(const TokenizerWork& work) const {
    const double size = corpus_bytes(parent_work<DatasetWork>(node_));
    return {0.1 + size / kTokenizerBytesPerS,
            bytes(40.0 * static_cast<double>(work.tokenizer.vocab_size)),
            kBaseMemoryBytes + bytes(4 * size)};
  }

  Expectation operator()(const ShardsWork&) const {
    const double size = corpus_bytes(parent_work<DatasetWork>(node_));
    return {0.1 + size / kTokenizerBytesPerS, bytes(0.8 * size),
            kBaseMemoryBytes + bytes(4 * size)};
  }

  Expectation operator()(const ConversationsWork& work) const {
    const double size = kConversationBytes * conversations(work);
    return {0.1 + size / kCorpusBytesPerS, bytes(1.1 * size), kBaseMemoryBytes + bytes(4 * size)};
  }

  Expectation operator()(const TrainWork& work) const {
    return work.base ? base(*work.base) : on_conversations(work);
  }

  Expectation base(const TrainSettings& settings) const {
    const DecoderConfig config = config_of(node_);
    const double steps = static_cast<double>(planned_iterations(settings, config));
    const double parameters = static_cast<double>(param_count(config));
    const double per_token = static_cast<double>(flops_per_token(config));
    const double validations =
        1 + (settings.eval_every > 0 ? steps / static_cast<double>(settings.eval_every) : 0);
    const double tokens = steps * static_cast<double>(settings.total_batch_tokens);
    const double val_tokens = validations * static_cast<double>(settings.eval_tokens);
    const double rows = static_cast<double>(settings.device_batch_size * settings.sequence_len);
    const double width = static_cast<double>(config.n_embd);
    const double activations =
        rows * (40 * width * static_cast<double>(config.n_layer) + 60 * width);
    // Newton–Schulz: five iterations of about 6 n³ for each n × n of the weights.
    const double optimizer = steps * 30 * parameters * width;
    Expectation expected;
    expected.time_s = (tokens * per_token + val_tokens * per_token / 3 + optimizer) / flop_s_;
    const double checkpoints = 1 + static_cast<double>(settings.keep_steps.size());
    expected.disk_bytes = bytes(24 * parameters * checkpoints + 120 * steps + kTraceBytes);
    expected.memory_bytes = kBaseMemoryBytes + bytes(24 * parameters + 4 * activations);
    return expected;
  }

  // How many updates a chat stage makes, and on how many tokens.
  struct Amount {
    double steps = 1, tokens = 0;
  };
  static Amount amount_of(const TrainWork& work, double conversations) {
    const auto steps_of = [&](std::optional<std::int64_t> given, std::int64_t epochs,
                              std::int64_t per_step) {
      if (given) return static_cast<double>(*given);
      return std::max(1.0,
                      static_cast<double>(epochs) * conversations / static_cast<double>(per_step));
    };
    if (work.mid) {
      const double tokens = kConversationTokens * conversations;
      return {tokens / static_cast<double>(work.mid->total_batch_tokens), tokens};
    }
    if (work.sft && work.sft->packed) {
      const double tokens = kConversationTokens * conversations;
      return {tokens / static_cast<double>(work.sft->packed->total_batch_tokens), tokens};
    }
    if (work.sft) {
      const std::int64_t per_step = work.sft->target_examples_per_step;
      const double steps = steps_of(work.sft->iterations, work.sft->num_epochs, per_step);
      return {steps, steps * kConversationTokens * static_cast<double>(per_step)};
    }
    if (work.dpo) {  // two answers, read by two models
      const std::int64_t per_step = work.dpo->target_examples_per_step;
      const double steps = steps_of(work.dpo->iterations, work.dpo->num_epochs, per_step);
      return {steps, 2.7 * steps * kConversationTokens * static_cast<double>(per_step)};
    }
    // An answer is generated, then trained on.
    const double steps =
        steps_of(work.rl->iterations, work.rl->num_epochs, work.rl->examples_per_step);
    const auto samples = static_cast<double>(work.rl->examples_per_step * work.rl->num_samples);
    return {steps, 2 * steps * kConversationTokens * samples};
  }

  Expectation on_conversations(const TrainWork& work) const {
    const DecoderConfig config = config_of(node_);
    const auto [steps, tokens] =
        amount_of(work, conversations(parent_work<ConversationsWork>(node_)));
    const double parameters = static_cast<double>(param_count(config));
    const double optimizer = steps * 30 * parameters * static_cast<double>(config.n_embd);
    Expectation expected;
    expected.time_s =
        (1.2 * tokens * static_cast<double>(flops_per_token(config)) + optimizer) / flop_s_;
    const double checkpoints = 1 + static_cast<double>(work.keep_steps().size());
    expected.disk_bytes = bytes(24 * parameters * checkpoints + 120 * steps + kTraceBytes);
    expected.memory_bytes = kBaseMemoryBytes + bytes(24 * parameters + 100 * tokens / steps);
    return expected;
  }

  Expectation operator()(const EvalWork& work) const {
    const DecoderConfig config =
        config_of(work.finished ? any_training() : parent(node_, NodeKind::kTrain));
    double items = 0;
    auto tasks = expand_tasks(work.evaluation.settings, "suite");
    if (tasks)
      for (const Task& task : *tasks) {
        const double rows = task.rows > 0 ? static_cast<double>(task.rows) : kGeneratedItems;
        const auto most = static_cast<double>(work.evaluation.settings.max_per_task);
        items += most >= 0 ? std::min(rows, most) : rows;
      }
    const double per_token = static_cast<double>(flops_per_token(config)) / 3;  // forward only
    Expectation expected;
    expected.time_s = 0.2 + items * kTokensPerItem * per_token / flop_s_;
    expected.disk_bytes = bytes(kItemBytes * items + kSmallNodeBytes);
    expected.memory_bytes =
        kBaseMemoryBytes + bytes(8 * static_cast<double>(param_count(config)) +
                                 4 * 8192.0 * static_cast<double>(config.vocab_size));
    return expected;
  }

  Expectation operator()(const AskWork&) const {  // never part of a plan that is forecast
    return {0, bytes(kSmallNodeBytes), kBaseMemoryBytes};
  }

  Expectation operator()(const MicroWork& work) const {
    return {1 + 2 * kBenchmarksInGroup * work.benchmark.min_time_s, bytes(kSmallNodeBytes),
            4 * kBaseMemoryBytes};
  }

  Expectation operator()(const PredictWork&) const {
    return {kPredictionTimeS, bytes(kSmallNodeBytes), kBaseMemoryBytes};
  }

  Expectation operator()(const ProbeWork&) const {
    return {kProbesTimeS, bytes(kSmallNodeBytes), 2 * kBaseMemoryBytes};
  }

 private:
  static double corpus_bytes(const DatasetWork& work) {
    if (const auto& world = work.corpus.microworld)
      return kGeneratedDocumentBytes *
             static_cast<double>(world->documents + world->lessons.value_or(0));
    return static_cast<double>(work.text_bytes);
  }

  const Node& parent(const Node& node, NodeKind kind) const {
    for (const std::size_t i : node.parents)
      if (plan_.nodes[i].kind() == kind) return plan_.nodes[i];
    return node;  // not reached: the plan gives every kind its parents
  }

  template <class W>
  const W& parent_work(const Node& node) const {
    for (const std::size_t i : node.parents)
      if (const W* work = std::get_if<W>(&plan_.nodes[i].work)) return *work;
    static const W kNone{};
    return kNone;
  }

  // Conversations for training. Of files the number is not known yet; a few thousand are usual.
  static double conversations(const ConversationsWork& work) {
    double sum = 0;
    for (const MixtureTask& task : work.mixture.train) {
      const std::int64_t rows = task.stop ? *task.stop - task.start.value_or(0)
                                          : task.size.value_or(kConversationsOfFile);
      sum += static_cast<double>(rows * task.times);
    }
    return sum;
  }

  // In place of another run's, of which the plan does not know the model.
  const Node& any_training() const {
    return *std::ranges::find_if(plan_.nodes,
                                 [](const Node& node) { return node.kind() == NodeKind::kTrain; });
  }

  // The model that a training trains: BASE says which.
  DecoderConfig config_of(const Node& train) const {
    const auto& work = std::get<TrainWork>(train.work);
    if (!work.base) return config_of(parent(train, NodeKind::kTrain));
    // The suite's check has seen that there is such a decoder.
    return decoder_config(*work.base, parent_work<TokenizerWork>(train).tokenizer.vocab_size)
        .value();
  }

  const Plan& plan_;
  const Node& node_;
  double flop_s_;
};

}  // namespace

Expectation expect(const Plan& plan, std::size_t node, double host_flop_s) {
  return std::visit(Expecter(plan, plan.nodes[node], host_flop_s), plan.nodes[node].work);
}

double measure_host_flop_s() {
  using Clock = std::chrono::steady_clock;
  constexpr std::int64_t kM = 512, kN = 256, kK = 256;
  std::vector<float> a(kM * kK, 0.5f), b(kN * kK, 0.25f), c(kM * kN);
  const auto product = [&] {
    kernels::matmul_nt({a.data(), kM, kK, kK}, {b.data(), kN, kK, kK}, {c.data(), kM, kN, kN},
                       MatmulPolicy{});
  };
  product();  // threads start, caches fill
  // The fastest of them: other work on this computer comes and goes.
  double fastest_s = 1;
  const auto start = Clock::now();
  for (auto before = start; before - start < std::chrono::milliseconds(30);) {
    product();
    const auto now = Clock::now();
    fastest_s = std::min(fastest_s, std::chrono::duration<double>(now - before).count());
    before = now;
  }
  return 2.0 * kM * kN * kK / fastest_s;
}

}  // namespace nb
