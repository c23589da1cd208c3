// npubench chat: one answer, JSON, bad input.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "harness/base/json_io.hpp"
#include "tests/e2e/bench.hpp"

namespace nb::test {
namespace {

// A model that has seen four steps: what it says is nonsense, but always the same.
class Chat : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    bench_ = new Bench;
    const auto trained = bench_->train();
    ASSERT_EQ(trained.exit_code, 0) << trained.err;
    *model_ = bench_->node("train-base-ascend_910b3-s1").string();
    ASSERT_FALSE(model_->empty());
  }
  static void TearDownTestSuite() {
    delete bench_;
    bench_ = nullptr;
  }
  static SubprocessResult chat(std::vector<std::string> more) {
    std::vector<std::string> arguments = {"chat", "--model", *model_};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return (*bench_)(arguments);
  }

  static inline Bench* bench_ = nullptr;
  static inline std::string* model_ = new std::string;
};

TEST_F(Chat, SaysTheSameWithOneSeedAndSaysHowItAnswers) {
  const auto first = chat({"--prompt", "The color", "--max-tokens", "20", "--seed", "5"});
  EXPECT_EQ(first.exit_code, 0) << first.err;
  EXPECT_TRUE(first.out.ends_with('\n'));
  EXPECT_NE(first.err.find("continues your text: it is a base model"), std::string::npos)
      << first.err;
  const auto again = chat({"--prompt", "The color", "--max-tokens", "20", "--seed", "5",
                           "--threads", "1", "--simd", "scalar"});
  EXPECT_EQ(again.out, first.out);
  EXPECT_NE(chat({"--prompt", "The color", "--max-tokens", "20", "--seed", "6"}).out, first.out);
}

TEST_F(Chat, JsonSaysWhatTheStreamShows) {
  const auto streamed = chat({"--prompt", "Alba", "--max-tokens", "15"});
  const auto told = chat({"--prompt", "Alba", "--max-tokens", "15", "--json"});
  ASSERT_EQ(told.exit_code, 0) << told.err;
  const Json json = Json::parse(told.out);
  EXPECT_EQ(json.at("reply").get<std::string>() + "\n", streamed.out);
  EXPECT_LE(json.at("reply_tokens").size(), 15U);
  EXPECT_EQ(json.at("mode"), "complete");
  EXPECT_EQ(json.at("prompt"), "Alba");
  EXPECT_TRUE(json.at("stop") == "max_tokens" || json.at("stop") == "stop_token");
}

// The second training's tokenizer took the place of the first one's in the list of the last run.
TEST_F(Chat, AnOlderTrainingOfTheSameFolderFindsItsTokenizer) {
  const Bench bench;
  ASSERT_EQ(bench.train().exit_code, 0);
  const std::string older = bench.node("train-base-ascend_910b3-s1").string();
  const auto say = [&](const std::string& model) {
    return bench({"chat", "--model", model, "--prompt", "The color", "--max-tokens", "8"});
  };
  const auto before = say(older);
  ASSERT_EQ(before.exit_code, 0) << before.err;
  ASSERT_EQ(bench.train({"--set", "/corpus/microworld/documents=110"}).exit_code, 0);
  const auto after = say(older);
  EXPECT_EQ(after.exit_code, 0) << after.err;
  EXPECT_EQ(after.out, before.out);
  const auto other_name = say(older + "/.");
  EXPECT_EQ(other_name.exit_code, 0) << other_name.err;
  EXPECT_EQ(other_name.out, before.out);
  EXPECT_EQ(other_name.err, before.err);
}

// It was exit 0: the stream had been flushed before, in vain.
TEST_F(Chat, AnAnswerThatCannotBePrintedIsAnError) {
  for (const char* where : {">/dev/full", ">&-"}) {
    const auto result = bench_->redirected(
        where, {"chat", "--model", *model_, "--prompt", "The", "--max-tokens", "2"});
    EXPECT_EQ(result.exit_code, 4) << where;
    EXPECT_TRUE(result.err.ends_with("npubench: cannot write to stdout\n")) << result.err;
  }
}

// It was taken for the end of the conversation.
TEST_F(Chat, AStdinThatCannotBeReadIsAnError) {
  const auto result = bench_->redirected("</", {"chat", "--model", *model_});
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_TRUE(result.err.ends_with("npubench: cannot read stdin\n")) << result.err;
}

// Each of these ended in an abort.
TEST_F(Chat, AStderrThatCannotBeWrittenEndsNothing) {
  for (const char* where : {"2>/dev/full", "2>&-"}) {
    const auto result = bench_->redirected(
        where, {"chat", "--model", *model_, "--prompt", "The", "--max-tokens", "2"});
    EXPECT_EQ(result.exit_code, 0) << where;
    EXPECT_FALSE(result.out.empty()) << where;
    EXPECT_EQ(bench_->redirected(where, {"chat", "--nosuch"}).exit_code, 64) << where;
  }
}

TEST_F(Chat, BadInputIsOneSentence) {
  const auto refuses = [](const SubprocessResult& result, const std::string& what) {
    EXPECT_EQ(result.exit_code, 64) << what;
    EXPECT_NE(result.err.find(what), std::string::npos) << result.err;
    EXPECT_EQ(result.out, "");
  };
  refuses(chat({"--prompt", ""}), "--prompt: its value is empty");
  refuses(chat({"--prompt", "caf\xe9"}), "--prompt: byte 4 of the message (0xe9) is not UTF-8");
  refuses(chat({"--prompt", "caf\xe9", "--json"}), "--prompt: byte 4");
  refuses(chat({"--prompt", std::string(4000, 'q')}), "the model holds 320");
  refuses(chat({"--json"}), "--json needs --prompt");
  constexpr const char* kNumbers[][3] = {
      {"--temperature", "-1", "-1 is not from 0 to 100"},
      {"--temperature", "nan", "nan is not from 0 to 100"},
      {"--temperature", "-nan", "-nan is not from 0 to 100"},
      {"--temperature", "inf", "inf is not from 0 to 100"},
      {"--temperature", "100.5", "100.5 is not from 0 to 100"},
      {"--temperature", "", " is not a number"},
      {"--top-k", "-3", "-3 is not from 0 to 1073741824"},
      {"--top-k", "4294967297", "4294967297 is not from 0 to 1073741824"},
      {"--top-k", "1.5", "\"1.5\" is not a whole number from 0 up"},
      {"--max-tokens", "0", "0 is not from 1 to 1073741824"},
      {"--max-tokens", "many", "\"many\" is not a whole number"},
      {"--seed", "-1", "\"-1\" is not a whole number from 0 up"},
      {"--seed", "18446744073709551616",
       "18446744073709551616 is not from 0 to 18446744073709551615"},
      {"--threads", "two", "\"two\" is not a whole number from 0 up"},
  };
  for (const auto& [flag, value, message] : kNumbers)
    refuses(chat({"--prompt", "x", flag, value}),
            fmt::format("npubench: {}: {} (npubench chat --help)\n", flag, message));
  refuses((*bench_)({"chat"}), "--model");
  refuses((*bench_)({"chat", "--model", "oracle", "--prompt", "x"}), "chat needs a trained model");
  refuses((*bench_)({"chat", "--model", "/nowhere", "--prompt", "x"}), "/nowhere");
}

}  // namespace
}  // namespace nb::test
