// BASE on cards that share the tokens of every sequence (context parallelism), against one card,
// through the stage that a suite runs; and mistakes of such a mesh that the same comparison finds.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "harness/base/hash.hpp"
#include "harness/base/rng.hpp"
#include "model/autograd/cut.hpp"
#include "model/collectives/world.hpp"
#include "model/decoder/parameters.hpp"
#include "model/decoder/presets.hpp"
#include "model/ops/attention.hpp"
#include "model/ops/model_parallel.hpp"
#include "model/ops/ring_attention.hpp"
#include "model/ops/transfer.hpp"
#include "model/optim/schedules.hpp"
#include "model/train/checkpoint.hpp"
#include "model/train/context_rank.hpp"
#include "model/train/mesh_step.hpp"
#include "tests/model/train/mesh_volumes.hpp"
#include "tests/model/train/sharded_run.hpp"

namespace nb {
namespace {

// As many devices, of one profile's machine and another's formats.
class Cards {
 public:
  Cards(int count, const std::string& numerics) {
    const auto profile =
        with_numerics(load_profile("ascend_910b3").value(), load_profile(numerics).value());
    for (int r = 0; r < count; ++r)
      cards_.push_back(std::make_unique<Device>(profile.value(), ExecutionMode::kExecute,
                                                DeviceOptions{.index = r, .ranks = count}));
  }
  Device& operator[](int rank) { return *cards_[static_cast<std::size_t>(rank)]; }
  std::vector<Device*> all() const {
    std::vector<Device*> devices;
    for (const auto& one : cards_) devices.push_back(one.get());
    return devices;
  }

