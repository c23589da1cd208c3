#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "evals/evaluate.hpp"
#include "evals/task_registry.hpp"
#include "evals/text/evaluator.hpp"
#include "harness/base/fs.hpp"
#include "tests/evals/support/toy.hpp"
#include "tests/support/temp_dir.hpp"

namespace nb {
namespace {

class BitsPerByteTask : public testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text) {
    EXPECT_TRUE(write_file(folder_ / name, text).has_value());
    return (folder_ / name).string();
  }
  std::string write_rows(const std::string& name, const std::vector<std::string>& texts) {
    std::string rows;
    for (const std::string& text : texts) rows += Json{{"text", text}, {"id", 1}}.dump() + "\n";
    return write(name, rows);
  }
  Result<EvalResult> ask(const std::vector<std::string>& files, LanguageModel& model) {
    EvalContext context;
    context.settings.tasks = {"bpb"};
    context.settings.texts = files;
    NB_TRY(const auto results, evaluate(context, model));
    return results.at(0);
  }
  EvalResult toy(const std::vector<std::string>& files, std::int64_t context_length = 4096) {
    auto model = test::toy_model(context_length);
    const auto result = ask(files, model);
    EXPECT_TRUE(result.has_value()) << result.error().message;
    return result ? *result : EvalResult{};
  }
  std::string error_of(const std::vector<std::string>& files) {
    auto model = test::toy_model();
    const auto result = ask(files, model);
    std::string message = result ? "scored" : result.error().message;
    const std::string folder = folder_.path().string() + "/";
    if (const auto at = message.find(folder); at != std::string::npos)
      message.erase(at, folder.size());
    return message;
  }
  test::TempDir folder_;
};

const Metric& named(const EvalResult& result, const std::string& name) {
  const auto found = std::ranges::find(result.metrics, name, &Metric::name);
  EXPECT_NE(found, result.metrics.end()) << name;
  return *found;
}

// tests/golden/bits_per_byte.py cuts windows and sums in another way.
TEST_F(BitsPerByteTask, IsTheGoldensInWindowsOfAnyLength) {
  const Json golden =
      *read_json(std::filesystem::path(NB_SOURCE_DIR) / "tests/golden/bits_per_byte.json");
  const auto texts = golden.at("texts").get<std::vector<std::string>>();
  const std::string rows = write_rows("rows.jsonl", texts);
  for (const Json& one : golden.at("cases")) {
    const auto context = one.at("context").get<std::int64_t>();
    const EvalResult result = toy({rows}, context);
    ASSERT_EQ(result.items.size(), texts.size());
    for (std::size_t i = 0; i < texts.size(); ++i) {
      const TextLoss loss = result.items[i].loss.value();
      EXPECT_EQ(loss.nats, one.at("nats").at(i).get<double>()) << context << " " << i;
      EXPECT_EQ(loss.tokens, one.at("tokens").at(i).get<std::int64_t>()) << context << " " << i;
      EXPECT_EQ(loss.bytes, std::ssize(texts[i]));
    }
    EXPECT_DOUBLE_EQ(*named(result, "bpb/bits_per_byte").value,
                     one.at("bits_per_byte").get<double>());
    EXPECT_DOUBLE_EQ(*named(result, "bpb/nats_per_token").value,
                     one.at("nats_per_token").get<double>());
    EXPECT_EQ(result.metrics.size(), 2u);
    EXPECT_EQ(
        result.comparability.at("bpb/windows"),
        context == 4096 ? "whole documents" : std::to_string(context) + " tokens, one shared");
  }
}

TEST_F(BitsPerByteTask, AWindowIsThatOfAModelWithSuchAContext) {
  const std::string file = write("a.txt", "the cat on the red fox in the house");
  EvalContext context;
  context.settings.tasks = {"bpb"};
  context.settings.texts = {file};
  context.settings.window = 5;
  auto model = test::toy_model(64), small = test::toy_model(4);
  const auto given = evaluate(context, model);
  ASSERT_TRUE(given.has_value()) << given.error().message;
  EXPECT_EQ(given->at(0).items[0].loss, toy({file}, 5).items[0].loss);
  EXPECT_EQ(given->at(0).comparability.at("bpb/windows"), "5 tokens, one shared");
  const auto refused = evaluate(context, small);
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().message.find("a window of 5 tokens: the model's context holds 4"),
            std::string::npos)
      << refused.error().message;
}

