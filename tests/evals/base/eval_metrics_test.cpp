#include "evals/base/eval_metrics.hpp"

#include <gtest/gtest.h>

namespace nb {
namespace {

TEST(Centred, IsZeroAtChanceAndOneAtTheTop) {
  EXPECT_EQ(centred(0.25, 25), 0.0);
  EXPECT_EQ(centred(1.0, 62), 1.0);
  // nanochat's base_eval.py and the bundle's CSV of GPT-2: accuracy .308504 of hellaswag_zeroshot
  // is .078006.
  EXPECT_NEAR(centred(0.308504, 25), 0.078006, 7e-7 /* both rounded to 6 digits */);
}

}  // namespace
}  // namespace nb