 private:
  std::vector<std::unique_ptr<Device>> cards_;
};

using Values = std::vector<float>;

Values drawn(std::int64_t count, const char* name) {
  const Rng rng(1, name);
  Values values;
  for (std::int64_t i = 0; i < count; ++i)
    values.push_back(static_cast<float>(rng.normal(static_cast<std::uint64_t>(i))));
  return values;
}

// Rows of `width` at these positions of each of `batch` sequences; and back into the whole.
Values some_rows(const Values& whole, std::span<const std::int64_t> positions, std::int64_t batch,
                 std::int64_t time, std::int64_t width) {
  Values rows;
  for (std::int64_t b = 0; b < batch; ++b)
    for (const std::int64_t position : positions) {
      const auto at = whole.begin() + (b * time + position) * width;
      rows.insert(rows.end(), at, at + width);
    }
  return rows;
}
void put_rows(const Values& rows, std::span<const std::int64_t> positions, std::int64_t batch,
              std::int64_t time, Values& whole) {
  const auto width = std::ssize(whole) / (batch * time);
  auto from = rows.begin();
  for (std::int64_t b = 0; b < batch; ++b)
    for (const std::int64_t position : positions) {
      std::copy_n(from, width, whole.begin() + (b * time + position) * width);
      from += width;
    }
}

// y of an attention and the gradients of q, k and v for a given one of y.
using Attend = std::function<Tensor(const Tensor& q, const Tensor& k, const Tensor& v)>;
std::array<Values, 4> attended(Device& device, std::int64_t rows, const std::array<Values, 4>& in,
                               const Attend& attend) {
  std::vector<Tensor> tensors;
  for (const Values& values : in) {
    tensors.push_back(
        device.allocate({rows, std::ssize(values) / rows}, device.numerics().storage, "operand"));
    ops::upload(device, values, tensors.back(), "operand");
  }
  std::array<Values, 4> out;
  const auto keep = [&out](std::size_t at, const Tensor& tensor) {
    out[at] = Values(tensor.host().begin(), tensor.host().end());
  };
  Tape tape;
  for (std::size_t i = 0; i < 3; ++i)
    begin_at(tensors[i], [&keep, i](const Tensor& gradient) { keep(i + 1, gradient); });
  Tensor y = attend(tensors[0], tensors[1], tensors[2]);
  keep(0, y);
  tape.backward(y, tensors[3]);
  return out;
}

// The same by ranks, each with the rows of its positions: what they have, as a whole.
std::array<Values, 4> attended_by_ranks(
    int parts, const std::string& numerics, const std::array<Values, 4>& in, std::int64_t batch,
    std::int64_t time, const std::function<std::vector<std::int64_t>(int rank)>& positions,
    const std::function<Tensor(Communicator&, const Tensor&, const Tensor&, const Tensor&)>&
        attend) {
  Cards cards(parts, numerics);
  std::vector<std::array<Values, 4>> of_ranks(static_cast<std::size_t>(parts));
  const auto done = World(cards.all()).run([&](Communicator& world) {
    const std::vector<std::int64_t> here = positions(world.rank());
    std::array<Values, 4> own;
    for (std::size_t i = 0; i < in.size(); ++i)
      own[i] = some_rows(in[i], here, batch, time, std::ssize(in[i]) / (batch * time));
    of_ranks[static_cast<std::size_t>(world.rank())] = attended(
        world.device(), batch * std::ssize(here), own,
        [&](const Tensor& q, const Tensor& k, const Tensor& v) { return attend(world, q, k, v); });
  });
  EXPECT_TRUE(done) << done.error().message;
  std::array<Values, 4> whole = {in[0], in[0], in[1], in[2]};  // sizes of y, dq, dk, dv
  for (int r = 0; r < parts; ++r)
    for (std::size_t i = 0; i < whole.size(); ++i)
      put_rows(of_ranks[static_cast<std::size_t>(r)][i], positions(r), batch, time, whole[i]);
  return whole;
}

DecoderConfig small_config(std::int64_t time) {
  DecoderConfig config = preset_config("llama", 2, 40, time).value();
  config.n_head = 4;
  config.n_kv_head = 2;
  return config;
}

constexpr std::int64_t kBatch = 2, kHeads = 4, kGroups = 2, kDim = 16;
// q, k, v and dy of that many tokens.
std::array<Values, 4> operands(std::int64_t time) {
  const std::int64_t rows = kBatch * time;
  return {drawn(rows * kHeads * kDim, "q"), drawn(rows * kGroups * kDim, "k"),
          drawn(rows * kGroups * kDim, "v"), drawn(rows * kHeads * kDim, "dy")};
}
std::array<Values, 4> attended_by_one(const std::array<Values, 4>& in, const ops::HeadShape& shape,
                                      const std::string& numerics) {
  Cards cards(1, numerics);
  return attended(cards[0], shape.rows(), in,
                  [&](const Tensor& q, const Tensor& k, const Tensor& v) {
                    return ops::attention(q, k, v, shape, "attn");
                  });
}

// Forward and backward: every bit of what one card computes for the same rows.
TEST(Ulysses, AttentionHasTheBitsOfWholeSequences) {
  constexpr std::int64_t kTime = 12;
  const std::array<Values, 4> in = operands(kTime);
  for (const char* numerics : {"ascend_910b3", "cpu_ref"})
    for (const std::int64_t window : {0, 5}) {
      SCOPED_TRACE(numerics + std::to_string(window));
      const ops::HeadShape shape = {kBatch, kTime, kHeads, kGroups, kDim, window};
      EXPECT_EQ(
          attended_by_ranks(
              2, numerics, in, kBatch, kTime,
              [](int r) { return positions_of({.rank = r, .parts = 2}, kTime); },
              [&](Communicator& world, const Tensor& q, const Tensor& k, const Tensor& v) {
                return ops::columns_to_tokens(
                    ops::attention(ops::tokens_to_columns(q, kBatch, "q", world),
                                   ops::tokens_to_columns(k, kBatch, "k", world),
                                   ops::tokens_to_columns(v, kBatch, "v", world),
                                   {kBatch, kTime, kHeads / 2, kGroups / 2, kDim, window}, "attn"),
                    kBatch, "y", world);
              }),
          attended_by_one(in, shape, numerics));
    }
}

// The largest difference, as a share of the largest value.
double apart(const Values& a, const Values& b) {
  double most = 0, scale = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    most = std::max(most, std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
    scale = std::max(scale, std::abs(static_cast<double>(b[i])));
  }
  return most / scale;
}

// Whatever the number of ranks, and whichever of them has the first part.
TEST(Ring, AttentionIsThatOfWholeSequencesWithinRounding) {
  constexpr std::int64_t kTime = 48;
  const std::array<Values, 4> in = operands(kTime);
  const ops::HeadShape shape = {kBatch, kTime, kHeads, kGroups, kDim};
  for (const auto& [numerics, tolerance] :
       {std::pair{"cpu_ref", 1e-6}, std::pair{"ascend_910b3", 2e-2}}) {
    const std::array<Values, 4> whole = attended_by_one(in, shape, numerics);
    for (const int parts : {1, 2, 3, 4})
      for (const int rotation : {0, 1}) {
        SCOPED_TRACE(numerics + std::to_string(parts));
        const auto part = [parts = parts, rotation](int rank) { return (rank + rotation) % parts; };
        const std::array<Values, 4> joined = attended_by_ranks(
            parts, numerics, in, kBatch, kTime,
            [&](int r) { return ops::zigzag_positions(kTime, part(r), parts); },
            [&](Communicator& world, const Tensor& q, const Tensor& k, const Tensor& v) {
              return ops::ring_attention(q, k, v, shape, part(world.rank()), "attn", world);
            });
        for (std::size_t i = 0; i < whole.size(); ++i)
          EXPECT_LT(apart(joined[i], whole[i]), tolerance) << i;
      }
  }
}

// Rank 0 of 3 has the first chunk of six and the last.
TEST(Ring, PartsAreTwoChunksEach) {
  using Positions = std::vector<std::int64_t>;
  EXPECT_EQ(ops::zigzag_positions(12, 0, 3), (Positions{0, 1, 10, 11}));
  EXPECT_EQ(ops::zigzag_positions(12, 2, 3), (Positions{4, 5, 6, 7}));
}

enum class Mistake { kNone, kLocalPositions, kOwnTokensAlone, kShiftAfterCut, kGradientsNotSummed };

// A rank that does its part, but for a mistake.
class Mistaken final : public WeightHooks, public SequenceCut {
 public:
  Mistaken(ContextRank& rank, Decoder& decoder, Mistake mistake)
      : rank_(rank), mistake_(mistake), local_(rank.positions().size()) {
    std::iota(local_.begin(), local_.end(), 0);
    tables_ = rows_of(decoder.rotary_tables(), local_, decoder.device());
  }
  std::span<const std::int64_t> positions() const override { return rank_.positions(); }
  const ops::RotaryTables& tables() const override {
    return mistake_ == Mistake::kLocalPositions ? tables_ : rank_.tables();
  }
  Tensor attend(const Tensor& q, const Tensor& k, const Tensor& v,
                const ops::HeadShape& whole) override {
    if (mistake_ != Mistake::kOwnTokensAlone) return rank_.attend(q, k, v, whole);
    ops::HeadShape own = whole;
    own.time = std::ssize(local_);
    return ops::attention(q, k, v, own, "attn");
  }
  void before_pass() override {}
  void after_pass() override {}
  void before_block(std::int64_t) override {}
  void after_block(std::int64_t) override {}
  void after_block_backward(std::int64_t) override {}

