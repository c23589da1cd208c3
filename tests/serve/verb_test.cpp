// npubench serve as a user runs it: what it says, how it ends, what it refuses.
#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>

#include "harness/base/json_io.hpp"
#include "tests/e2e/bench.hpp"
#include "tests/harness/http/raw_client.hpp"
#include "tests/serve/serve_process.hpp"

namespace nb::test {
namespace {

class ServeVerb : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    bench_ = new Bench;
    const auto trained = bench_->train();
    ASSERT_EQ(trained.exit_code, 0) << trained.err;
    model_ = new std::string(bench_->node("train-base-ascend_910b3-s1").string());
  }
  static void TearDownTestSuite() {
    delete bench_;
    delete model_;
  }
  static inline Bench* bench_ = nullptr;
  static inline std::string* model_ = nullptr;
};

std::string completion(int tokens, bool streams) {
  const Json body{{"prompt", "The"},
                  {"max_tokens", tokens},
                  {"ignore_eos", true},
                  {"temperature", 0},
                  {"stream", streams}};
  return post_bytes("/v1/completions", body.dump());
}

TEST_F(ServeVerb, SaysWhereItListensAndEndsInPeace) {
  ServeProcess serve({"--model", *model_});
  const Json line = Json::parse(serve.first_line(), nullptr, false);
  ASSERT_TRUE(line.is_object()) << serve.first_line();
  EXPECT_EQ(line["models"][0]["device"], "ascend_910b3");
  EXPECT_EQ(status_of(ask(serve.port(), completion(3, false))), 200);
  serve.signal(SIGTERM);
  EXPECT_EQ(serve.wait(), 0);
}

TEST_F(ServeVerb, SigtermInTheMiddleOfAStreamLetsItEnd) {
  ServeProcess serve({"--model", *model_});
  RawClient client(serve.port());
  client.send(completion(250, true));
  std::string all = client.receive("data: ");
  serve.signal(SIGTERM);
  all += client.receive();
  EXPECT_NE(all.find("data: [DONE]"), std::string::npos) << all;
  EXPECT_EQ(serve.wait(), 0);
}

TEST_F(ServeVerb, TwoDevicesAnswerBesideEachOther) {
  ServeProcess serve({"--model", *model_, "--beside", "h100_sxm", "--name", "m"});
  const Json line = Json::parse(serve.first_line(), nullptr, false);
  ASSERT_EQ(line["models"].size(), 2U) << serve.first_line();
  EXPECT_EQ(line["models"][1]["id"], "m@h100_sxm");
  const auto tokens_of = [&](const char* id) {
    const Json body{{"model", id}, {"prompt", "The"}, {"max_tokens", 4}, {"temperature", 0}};
    const Json answer =
        Json::parse(body_of(ask(serve.port(), post_bytes("/v1/completions", body.dump()))));
    return answer["usage"]["npubench"]["device"].get<std::string>();
  };
  EXPECT_EQ(tokens_of("m@ascend_910b3"), "ascend_910b3");
  EXPECT_EQ(tokens_of("m@h100_sxm"), "h100_sxm");
}

TEST_F(ServeVerb, WhatItCannotServeIsOneSentence) {
  ServeProcess other({"--model", *model_});
  expect_sentence((*bench_)({"serve", "--model", *model_, "--port", std::to_string(other.port())}),
                  4, {"is taken by another program"});
  expect_sentence((*bench_)({"serve", "--model", "no/such"}), 64, {"no/such"});
  expect_sentence((*bench_)({"serve", "--model", "oracle"}), 64, {"trained model"});
  expect_sentence((*bench_)({"serve", "--model", *model_, "--address", "0.0.0.0"}), 64,
                  {"--api-key-file"});
  expect_sentence((*bench_)({"serve", "--model", *model_, "--api-key-file", "no/such"}), 64,
                  {"--api-key-file", "no/such"});
  const auto keys = bench_->results() / "keys";
  std::ofstream(keys) << "# none\n\n";
  expect_sentence((*bench_)({"serve", "--model", *model_, "--api-key-file", keys.string()}), 64,
                  {"no key"});
}

TEST_F(ServeVerb, KeysComeFromAFile) {
  const auto keys = bench_->results() / "some_keys";
  std::ofstream(keys) << "# of the team\nabc\r\ndef\n";
  ServeProcess serve({"--model", *model_, "--api-key-file", keys.string()});
  const auto status = [&](const std::string& key) {
    return status_of(
        ask(serve.port(),
            "GET /v1/models HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + key + "\r\n\r\n"));
  };
  EXPECT_EQ(status("abc"), 200);
  EXPECT_EQ(status("def"), 200);
  EXPECT_EQ(status("abcd"), 401);
}

}  // namespace
}  // namespace nb::test
