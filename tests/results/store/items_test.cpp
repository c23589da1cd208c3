#include "results/store/items.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <random>

#include "harness/base/fs.hpp"
#include "results/store/short_number.hpp"
#include "tests/support/temp_dir.hpp"

namespace nb {
namespace {

ItemRecord choice_item() {
  return {"0123456789abcdef",
          true,
          "3",
          "3",
          {-12.34567F, -101.2345F, -9.876543F, -88.88888F, -10.5F},
          ""};
}

std::string items_error(const test::TempDir& dir, const std::string& text) {
  EXPECT_TRUE(write_file(dir / "items.jsonl", text));
  const auto items = read_items(dir / "items.jsonl");
  return items ? "read" : items.error().message.substr((dir / "").string().size());
}

TEST(Items, SurviveARoundTrip) {
  const test::TempDir dir;
  ItemRecord odd{"x\"\n", false, "π = <3.14>\t", "42\\", {}, "timeout"};
  ASSERT_TRUE(write_items(dir / "items.jsonl", {choice_item(), odd}));
  const auto items = read_items(dir / "items.jsonl");
  ASSERT_TRUE(items) << items.error().message;
  ASSERT_EQ(items->size(), 2U);
  EXPECT_EQ(items->at(0).log_probs.size(), 5U);
  EXPECT_NEAR(items->at(0).log_probs[1], -101.2345F, 1e-4);
  EXPECT_TRUE(items->at(0).ok);
  EXPECT_EQ(items->at(1).id, odd.id);
  EXPECT_EQ(items->at(1).prediction, odd.prediction);
  EXPECT_EQ(items->at(1).gold, odd.gold);
  EXPECT_EQ(items->at(1).reason, "timeout");
}

TEST(Items, FitTheirBudgetOf150Bytes) {
  const auto text = items_text({choice_item()});
  ASSERT_TRUE(text);
  EXPECT_LE(text->size(), 150U) << *text;
}

// What is printed twice and read once in between, by exact arithmetic: the same digits.
TEST(Items, ShortNumbersAreThoseOfThePrinter) {
  const auto printed = [](float value) {
    const std::string text = fmt::format("{:.7g}", static_cast<double>(value));
    return text == "-0" ? "0" : text;
  };
  std::mt19937_64 random(3);
  const auto check = [&](float value) {
    std::string text;
    append_short_number(value, text);
    const std::string expected = printed(std::strtof(printed(value).c_str(), nullptr));
    ASSERT_EQ(text, expected) << fmt::format("{:.17g}", static_cast<double>(value));
  };
  for (const float value :
       {0.F, -0.F, 1.F, -1.F, 10.F, .1F, .001F, 1e-4F, 9.9999994e-5F, 999999.94F, 1e6F, 1.5F,
        1234567.F, 8589973504.F, .9999999F, .99999994F, 99999.99F})
    check(value);
  for (int i = 0; i < 200000; ++i)
    check(std::bit_cast<float>(0x30000000 + static_cast<std::uint32_t>(random() % 0x20000000)));
  for (int i = 0; i < 200000; ++i) check(-static_cast<float>(random() % 4000000) / 100000);
}

TEST(Items, RefuseNanAndDoubles) {
  ItemRecord item = choice_item();
  item.log_probs[0] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_FALSE(items_text({item}));
  const auto twice = items_text({choice_item(), choice_item()});
  ASSERT_FALSE(twice);
  EXPECT_NE(twice.error().message.find("appears twice"), std::string::npos);
}

TEST(Items, ErrorsNameFileAndLine) {
  const test::TempDir dir;
  const std::string good = "{\"i\":\"a\",\"o\":1,\"p\":\"0\",\"g\":\"0\"}\n";
  EXPECT_EQ(items_error(dir, ""), "items.jsonl: has no items");
  EXPECT_EQ(items_error(dir, good + "{\"i\":\"b\",\"o\":1}"),
            "items.jsonl: the last line is truncated; evaluate again");
  EXPECT_TRUE(items_error(dir, good + "{\"i\":\"b\",\n").starts_with("items.jsonl:2"));
  EXPECT_EQ(items_error(dir, good + good), "items.jsonl:2: item a appears twice");
  EXPECT_EQ(items_error(dir, "{\"i\":\"a\",\"o\":2}\n"), "items.jsonl:1: \"o\" is neither 0 nor 1");
  EXPECT_EQ(items_error(dir, "{\"i\":\"a\",\"o\":1,\"z\":1}\n"),
            "items.jsonl:1: unknown key \"z\"");
  EXPECT_EQ(items_error(dir, "{\"o\":1}\n"), "items.jsonl:1: the item has no id");
  EXPECT_EQ(items_error(dir, "{\"i\":\"a\"}\n"),
            "items.jsonl:1: the item does not say whether it was right");
  EXPECT_FALSE(read_items(dir / "missing.jsonl"));
}

TEST(Items, KeepPromptHashTextsAndOutcomesOfSamples) {
  ItemRecord item{"ab", true, "18", "18", {}, ""};
  item.prompt_hash = "0011223344556677";
  item.cut_tokens = 12;
  item.texts = {"#### 18", "\"\n<|python_start|>"};
  item.sample_ok = {1, 0};
  const auto text = items_text({item});
  ASSERT_TRUE(text) << text.error().message;
  const auto read = parse_items(*text, "f");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->at(0).prompt_hash, item.prompt_hash);
  EXPECT_EQ(read->at(0).cut_tokens, 12);
  EXPECT_EQ(read->at(0).texts, item.texts);
  EXPECT_EQ(read->at(0).sample_ok, item.sample_ok);
  EXPECT_FALSE(parse_items("{\"i\":\"a\",\"o\":1,\"s\":[2]}\n", "f"));
  EXPECT_FALSE(parse_items("{\"i\":\"a\",\"o\":1,\"t\":[2]}\n", "f"));
  EXPECT_FALSE(parse_items("{\"i\":\"a\",\"o\":1,\"c\":-1}\n", "f"));
}

// An interrupted evaluation writes again what it has read: 7 digits must not drift.
TEST(Items, ReadAndWrittenAgainHaveTheSameBytes) {
  std::uint32_t bits = 1;
  std::vector<ItemRecord> items;
  for (int i = 0; i < 20000; ++i) {
    bits = bits * 1664525U + 1013904223U;
    const float value = std::bit_cast<float>(bits);
    if (!std::isfinite(value)) continue;
    items.push_back({std::to_string(i), true, "", "", {value, value * 1e-3F}, ""});
    if (!std::isfinite(items.back().log_probs[1])) items.pop_back();
  }
  const auto once = items_text(items);
  ASSERT_TRUE(once) << once.error().message;
  EXPECT_EQ(items_text(*parse_items(*once, "f")).value(), *once);
}

TEST(Items, FitTheirBudgetWithAPromptHashToo) {
  ItemRecord item = choice_item();
  item.prompt_hash = "0123456789abcdef";
  item.log_probs = {-1.234567e-05F, -12.34567F, -101.2345F, -0.001234567F, -88.88888F};
  EXPECT_LE(items_text({item})->size(), 150U) << *items_text({item});
}

TEST(Items, FileNamesAreSafe) {
  EXPECT_EQ(items_file(""), "items.jsonl");
  EXPECT_EQ(items_file("mw/facts"), "items/mw_facts.jsonl");
  EXPECT_EQ(items_file("a b:c"), "items/a_b_c.jsonl");
}

}  // namespace
}  // namespace nb