 private:
  ContextRank& rank_;
  Mistake mistake_;
  std::vector<std::int64_t> local_;
  ops::RotaryTables tables_;
};

// One micro-batch of two rows, in fp32.
class OneStep {
 public:
  static constexpr std::int64_t kTime = 32;

  struct Learned {
    double loss = 0;
    std::vector<Values> gradients;
  };

  Learned alone() const {
    Cards cards(1, "cpu_ref");
    Decoder decoder(config_, cards[0]);
    decoder.init(7);
    Learned learned;
    learned.loss = decoder.loss_and_backward(inputs(), targets(), kBatch, kTime, 1);
    keep_gradients(decoder, learned);
    return learned;
  }

  Learned together(int parts, ContextKind kind, Mistake mistake) const {
    Cards cards(parts, "cpu_ref");
    std::vector<double> losses(static_cast<std::size_t>(parts));
    Learned learned;
    const auto done = World(cards.all()).run([&](Communicator& world) {
      Decoder decoder(config_, world.device());
      decoder.init(7);
      ContextRank rank(decoder, {.rank = world.rank(), .parts = parts, .kind = kind});
      Mistaken mistaken(rank, decoder, mistake);
      rank.begin(world);
      decoder.weights().hooks = &mistaken;
      const std::vector<int> of_rows =
          mistake == Mistake::kShiftAfterCut ? shifted_after_cut(parts, kind) : targets();
      losses[static_cast<std::size_t>(world.rank())] =
          decoder.loss_and_backward(inputs(), of_rows, kBatch, kTime, 1);
      if (mistake != Mistake::kGradientsNotSummed)
        for (Parameter* p : decoder.trained_parameters())
          world.all_reduce(CollectiveBuffer(p->grad), Reduce::kAverage, p->name);
      rank.end();
      if (world.rank() == 0) keep_gradients(decoder, learned);
    });
    EXPECT_TRUE(done) << done.error().message;
    learned.loss = std::accumulate(losses.begin(), losses.end(), 0.0) / parts;
    return learned;
  }

