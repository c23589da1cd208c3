// The head works logits off in blocks of rows; the blocks must change no bit.
#include "model/ops/head.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "harness/base/check.hpp"
#include "model/autograd/tape.hpp"
#include "model/host/program.hpp"
#include "model/kernels/cross_entropy.hpp"
#include "model/kernels/matmul.hpp"

namespace nb {
namespace {

constexpr std::int64_t kRows = 133;  // three blocks of at most 64 rows at this vocabulary
constexpr std::int64_t kVocab = 40000;
constexpr std::int64_t kHeadWidth = 6;

void fill_with_waves(std::span<float> values, DType dtype, float scale) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto wave = static_cast<float>((i * 7919 + i / 31) % 1013) / 506.0F - 1.0F;
    values[i] = round_to(dtype, scale * wave);
  }
}

bool same_bits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

class Head : public testing::TestWithParam<std::string> {
 protected:
  Head()
      : device_(*load_profile(GetParam()), ExecutionMode::kExecute),
        storage_(device_.numerics().storage),
        x_(device_.allocate({kRows, kHeadWidth}, storage_, "x")),
        w_(device_.allocate({kVocab, kHeadWidth}, DType::kFp32, "w")),
        targets_(kRows) {
    fill_with_waves(x_.host(), storage_, 1.0F);
    fill_with_waves(w_.host(), DType::kFp32, 2.0F);
    for (std::size_t i = 0; i < kRows; ++i) {
      targets_[i] = i % 5 == 0 ? -1 : static_cast<int>((i * 7907) % kVocab);
    }
    settings_ = {.softcap = ops::kSoftcap, .pointwise = device_.numerics().pointwise_policy()};
    logits_.resize(kRows * kVocab);
    z_ = matrix(logits_.data(), kRows, kVocab);
    kernels::matmul_nt(x_.matrix(), w_.matrix(), z_, device_.numerics().matmul());
  }
  Device device_;
  DType storage_;
  Tensor x_, w_;
  std::vector<int> targets_;
  kernels::CrossEntropySettings settings_;
  std::vector<float> logits_;  // whole, uncapped
  Matrix z_;
  ops::HeadScratch scratch_;
};

TEST_P(Head, BlocksGiveTheBitsOfWholeLogits) {
  std::vector<float> losses(kRows);
  std::vector<float> row_max(kRows);
  std::vector<float> row_sum(kRows);
  kernels::softcap_cross_entropy(z_, targets_, losses, {row_max, row_sum}, settings_);
  kernels::softcap_cross_entropy_backward(z_, targets_, row_max, row_sum, 0.25F, z_, settings_);
  std::vector<float> dx(kRows * kHeadWidth);
  kernels::matmul_nn(z_, w_.matrix(), matrix(dx.data(), kRows, kHeadWidth),
                     device_.numerics().matmul());
  std::vector<float> dw(kVocab * kHeadWidth, 0.5F);
  kernels::matmul_tn(z_, x_.matrix(), matrix(dw.data(), kVocab, kHeadWidth),
                     device_.numerics().weight_gradient_matmul(), true);

  Parameter w = {.name = "w", .value = w_};
  w.grad = device_.allocate({kVocab, kHeadWidth}, DType::kFp32, "dw");
  std::fill(w.grad.host().begin(), w.grad.host().end(), 0.5F);
  const auto valid = static_cast<double>(
      std::count_if(targets_.begin(), targets_.end(), [](int target) { return target >= 0; }));
  Tensor blocked_dx;
  Tape tape;
  Tape::record(x_, {}, {}, [&] {  // a leaf that keeps its gradient
    return [&blocked_dx](const Tensor& dy, const SavedBlocks&) {
      blocked_dx = dy;
      return Tape::Gradients{};
    };
  });
  Tensor blocked = ops::head_loss(x_, w, targets_, 0.25 * valid);
  tape.backward(blocked);
  double sum = 0;
  for (const float loss : losses) sum += loss;
  EXPECT_EQ(blocked.host()[0], static_cast<float>(sum / valid));
  EXPECT_TRUE(same_bits(std::as_const(blocked_dx).host(), dx));
  EXPECT_TRUE(same_bits(std::as_const(w.grad).host(), dw));
  std::vector<float> plain(kRows);
  ops::head_losses(device_, x_, w_, targets_, false, plain);
  EXPECT_TRUE(same_bits(plain, losses));
}

