// npubench eval --server --tokenizer server: the items are those of the tokenizer's file, whatever
// the server puts in front of texts and ids; what it cannot do or does wrong is said.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "harness/base/fs.hpp"
#include "model/tokenizer/byte_tokenizer.hpp"
#include "results/store/store.hpp"
#include "tests/e2e/bench.hpp"
#include "tests/remote/fake_server.hpp"

namespace nb::test {
namespace {

class ServedTokenizers : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(byte_tokenizer().save(files_ / "tokenizer.json").has_value());
    write(
        "mine.yaml",
        "icl_tasks:\n"
        "- {label: pick, dataset_uri: pick.jsonl, num_fewshot: [0], icl_task_type: multiple_choice,"
        " continuation_delimiter: \" \"}\n"
        "- {label: go_on, dataset_uri: go_on.jsonl, num_fewshot: [0], icl_task_type: "
        "language_modeling, continuation_delimiter: \" \"}\n");
    std::string pick, go_on;
    for (int i = 0; i < 12; ++i) {
      pick += Json{{"query", "Number " + std::to_string(i) + " is"},
                   {"choices", {"é one", "silver"}},
                   {"gold", i % 2}}
                  .dump() +
              "\n";
      go_on += Json{{"context", "Number " + std::to_string(i) + ", so the stone"},
                    {"continuation", std::string("te").substr(0, 1 + i % 2)}}
                   .dump() +
               "\n";
    }
    write("pick.jsonl", pick);
    write("go_on.jsonl", go_on);
  }
  void write(const std::string& name, const std::string& text) {
    ASSERT_TRUE(write_file(files_ / name, text).has_value());
  }
  std::string path(const std::string& name) const { return (files_ / name).string(); }

  SubprocessResult ask(const FakeServer& server, const std::string& name,
                       const std::string& tokenizer = "server",
                       std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"eval", "--server", server.url(), "--tokenizer", tokenizer, "--name",
                               name, "--results-dir", path("results"), "--task-file",
                               path("mine.yaml"), "--tries", "3"});
    return bench_(more);
  }
  StoredRecord record_of(const std::string& name) {
    auto run = read_run(files_ / "results" / name);
    EXPECT_TRUE(run.has_value() && run->records.size() == 1) << name;
    return run && run->records.size() == 1 ? run->records[0] : StoredRecord{};
  }
  std::string items_of(const std::string& name) {
    const StoredRecord stored = record_of(name);
    std::string text;
    for (const auto& [task, file] : stored.record.items)
      text += task + "\n" + read_file(stored.folder / file).value_or("missing");
    return text;
  }

  Bench bench_;
  TempDir files_;
};

TEST_F(ServedTokenizers, GiveTheItemsOfTheirFileWhateverIsPutInFront) {
  const FakeServer file("vllm");
  ASSERT_EQ(ask(file, "file", path("tokenizer.json")).exit_code, 0);
  const std::string expected = items_of("file");
  for (const char* persona : {"vllm", "spaced", "strips", "bos_in_texts", "sglang"}) {
    const FakeServer server(persona);
    const auto result = ask(server, persona);
    ASSERT_EQ(result.exit_code, 0) << persona << "\n" << result.out << result.err;
    EXPECT_EQ(items_of(persona), expected) << persona;
    const Json facts = record_of(persona).record.environment->at("server");
    EXPECT_EQ(facts.at("tokenizes"), "there");
    EXPECT_EQ(facts.at("probes").at("P2").at("outcome"), "passed") << facts.dump();
  }
  // llama.cpp's forms of both answers; it scores no choices.
  const std::vector<std::string> texts = {"--task", "own/go_on"};
  const FakeServer llama("llamacpp_refuse");
  ASSERT_EQ(ask(llama, "llama-file", path("tokenizer.json"), texts).exit_code, 0);
  const auto result = ask(llama, "llama", "server", texts);
  ASSERT_EQ(result.exit_code, 0) << result.out << result.err;
  EXPECT_EQ(items_of("llama"), items_of("llama-file"));
}

TEST_F(ServedTokenizers, AskForEveryTextOnce) {
  const FakeServer server("vllm");
  ASSERT_EQ(ask(server, "once").exit_code, 0);
  // 24 texts of choices, 12 of continuations without and with them, one of the first probe prompt,
  // letters; what is in two of them is asked for once.
  const std::int64_t texts =
      record_of("once").record.environment->at("server").at("asked").at("texts");
  EXPECT_GT(texts, 24 + 24);
  EXPECT_LE(texts, 24 + 24 + 8);
}

TEST_F(ServedTokenizers, AServerWithoutThemIsRefusedInOneSentence) {
  const FakeServer silent("llamacpp_silent"), half("no_detokenize"), hidden("bos_hidden");
  expect_sentence(ask(silent, "silent"), 64,
                  {"--tokenizer server: " + silent.host() + " does not take POST /tokenize",
                   "(status 404)", "by --tokenizer FILE"});
  expect_sentence(ask(half, "half"), 64,
                  {half.host() + " does not take POST /detokenize (status 404)"});
  expect_sentence(ask(hidden, "hidden"), 4,
                  {hidden.host() + " puts tokens of its own around a text", "--tokenizer FILE"});
}

TEST_F(ServedTokenizers, AnswersThatAreNoTokensAreRefused) {
  const char* sentences[] = {"a token that is no id", "a token that is no id",
                             "1000000 tokens for a text of 12 bytes",
                             "token 1048576, beyond a vocabulary of 524288"};
  for (int kind = 0; kind < 4; ++kind) {
    const FakeServer server("bad_tokens:" + std::to_string(kind));
    expect_sentence(ask(server, "bad" + std::to_string(kind)), 4,
                    {server.host() + " answers POST /tokenize with " + sentences[kind]});
  }
}

TEST_F(ServedTokenizers, AnotherTokenizerInTheMiddleIsNoticed) {
  // Behind the probes' texts and names, in the middle of the first task's.
  const FakeServer server("other_tokens:60");
  const auto result = ask(server, "changed");
  EXPECT_EQ(result.exit_code, 4) << result.out << result.err;
  EXPECT_NE(result.err.find(server.host() + " encodes a fixed text differently than when this "
                                            "evaluation began: token 0 was 72 and is 73"),
            std::string::npos)
      << result.err;
}

TEST_F(ServedTokenizers, TwoAreComparedAsFarAsTheyWereSeen) {
  const FakeServer one("vllm"), two("sglang"), other("other_tokenizer");
  ASSERT_EQ(ask(one, "one").exit_code, 0);
  ASSERT_EQ(ask(two, "two").exit_code, 0);
  ASSERT_EQ(ask(one, "file", path("tokenizer.json")).exit_code, 0);
  const auto compared = [&](const char* a, const char* b) {
    return bench_({"compare", path("results/" + std::string(a)), path("results/" + std::string(b)),
                   "--json"});
  };
  const auto both = compared("one", "two");
  EXPECT_EQ(both.exit_code, 0);
  EXPECT_NE(both.out.find("equal ids of 20 texts are all that was compared"), std::string::npos)
      << both.out;
  EXPECT_EQ(bench_({"gate", path("results/one"), path("results/two")}).exit_code, 0);
  // Whether the file's is the server's own is not known.
  const auto unlike = compared("one", "file");
  EXPECT_NE(unlike.out.find("tokenizer"), std::string::npos) << unlike.out;
  EXPECT_EQ(bench_({"gate", path("results/one"), path("results/file")}).exit_code, 3);
}

}  // namespace
}  // namespace nb::test
