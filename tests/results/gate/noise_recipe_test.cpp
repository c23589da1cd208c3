#include "results/gate/noise_recipe.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace nb {
namespace {

// Cards from before records printed it were made with the one form that there was.
TEST(NoiseRecipe, ASettingThatIsNotPrintedIsTheOneThatThereWas) {
  NoiseRecipe before, now;
  now.settings["/settings/effective/adamw_denominator"] = "\"scaled_step\"";
  EXPECT_TRUE(recipe_differences(before, now).empty());
  now.settings["/settings/effective/adamw_denominator"] = "\"bias_corrected\"";
  EXPECT_EQ(recipe_differences(before, now),
            (std::vector<RecipeDifference>{{"/settings/effective/adamw_denominator",
                                            "\"scaled_step\"", "\"bias_corrected\""}}));
}

TEST(NoiseRecipe, ASeedOfTheDataAndTheCheckpointsDataDifferAndBatchesOfScoringDoNot) {
  Record one;
  one.kind = "eval";
  one.name = "sft.chat";
  one.device = "ascend_910b3";
  one.seed = 1;
  *one.settings = {{"seed", 1}, {"world", {{"seed", 1}}}, {"evaluation", {{"batch_size", 8}}}};
  *one.checkpoint = {{"data", "d"}, {"code", "c"}, {"settings", {{"seed", 1}}}};
  Record two = one;
  two.seed = 2;
  *two.settings = {{"seed", 2}, {"world", {{"seed", 1}}}, {"evaluation", {{"batch_size", 4}}}};
  *two.checkpoint = {{"data", "d"}, {"code", "other"}, {"settings", {{"seed", 2}}}};
  EXPECT_TRUE(recipe_differences(recipe_of(one), recipe_of(two)).empty());
  (*two.settings)["world"]["seed"] = 3;
  (*two.checkpoint)["data"] = "e";
  (*two.settings)["prompt"] = std::string(39, 'x') + "ééé" + std::string(60, 'x');
  EXPECT_EQ(recipe_differences(recipe_of(one), recipe_of(two)),
            (std::vector<RecipeDifference>{
                {"/checkpoint/data", "\"d\"", "\"e\""},
                {"/settings/prompt", "(absent)",
                 "\"" + std::string(39, 'x') + "ééé" + std::string(37, 'x') + "…"},
                {"/settings/world/seed", "1", "3"}}));
}

}  // namespace
}  // namespace nb