  static std::ptrdiff_t wrong_targets_of_shift(int parts, ContextKind kind) {
    const std::vector<int> right = targets(), wrong = shifted_after_cut(parts, kind);
    std::ptrdiff_t count = 0;
    for (std::size_t i = 0; i < right.size(); ++i) count += right[i] != wrong[i] ? 1 : 0;
    return count;
  }

  // The larger of the relative differences of the losses and of any parameter's gradient, as a
  // share of the largest gradient.
  static double difference(const Learned& a, const Learned& b) {
    double largest = std::abs(a.loss / b.loss - 1), most = 0, scale = 0;
    for (std::size_t i = 0; i < b.gradients.size(); ++i)
      for (std::size_t k = 0; k < b.gradients[i].size(); ++k) {
        most = std::max(most, std::abs(static_cast<double>(a.gradients[i][k]) -
                                       static_cast<double>(b.gradients[i][k])));
        scale = std::max(scale, std::abs(static_cast<double>(b.gradients[i][k])));
      }
    return std::max(largest, most / scale);
  }

 private:
  static std::vector<int> tokens() {
    std::vector<int> ids;
    for (std::int64_t i = 0; i < kBatch * kTime + 1; ++i)
      ids.push_back(static_cast<int>((i * i + 3 * i) % 37));
    return ids;
  }
  static std::vector<int> inputs() {
    std::vector<int> ids = tokens();
    ids.pop_back();
    return ids;
  }
  static std::vector<int> targets() {
    const std::vector<int> ids = tokens();
    return {ids.begin() + 1, ids.end()};
  }
  // Each part shifts what it has: its last token gets its first one, but for the end of the row.
  static std::vector<int> shifted_after_cut(int parts, ContextKind kind) {
    std::vector<int> ids = targets();
    for (int part = 0; part < parts; ++part) {
      const std::vector<std::int64_t> here =
          positions_of({.rank = part, .parts = parts, .kind = kind}, kTime);
      for (std::int64_t b = 0; b < kBatch; ++b)
        for (std::size_t i = 0; i < here.size(); ++i)
          if (here[i] + 1 < kTime)
            ids[static_cast<std::size_t>(b * kTime + here[i])] =
                inputs()[static_cast<std::size_t>(b * kTime + here[(i + 1) % here.size()])];
    }
    return ids;
  }
  static void keep_gradients(Decoder& decoder, Learned& learned) {
    for (Parameter* p : decoder.trained_parameters())
      learned.gradients.emplace_back(std::as_const(p->grad).host().begin(),
                                     std::as_const(p->grad).host().end());
  }

