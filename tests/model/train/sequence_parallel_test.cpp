// Tensor parallel ranks that share rows of tokens between their products (sequence parallelism),
// against one card and against ranks that do not, through the stage that a suite runs.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "model/train/port_defects.hpp"
#include "model/train/tensor_cuts.hpp"
#include "tests/model/train/mesh_volumes.hpp"
#include "tests/model/train/sharded_run.hpp"

namespace nb {
namespace {

// llama d2 in fp32.
class SequenceParallel : public test::MeshTest {
 protected:
  SequenceParallel() {
    settings_.depth = 2;
    settings_.model = "llama";
    settings_.iterations = 5;
    settings_.grad_clip = 1;
    numerics_ = "cpu_ref";
  }
  static MeshSettings mesh(std::int64_t dp = 1, std::optional<std::int64_t> pp = {}) {
    return {.dp = dp, .tp = 2, .sequence_parallel = true, .pp = pp};
  }
  void expect_one_card(const Ran& alone, const MeshSettings& on) {
    SCOPED_TRACE(print_struct(MeshSettings(on)).dump());
    const Ran together = ran(on);
    EXPECT_LT(test::worst(together.result, alone.result), 1e-5);
    EXPECT_EQ(together.result.replica_mismatch, 0);
    EXPECT_TRUE(together.result.sent_bytes.contains("reduce_scatter"));
  }
};

TEST_F(SequenceParallel, IsOneCardWithinRounding) {
  const Ran alone = ran(std::nullopt);
  expect_one_card(alone, mesh());
  expect_one_card(alone, mesh(2));
  expect_one_card(alone, mesh(1, 2));
  expect_one_card(alone, mesh(2, 2));
  settings_.recompute = true;
  expect_one_card(alone, mesh());
}

// Positions and a neighbour's embedding are read with all rows; biases behind a sum, lambdas and
// backout by rows; a micro-batch of several sequences is cut in one piece. Low rates, as in
// tensor_ranks_test.cpp.
TEST_F(SequenceParallel, OfOtherArchitecturesIsOneCardWithinRounding) {
  settings_.embedding_lr = settings_.matrix_lr = .002;
  settings_.unembedding_lr = .0004;
  settings_.iterations = 3;
  settings_.device_batch_size = 2;
  settings_.model = "gpt2";
  expect_one_card(ran(std::nullopt), mesh());
  settings_.model = "nanochat-2026-07";
  settings_.depth = 4;
  const Ran alone = ran(std::nullopt);
  expect_one_card(alone, mesh());
  expect_one_card(alone, mesh(1, 2));
}

// Sums of activations are those of all-reduces in the order of ranks: a first loss has the bits.
TEST_F(SequenceParallel, AddsActivationsAsWithoutIt) {
  settings_.iterations = 1;
  const Ran rows = ran(mesh()), whole = ran(MeshSettings{.tp = 2});
  EXPECT_EQ(rows.result.steps[0].train_loss, whole.result.steps[0].train_loss);
  EXPECT_LT(rows.peak[static_cast<std::size_t>(BlockUse::kActivation)],
            whole.peak[static_cast<std::size_t>(BlockUse::kActivation)]);
}

TEST_F(SequenceParallel, EveryKillEndsWithTheSameBytes) {
  expect_same_bytes_after_kills(mesh(2), {0, 3});
}

// Bytes of every kind are the formula's and the dry step's, also where the embedding is whole
// (gpt2); so are peaks and, of stages, which all run, the time.
TEST_F(SequenceParallel, SendsTheBytesOfTheFormulaAndOfADryStep) {
  settings_.eval_every = settings_.checkpoint_every = 0;
  settings_.iterations = 4;
  numerics_ = "ascend_910b3";
  for (const char* model : {"llama", "gpt2"})
    for (const MeshSettings& on : {mesh(), mesh(2, 2)}) {
      SCOPED_TRACE(model + print_struct(MeshSettings(on)).dump());
      settings_.model = model;
      const Ran one = ran(on);
      const MeshStep dry = dry_step(one, on);
      SentBytes all = dry.sent;
      for (auto& [kind, bytes] : all) bytes *= 4;
      EXPECT_EQ(all, one.result.sent_bytes);
      EXPECT_EQ(dry.peak.allocated_bytes,
                static_cast<std::uint64_t>(*one.result.steps[3].peak_memory_bytes));
      if (on.stages() > 1) {
        EXPECT_EQ(static_cast<double>(dry.step_time_ns), *one.result.steps[3].step_time_ns);
        EXPECT_EQ(dry.peaks_of_ranks, one.result.peaks_of_ranks);
        // Half of the rows cross a boundary.
        EXPECT_EQ(dry.sent.at("send_receive"), 2 * 32 * 128 * 2 / 2);
      } else {
        EXPECT_EQ(dry.sent, tensor_parallel_step(one.result.config,
                                                 {.tokens = 32, .micro_batches = 4}, 2, 2, true));
      }
    }
}

// A port that leaves the all-reduce of the norms' gradients to nobody: its ranks come apart.
TEST_F(SequenceParallel, NormsWhoseGradientsAreNotReducedComeApartAtStepOne) {
  std::vector<std::string> notes;
  TrainHooks hooks;
  hooks.on_note = [&](const std::string& text) { notes.push_back(text); };
  defects_ = PortDefects({PortDefect::kSpNormNotReduced});
  const test::TempDir folder;
  const auto apart = run(mesh(), folder.path(), hooks);
  ASSERT_TRUE(apart) << apart.error().message;
  EXPECT_EQ(apart->result.replica_mismatch, 5);  // ln_1 and ln_2 of two blocks, ln_f
  EXPECT_EQ(apart->result.replica_mismatch_step, 1);
  EXPECT_TRUE(std::ranges::any_of(
      notes, [](const std::string& note) { return note.find("ln_1") != std::string::npos; }));
}

TEST_F(SequenceParallel, RefusesWithTheNumbers) {
  EXPECT_EQ(refusal({.dp = 2, .sequence_parallel = true}),
            "mesh/sequence_parallel: decides nothing without tp of two ranks or more; add it");
  settings_.sequence_len = 31;
  settings_.total_batch_tokens = 31 * 4;
  EXPECT_EQ(refusal(mesh()),
            "mesh/sequence_parallel: 2 ranks cannot share the 31 tokens of a row evenly; choose a "
            "divisor, or another sequence_len");
}

}  // namespace
}  // namespace nb
