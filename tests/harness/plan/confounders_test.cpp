// Settings that no node key hashes are no confounders, all others are.
#include "results/compare/confounders.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "harness/plan/work.hpp"

namespace nb {
namespace {

void expect_known(const Json& printed, const Json& hashed, const std::string& field) {
  for (const auto& [key, value] : printed.items()) {
    const std::string path = field + "/" + key;
    const bool is_hashed = hashed.contains(key);
    if (value.is_object() && is_hashed)
      expect_known(value, hashed.at(key), path);
    else
      EXPECT_EQ(changes_no_result(path), !is_hashed) << path;
  }
}

std::vector<Work> works() {
  TrainWork train;
  train.base.emplace();
  train.mid.emplace();
  train.sft.emplace();
  train.dpo.emplace();
  train.rl.emplace();
  EvalWork eval;
  eval.finished.emplace();
  eval.microworld.emplace();
  AskWork ask;
  ask.microworld.emplace();
  for (EvalSettings* settings : {&eval.evaluation.settings, &ask.settings}) {
    settings->task_files = {"own.yaml"};
    settings->texts = {"own.txt"};
  }
  ConversationsWork conversations;
  conversations.microworld.emplace();
  return {DatasetWork{}, TokenizerWork{}, ShardsWork{}, conversations, train, eval,
          MicroWork{},   PredictWork{},   ask};
}

TEST(Confounders, AreTheSettingsThatKeysHash) {
  for (Work& work : works())
    expect_known(print_fields(fields_of(work)), hashed_fields(fields_of(work)), "/settings");
  // `npubench eval` prints the evaluation's settings without a name.
  EvalSettings settings;
  settings.task_files = {"own.yaml"};
  expect_known(print_fields(settings.fields()), hashed_fields(settings.fields()), "/settings");
}

}  // namespace
}  // namespace nb
