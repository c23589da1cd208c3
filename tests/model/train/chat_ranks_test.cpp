// MID, SFT, DPO and RL on several cards against one that accumulates, through the stages that a
// suite runs.
#include "tests/model/train/chat_ranks.hpp"

namespace nb {
namespace {

using test::ChatRanks;
using test::RunStage;

TEST_F(ChatRanks, MidIsOneCardThatAccumulatesBitForBit) {
  expect_one_card_that_accumulates(2, mid(test::tiny_mid()));
}
TEST_F(ChatRanks, SftIsOneCardThatAccumulatesBitForBit) {
  expect_one_card_that_accumulates(2, sft(test::tiny_sft()));
  expect_one_card_that_accumulates(4, sft(four_batches()));
}
TEST_F(ChatRanks, PackedSftIsOneCardThatAccumulatesBitForBit) {
  expect_one_card_that_accumulates(2, sft(packed()));
}
TEST_F(ChatRanks, AdaptersWithDropoutAreThoseOfOneCardBitForBit) {
  expect_one_card_that_accumulates(2, sft(with_dropout()));
}
TEST_F(ChatRanks, DpoIsOneCardThatAccumulatesBitForBit) {
  expect_one_card_that_accumulates(2, dpo(test::tiny_dpo()));
}
TEST_F(ChatRanks, RlIsOneCardThatAccumulatesBitForBit) {
  learn_the_coin();
  const test::TempDir folder;
  const auto result = on(2, rl(one_pass_a_question()), folder.path());
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_TRUE(has_learned(*result));
  expect_one_card_that_accumulates(2, rl(one_pass_a_question()));
  expect_one_card_that_accumulates(2, rl(clipped()));
}

TEST_F(ChatRanks, EveryKillEndsWithTheSameBytes) {
  expect_same_bytes_after_kills(2, mid(test::tiny_mid()));
  expect_same_bytes_after_kills(4, sft(four_batches()));
  expect_same_bytes_after_kills(2, sft(packed()));
  expect_same_bytes_after_kills(2, sft(with_dropout()));
  expect_same_bytes_after_kills(2, dpo(test::tiny_dpo()));
  learn_the_coin();
  expect_same_bytes_after_kills(2, rl(test::tiny_rl()));
  expect_same_bytes_after_kills(2, rl(clipped()));
}

// Every trained gradient once an update: adapters alone where there are some.
TEST_F(ChatRanks, BytesAreThoseOfTheGradients) {
  const auto sent = [&](const RunStage& run) {
    const test::TempDir folder;
    const auto result = on(2, run, folder.path());
    EXPECT_TRUE(result) << result.error().message;
    return std::pair(result.value(), chat_.link_bytes);
  };
  const auto [sft_result, sft_bytes] = sent(sft(test::tiny_sft()));
  const std::int64_t embedding =
      sft_result.config.vocab_size * sft_result.config.n_embd;  // whose gradient is bf16
  EXPECT_EQ(sft_bytes, static_cast<std::uint64_t>((sft_result.param_count * 4 - embedding * 2) *
                                                  sft_result.iterations));
  const auto [tuned, adapter_bytes] = sent(sft(with_dropout()));
  EXPECT_EQ(adapter_bytes,
            static_cast<std::uint64_t>(tuned.adapter_param_count * 4 * tuned.iterations));
  const auto [learned, rl_bytes] = sent(rl(clipped()));
  EXPECT_EQ(rl_bytes, static_cast<std::uint64_t>((learned.param_count * 4 - embedding * 2) *
                                                 learned.iterations * 2));
}

TEST_F(ChatRanks, UnevenSharesAreRefused) {
  const auto refused = [&](const RunStage& run) {
    const test::TempDir folder;
    return refusal(on(3, run, folder.path()));
  };
  const std::string batches =
      "mesh/dp: 3 ranks cannot share the 2 micro-batches of a step evenly; choose a divisor, or "
      "another batch";
  EXPECT_EQ(refused(mid(test::tiny_mid())), batches);
  EXPECT_EQ(refused(sft(test::tiny_sft())), batches);
  EXPECT_EQ(refused(sft(packed())), batches);
  EXPECT_EQ(refused(dpo(test::tiny_dpo())), batches);
  EXPECT_EQ(refused(rl(test::tiny_rl())),
            "mesh/dp: 3 ranks cannot share the 2 questions of a step evenly; choose a divisor, or "
            "another batch");
}

}  // namespace
}  // namespace nb