  const DecoderConfig config_ = small_config(kTime);
};

// Each mistake is a hundred times what the comparison allows, and more.
TEST(ContextMistakes, AreFoundByLossOrGradients) {
  constexpr double kTolerance = 2e-6;  // fp32: sums of 32 tokens, in two orders
  const OneStep step;
  const OneStep::Learned alone = step.alone();
  for (const ContextKind kind : {ContextKind::kUlysses, ContextKind::kRing}) {
    SCOPED_TRACE(kind == ContextKind::kRing ? "ring" : "ulysses");
    EXPECT_LT(OneStep::difference(step.together(2, kind, Mistake::kNone), alone), kTolerance);
    for (const Mistake mistake : {Mistake::kLocalPositions, Mistake::kOwnTokensAlone,
                                  Mistake::kShiftAfterCut, Mistake::kGradientsNotSummed})
      EXPECT_GT(OneStep::difference(step.together(2, kind, mistake), alone), 100 * kTolerance)
          << static_cast<int>(mistake);
  }
  // p − 1 targets a row, of two rows; of chunks 2p − 2.
  EXPECT_EQ(OneStep::wrong_targets_of_shift(2, ContextKind::kUlysses), 2);
  EXPECT_EQ(OneStep::wrong_targets_of_shift(4, ContextKind::kUlysses), 2 * 3);
  EXPECT_EQ(OneStep::wrong_targets_of_shift(4, ContextKind::kRing), 2 * 6);
}

// Half of the targets of a row are ignored, in one part more than in the other: means are of all.
TEST(ContextRankTokens, CountByTheirTargets) {
  const std::vector<int> inputs = {1, 2, 3, 4, 5, 6, 7, 8}, targets = {-1, -1, -1, 5, 6, -1, 8, 9};
  const std::vector<std::int64_t> first = {0, 1, 2, 3}, second = {4, 5, 6, 7};
  EXPECT_EQ(own_tokens(first, inputs, targets, 1, 8).share, 2 * 1.0 / 4);
  const OwnTokens own = own_tokens(second, inputs, targets, 1, 8);
  EXPECT_EQ(own.share, 2 * 3.0 / 4);
  EXPECT_EQ(own.inputs, (std::vector<int>{5, 6, 7, 8}));
  EXPECT_EQ(own.targets, (std::vector<int>{6, -1, 8, 9}));
}

class ContextRanks : public test::MeshTest {
 protected:
  ContextRanks() {
    settings_.depth = 2;
    settings_.model = "llama";
    settings_.grad_clip = 1;
    numerics_ = "cpu_ref";
  }
  // The largest relative difference of a loss, or of bits per byte.
  static double worst(const TrainResult& a, const TrainResult& b) {
    double largest = a.steps.size() == b.steps.size() ? 0 : 1;
    const auto add = [&](const std::optional<double>& x, const std::optional<double>& y) {
      if (x || y) largest = std::max(largest, std::abs(x.value_or(0) / y.value_or(1) - 1));
    };
    for (std::size_t i = 0; i < std::min(a.steps.size(), b.steps.size()); ++i) {
      add(a.steps[i].train_loss, b.steps[i].train_loss);
      add(a.steps[i].grad_norm, b.steps[i].grad_norm);
      add(a.steps[i].val_bpb, b.steps[i].val_bpb);
    }
    return largest;
  }
};

// Rotary and learned positions, biases and a tied head (gpt2), value embeddings and lambdas
// (nanochat-2026-02).
TEST_F(ContextRanks, AreOneCardWithinRounding) {
  struct Case {
    const char* model;
    std::int64_t depth, steps, ranks;
    double rate;
  };
  for (const Case& one : {Case{"llama", 2, 20, 2, 1}, Case{"gpt2", 2, 3, 2, .01},
                          Case{"llama", 4, 2, 4, 1}, Case{"nanochat-2026-02", 4, 2, 2, .01}}) {
    SCOPED_TRACE(one.model);
    settings_.model = one.model;
    settings_.depth = one.depth;
    settings_.iterations = one.steps;
    settings_.embedding_lr = .2 * one.rate;
    settings_.matrix_lr = .02 * std::sqrt(one.rate);
    settings_.unembedding_lr = .004 * std::sqrt(one.rate);
    const Ran alone = ran(std::nullopt);
    for (const char* context : {"ulysses", "ring"}) {
      SCOPED_TRACE(context);
      const Ran together = ran(MeshSettings{.cp = one.ranks, .context = context});
      EXPECT_LT(worst(together.result, alone.result), 1e-5);
      EXPECT_EQ(together.result.replica_mismatch, 0);
      EXPECT_FALSE(together.tensors == alone.tensors);  // sums of parts do round differently
      EXPECT_EQ(together.tensors.size(), alone.tensors.size());
    }
  }
}

TEST_F(ContextRanks, WithCopiesAreOneCardWithinRounding) {
  const Ran alone = ran(std::nullopt);
  for (const char* context : {"ulysses", "ring"}) {
    const Ran together = ran(MeshSettings{.dp = 2, .cp = 2, .context = context});
    EXPECT_LT(worst(together.result, alone.result), 1e-5) << context;
    EXPECT_EQ(together.result.replica_mismatch, 0) << context;
  }
}

// A ring does not share heads: more ranks than the model has.
TEST_F(ContextRanks, OfARingMayBeMoreThanHeads) {
  settings_.iterations = 4;
  const Ran alone = ran(std::nullopt), together = ran(MeshSettings{.cp = 4, .context = "ring"});
  EXPECT_LT(worst(together.result, alone.result), 1e-5);
}

// ZeRO-1 over all ranks of the mesh: with the bits of its all-reduces.
TEST_F(ContextRanks, ShareTheOptimizersState) {
  settings_.grad_clip = 0;
  settings_.iterations = 4;
  const Ran whole = ran(MeshSettings{.cp = 2}), shared = ran(MeshSettings{.zero = 1, .cp = 2});
  EXPECT_EQ(learned(shared.result), learned(whole.result));
}

// Blocks again in backward, and their all-to-alls: no bit changes.
TEST_F(ContextRanks, RecomputeBlocksWithTheSameBits) {
  settings_.iterations = 4;
  const Ran kept = ran(MeshSettings{.cp = 2});
  settings_.recompute = true;
  const Ran again = ran(MeshSettings{.cp = 2});
  EXPECT_EQ(learned(again.result), learned(kept.result));
  EXPECT_TRUE(again.tensors == kept.tensors);
  EXPECT_EQ(again.result.sent_bytes.at("all_to_all"),
            1.5 * kept.result.sent_bytes.at("all_to_all"));
}

TEST_F(ContextRanks, EveryKillEndsWithTheSameBytes) {
  settings_.iterations = 5;
  const test::TempDir whole;
  const MeshSettings mesh{.dp = 2, .cp = 2, .context = "ring"};
  const auto undisturbed = run(mesh, whole.path());
  ASSERT_TRUE(undisturbed) << undisturbed.error().message;
  for (const std::int64_t step : {0, 3}) {
    SCOPED_TRACE(step);
    const test::TempDir folder;
    TrainHooks hooks;
    hooks.on_step = [&](const StepRow& row) {
      if (row.step == step) throw test::Killed{};
    };
    EXPECT_THROW((void)run(mesh, folder.path(), hooks), test::Killed);
    const auto resumed = run(mesh, folder.path());
    ASSERT_TRUE(resumed) << resumed.error().message;
    EXPECT_EQ(*sha256_file(resumed->result.checkpoint),
              *sha256_file(undisturbed->result.checkpoint));
    EXPECT_EQ(resumed->result.train_time_ns, undisturbed->result.train_time_ns);
    EXPECT_EQ(resumed->result.peak_allocated_bytes, undisturbed->result.peak_allocated_bytes);
  }
}

// What two ranks left behind at step 4, weights and optimizers, is what one card goes on from.
TEST_F(ContextRanks, LeaveACheckpointThatOneCardGoesOnFrom) {
  settings_.keep_steps = {4};
  settings_.iterations = 6;
  const test::TempDir folder;
  const auto together = run(MeshSettings{.cp = 2}, folder.path());
  ASSERT_TRUE(together) << together.error().message;
  const auto file = SafetensorsFile::open(checkpoint_path(folder.path(), 4));
  ASSERT_TRUE(file) << file.error().message;
  Cards cards(1, numerics_);
  TrainedModel model(together->result.config, cards[0]);
  prepare_optimizers(model,
                     {settings_.embedding_lr, settings_.unembedding_lr, settings_.matrix_lr,
                      settings_.weight_decay},
                     {.adamw = {.denominator = together->result.adamw_denominator}});
  ASSERT_TRUE(load_weights(*file, model.decoder));
  for (const auto& optimizer : model.optimizers) optimizer->allocate_state();
  const auto loaded = load_optimizers(*file, model.optimizers);
  ASSERT_TRUE(loaded) << loaded.error().message;
  TokenLoader data = TokenLoader::create(data_.train).value();
  const auto next = [&] { return data.next(1, settings_.sequence_len); };
  for (int micro = 0; micro < 4 * 4; ++micro) next();
  for (std::int64_t step = 4; step < 6; ++step) {
    const StepRow& row = together->result.steps[static_cast<std::size_t>(step)];
    const StepOutcome alone = run_step(model, {.accumulation_steps = 4, .grad_clip = 1},
                                       {step, *row.lr_multiplier, muon_momentum(step)}, next);
    EXPECT_NEAR(alone.loss / *row.train_loss, 1, 1e-5) << step;
    EXPECT_NEAR(alone.grad_norm / *row.grad_norm, 1, 1e-5) << step;
    EXPECT_EQ(alone.batch_hash, *row.batch_hash);
  }
}

// Bytes of every kind of collective are the formula's, and those of the same code without values;
// so are the time and the peak.
TEST_F(ContextRanks, SendTheBytesOfTheFormulaAndOfADryStep) {
  settings_.eval_every = settings_.checkpoint_every = 0;  // whose memory is another's
  settings_.iterations = 4;
  numerics_ = "ascend_910b3";
  for (const MeshSettings& mesh :
       {MeshSettings{.cp = 2}, MeshSettings{.dp = 2, .cp = 2},
        MeshSettings{.cp = 2, .context = "ring"}, MeshSettings{.cp = 4, .context = "ring"}}) {
    SCOPED_TRACE(print_struct(mesh).dump());
    const Ran one = ran(mesh);
    DeviceProfile profile = load_profile("ascend_910b3").value();
    profile.numerics.reduction_order = order_;
    const MeshStep dry = run_mesh_step({.config = one.result.config,
                                        .mesh = mesh,
                                        .device_batch_size = 1,
                                        .accumulation_steps = 4 / mesh.dp,
                                        .grad_clip = 1},
                                       profile);
    EXPECT_EQ(static_cast<double>(dry.step_time_ns), *one.result.steps[3].step_time_ns);
    EXPECT_EQ(dry.peak.allocated_bytes,
              static_cast<std::uint64_t>(*one.result.steps[3].peak_memory_bytes));
    SentBytes all = dry.sent;
    for (auto& [kind, bytes] : all) bytes *= 4;
    EXPECT_EQ(all, one.result.sent_bytes);
    const ActivationSize size = {.tokens = settings_.sequence_len, .micro_batches = 4 / mesh.dp};
    if (mesh.context == "ring")
      EXPECT_EQ(dry.sent.at("send_receive"), ring_bytes(one.result.config, size, *mesh.cp));
    else
      EXPECT_EQ(dry.sent.at("all_to_all"), ulysses_bytes(one.result.config, size, *mesh.cp));
    // Gradients go as those of so many data-parallel ranks.
    EXPECT_EQ(one.result.sent_bytes.at("all_reduce"),
              ran(MeshSettings{.dp = mesh.ranks()}).result.sent_bytes.at("all_reduce"));
  }
}

// Of the definition, (p − 1) / p² · b · s · h of four exchanges a block there and back, by hand:
// two blocks, four ranks, three micro-batches of 5 × 16 tokens, in bf16; keys are a fourth as wide.
TEST(ContextVolumes, OfASmallModelAreAddedUp) {
  DecoderConfig config = small_config(16);
  config.n_kv_head = 1;
  const double width = static_cast<double>(config.q_width());
  EXPECT_EQ(ulysses_bytes(config, {.rows = 5, .tokens = 16, .micro_batches = 3}, 4),
            3.0 / 16 * 5 * 16 * (2 * width + 2 * width / 4) * 2 * 2 * 2 * 3);
  // Keys and values of 5 × 4 tokens: three times each way in bf16, four times in fp32.
  EXPECT_EQ(ring_bytes(config, {.rows = 5, .tokens = 16, .micro_batches = 3}, 4),
            2 * 3 * (2 * 5 * 4 * width / 4) * (3 * 2 + 3 * 2 + 4 * 4));
}

// Nothing is cut that is held: weights, gradients and state are whole, activations are halves.
TEST_F(ContextRanks, HoldAllWeightsAndFewerActivations) {
  settings_.iterations = 2;
  const Ran alone = ran(std::nullopt), together = ran(MeshSettings{.cp = 2});
  const auto held = static_cast<std::size_t>(BlockUse::kParameter);
  EXPECT_EQ(together.allocated[held], alone.allocated[held]);
  EXPECT_LT(together.result.peak_allocated_bytes, alone.result.peak_allocated_bytes);
}

TEST_F(ContextRanks, ThatCannotShareSequencesAreRefusedWithTheNumbers) {
  const auto refusal = [&](const MeshSettings& mesh) {
    const test::TempDir folder;
    const auto refused = run(mesh, folder.path());
    EXPECT_FALSE(refused);
    return refused ? "" : refused.error().message;
  };
  EXPECT_EQ(refusal({.cp = 4}),
            "mesh/cp: 4 ranks cannot share 2 heads evenly; choose a divisor, another model, or "
            "context ring");
  EXPECT_EQ(refusal({.cp = 3}),
            "mesh/cp: 3 ranks cannot share 32 tokens of a sequence evenly; choose a divisor, or "
            "another sequence length");
  EXPECT_EQ(refusal({.cp = 3, .context = "ring"}),
            "mesh/cp: a ring of 3 ranks cannot cut 32 tokens of a sequence into 6 equal chunks; "
            "choose another number, or another sequence length");
  EXPECT_EQ(refusal({.fsdp = 2, .cp = 2}),
            "mesh/fsdp: is not executed beside cp; leave one of the two out");
  EXPECT_EQ(refusal({.tp = 2, .cp = 2}),
            "mesh/tp: is not executed beside cp; leave one of the two out");
  EXPECT_EQ(refusal({.pp = 2, .cp = 2}),
            "mesh/pp: is not executed beside cp; leave one of the two out");
  EXPECT_EQ(refusal({.context = "ulysses"}),
            "mesh/context: decides nothing without cp of two ranks or more; add it");
  EXPECT_EQ(refusal({.dp = 3, .cp = 2}),
            "mesh/dp: 3 ranks cannot share the 4 micro-batches of a step evenly; choose a divisor, "
            "or another batch");
  EXPECT_TRUE(check_context(preset_config("nanochat-2026-07", 4, 9, 32).value(), 2)
                  .error()
                  .message.starts_with("mesh/cp: the model's smear reads the token before"));
  DecoderConfig config = preset_config("llama", 4, 9, 32).value();
  config.n_kv_head = 2;
  EXPECT_EQ(check_context(config, 4).error().message,
            "mesh/cp: 4 ranks cannot share 2 key-value heads evenly; choose a divisor, another "
            "model, or context ring");
  config.architecture.windows = {0, 8};
  EXPECT_EQ(check_context(config, 2, ContextKind::kRing).error().message,
            "mesh/context: block 1 sees a window of 8 keys, a ring's attention all of them; say "
            "ulysses, or choose another model");
}

}  // namespace
}  // namespace nb