TEST_F(BitsPerByteTask, ATextIsOneDocumentOfItsBytes) {
  const std::string text = "the cat\r\n\r\non the red fox\n";
  const EvalResult plain = toy({write("a.txt", "\xef\xbb\xbf" + text)});
  const EvalResult row = toy({write_rows("a.jsonl", {text})});
  ASSERT_EQ(plain.items.size(), 1u);
  EXPECT_EQ(plain.items[0].loss, row.items[0].loss);
  EXPECT_EQ(plain.items[0].loss->bytes, std::ssize(text));
  EXPECT_EQ(plain.comparability.at("bpb/items"), row.comparability.at("bpb/items"));
  const Metric& bits = named(plain, "bpb/bits_per_byte");
  EXPECT_EQ(bits.unit, "bit/byte");
  EXPECT_EQ(bits.direction, Direction::kLower);
  EXPECT_EQ(bits.n, std::ssize(text));
}

TEST_F(BitsPerByteTask, SeveralFilesAreShownApartToo) {
  fs::create_directory(folder_ / "b");
  const EvalResult result =
      toy({write("a.txt", "the cat"), write("b/a.txt", "the red fox"), write("c.txt", "")});
  const TextLoss one = *result.items[0].loss, two = *result.items[1].loss;
  EXPECT_EQ(*named(result, "bpb/a.txt/bits_per_byte").value,
            one.nats / (std::log(2.0) * static_cast<double>(one.bytes)));
  EXPECT_EQ(*named(result, "bpb/a.txt-2/bits_per_byte").value,
            two.nats / (std::log(2.0) * static_cast<double>(two.bytes)));
  EXPECT_EQ(named(result, "bpb/c.txt/bits_per_byte").reason_if_null, "no bytes were scored");
  EXPECT_EQ(named(result, "bpb/bits_per_byte").n, one.bytes + two.bytes);
}

TEST_F(BitsPerByteTask, EveryTokenAsLikelyAsAnyIsTheirNumber) {
  const auto vocab = static_cast<double>(test::toy_tokenizer().vocab_size());
  FakeLanguageModel model(test::toy_tokenizer(), 64, [&](std::span<const int>, int token) {
    return FakeScore{static_cast<float>(-std::log(vocab)), token};
  });
  const auto result = ask({write("a.txt", "zzzz")}, model);  // four tokens of one byte
  ASSERT_TRUE(result.has_value());
  EXPECT_NEAR(*result->metrics[0].value, std::log2(vocab), 1e-6);
}

TEST_F(BitsPerByteTask, AModelThatIsNotFiniteHasNoNumber) {
  FakeLanguageModel model(test::toy_tokenizer(), 64, [](std::span<const int>, int token) {
    return FakeScore{std::numeric_limits<float>::quiet_NaN(), token};
  });
  const auto result = ask({write("a.txt", "zzzz")}, model);
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(named(*result, "bpb/not_scored").value, 1.0);
  EXPECT_FALSE(named(*result, "bpb/bits_per_byte").value.has_value());
}

TEST_F(BitsPerByteTask, ErrorsNameFileAndLine) {
  EXPECT_EQ(error_of({}), "bpb needs a text; give the files (--text FILE)");
  EXPECT_NE(error_of({"nothing.txt"}).find("nothing.txt"), std::string::npos);
  EXPECT_EQ(error_of({write("e.txt", "")}), "bpb: e.txt: there is nothing to score in it");
  EXPECT_EQ(error_of({write("b.txt", "a\nb\xff")}),
            "bpb: b.txt:2: byte 3 of the file (0xff) is not UTF-8; convert the file, e.g. with "
            "iconv -t UTF-8");
  EXPECT_EQ(error_of({write("k.jsonl", "{\"text\": \"a\"}\n{\"txt\": \"b\"}\n")}),
            "bpb: k.jsonl:2: \"text\" is missing (a string); a line of texts has text");
  EvalSettings settings;
  settings.tasks = {"mw"};
  settings.texts = {"a.txt"};
  EXPECT_EQ(expand_tasks(settings, "").error().message,
            "only the task bpb reads texts; add it (--task bpb)");
}

TEST_F(BitsPerByteTask, TheDigestIsOfNamesAndBytes) {
  const auto digest = [&](const std::vector<std::string>& files) {
    EvalSettings settings;
    settings.tasks = {"bpb"};
    settings.texts = files;
    return digests_of(settings)->at("bpb");
  };
  const std::string a = write("a.txt", "one"), b = write("b.txt", "one");
  EXPECT_NE(digest({a}), digest({b}));  // the table by file has other names
  const std::string before = digest({a});
  write("a.txt", "One");
  EXPECT_NE(digest({a}), before);
}

TEST_F(BitsPerByteTask, WhatWasStoredIsReadBackToTheBit) {
  const EvalResult result = toy({write_rows("r.jsonl", {"the cat", "in"})}, 3);
  auto items = result.items;
  items[0].loss->nats = 0.1 + 0.2;
  const auto again = parse_items(*items_text(items), "items.jsonl");
  ASSERT_TRUE(again.has_value()) << again.error().message;
  EXPECT_EQ(again->at(0).loss, items[0].loss);
  EXPECT_EQ(again->at(1).loss, items[1].loss);
}

}  // namespace
}  // namespace nb
