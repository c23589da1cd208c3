#include "model/engine/calculator.hpp"

#include <gtest/gtest.h>
#include <pthread.h>

#include <nlohmann/json.hpp>
#include <string>

#include "harness/base/json_io.hpp"

namespace nb {
namespace {

std::string shown(const std::optional<std::string>& answer) {
  return answer ? "\"" + *answer + "\"" : "nothing";
}

std::optional<std::string> wanted(const Json& cell) {
  return cell.is_null() ? std::nullopt : std::optional(cell.get<std::string>());
}

TEST(Calculator, AnswersAsPythonDoesUnderBothRules) {
  const auto golden = read_json(NB_SOURCE_DIR "/tests/golden/calculator.json");
  ASSERT_TRUE(golden) << golden.error().message;
  const Json& cases = golden->at("cases");
  EXPECT_GE(cases.size(), 500U);
  for (const Json& row : cases) {
    const auto text = row[0].get<std::string>();
    const auto old_answer = use_calculator(text, CalculatorRules::kOld);
    const auto new_answer = use_calculator(text, CalculatorRules::kNew);
    EXPECT_EQ(old_answer, wanted(row[1]))
        << "old rules: " << text.substr(0, 300) << "\n is " << shown(old_answer);
    EXPECT_EQ(new_answer, wanted(row[2]))
        << "new rules: " << text.substr(0, 300) << "\n is " << shown(new_answer);
  }
}

TEST(Calculator, LeavesUnknownWhatHasAnAddressForAText) {
  EXPECT_EQ(use_calculator("'a'.count('a') and 'a'.count"), std::nullopt);
  EXPECT_EQ(use_calculator("b'a'.count(b'a')"), std::nullopt);
}

TEST(Calculator, RefusesWhatIsFarTooLong) {
  EXPECT_EQ(use_calculator("1" + std::string(70'000, ' ')), std::nullopt);
  std::string product = "1";
  while (product.size() < 60'000) product += "*" + std::string(4000, '9');
  EXPECT_EQ(use_calculator(product), std::nullopt);  // more digits than CPython prints
}

// use_calculator with 512 KiB of stack: what a sanitizer's frames leave of the usual 8 MiB.
std::optional<std::string> on_a_small_stack(const std::string& text) {
  struct Call {
    std::string text;
    std::optional<std::string> answer;
  } call{text, {}};
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 512 << 10);
  pthread_t thread;
  const auto body = [](void* argument) -> void* {
    auto* asked = static_cast<Call*>(argument);
    asked->answer = use_calculator(asked->text);
    return nullptr;
  };
  EXPECT_EQ(pthread_create(&thread, &attributes, body, &call), 0);
  EXPECT_EQ(pthread_join(thread, nullptr), 0);
  pthread_attr_destroy(&attributes);
  return call.answer;
}

TEST(Calculator, LongRowsOfOperatorsNeedNoDeepStack) {
  EXPECT_EQ(on_a_small_stack(std::string(2800, '-') + "7"), "7");
  EXPECT_EQ(on_a_small_stack(std::string(2801, '-') + "7"), "-7");
  std::string inversions, choices;
  for (int i = 0; i < 2801; ++i) inversions += "not ";
  for (int i = 0; i < 2000; ++i) choices += "1 if 0 else ";
  EXPECT_EQ(on_a_small_stack(inversions + "'a'.count('a')"), "False");
  EXPECT_EQ(on_a_small_stack(choices + "'aa'.count('a')"), "2");
}

}  // namespace
}  // namespace nb