// With the gradients that a mean has.
TEST_P(Head, GradientsOfEveryLossGiveTheBitsOfTheMean) {
  const auto valid = static_cast<double>(
      std::count_if(targets_.begin(), targets_.end(), [](int target) { return target >= 0; }));
  const auto run = [&](bool is_mean, bool reads_losses) {
    Parameter w = {.name = "w", .value = w_};
    Tensor x = x_.with_values(x_.values()), dx;
    std::vector<std::vector<float>> all(3);
    const auto keep = [](const Tensor& t, std::vector<float>& to) {
      to.assign(t.host().begin(), t.host().end());
    };
    for (int micro_batch = 0; micro_batch < 2; ++micro_batch) {
      Tape tape;
      Tape::record(x, {}, {}, [&] {
        return [&dx](const Tensor& dy, const SavedBlocks&) {
          dx = dy;
          return Tape::Gradients{};
        };
      });
      if (is_mean) {
        Tensor loss = ops::head_loss(x, w, targets_, 0.25);
        tape.backward(loss);
        continue;
      }
      Tensor losses = ops::head_losses(x, w, targets_);
      if (reads_losses) keep(losses, all[0]);  // the host has computed all so far
      Tensor dlosses = device_.allocate({kRows}, DType::kFp32, "dlosses");
      std::ranges::fill(dlosses.host(), static_cast<float>(0.25 / valid));
      tape.backward(losses, dlosses);
      keep(losses, all[0]);
    }
    keep(dx, all[1]);
    keep(w.grad, all[2]);
    return all;
  };
  const auto mean = run(true, false);
  for (const bool reads_losses : {false, true}) {
    for (const bool fuses : {true, false}) {
      host::set_fusion(fuses);
      const auto rows = run(false, reads_losses);
      host::set_fusion(true);
      EXPECT_TRUE(same_bits(rows[1], mean[1]));
      EXPECT_TRUE(same_bits(rows[2], mean[2]));
      std::vector<float> losses(kRows);
      ops::head_losses(device_, x_, w_, targets_, false, losses);
      EXPECT_TRUE(same_bits(rows[0], losses));
    }
  }
}

TEST_P(Head, WantedLogitsAreRowsOfTheWhole) {
  kernels::softcap(z_, z_, settings_);
  std::vector<std::int64_t> wanted;
  for (std::int64_t row = 1; row < kRows; row += 2) wanted.push_back(row);
  std::int64_t seen = 0;
  ops::head_logits(
      device_, x_, w_, wanted,
      [&](std::int64_t first, ConstMatrix block) {
        EXPECT_EQ(first, seen);
        for (std::int64_t i = 0; i < block.rows; ++i, ++seen) {
          const auto row = wanted[static_cast<std::size_t>(seen)];
          EXPECT_EQ(std::memcmp(block.row(i), z_.row(row), kVocab * sizeof(float)), 0) << row;
        }
      },
      scratch_);
  EXPECT_EQ(seen, std::ssize(wanted));
}

TEST_P(Head, NeverHoldsAllLogitsOnTheHost) {
  ops::head_logits(
      device_, x_, w_, {}, [](std::int64_t, ConstMatrix) {}, scratch_);
  EXPECT_LE(scratch_.logits.size(), static_cast<std::size_t>(64 * kVocab));
}

TEST_P(Head, WrongShapesAreOurMistake) {
  std::vector<float> losses(kRows);
  const Tensor narrow = device_.allocate({kVocab, kHeadWidth - 1}, DType::kFp32, "narrow");
  EXPECT_THROW(ops::head_losses(device_, x_, narrow, targets_, true, losses), CheckFailure);
  EXPECT_THROW(ops::head_losses(device_, x_, w_, std::span(targets_).first(3), true, losses),
               CheckFailure);
}

INSTANTIATE_TEST_SUITE_P(Profiles, Head, testing::Values("ascend_910b3", "h100_sxm"),
                         [](const auto& instance) { return instance.param; });

}  // namespace
}  // namespace nb
