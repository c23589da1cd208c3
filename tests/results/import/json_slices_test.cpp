#include "results/foreign/json_slices.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/temp_dir.hpp"

namespace nb {
namespace {

// "key=text" of each member, or the error.
std::vector<std::string> slices(std::string_view text) {
  std::vector<std::string> found;
  const auto done = for_each_slice(text, "f", [&](const JsonSlice& slice) -> Result<void> {
    found.push_back(fmt::format("{}={}", slice.key, slice.text));
    return {};
  });
  if (!done) found.push_back(done.error().message);
  return found;
}
using Found = std::vector<std::string>;

TEST(JsonSlices, MembersAndElementsAsTheyStand) {
  EXPECT_EQ(slices(R"( {"a" : [1, {"]": "}\"]"}], "b\n\u0041":-1.5e3,"c":"x\\\\", "d":null} )"),
            (Found{R"(a=[1, {"]": "}\"]"}])", "b\nA=-1.5e3", R"(c="x\\\\")", "d=null"}));
  EXPECT_EQ(slices("[true, {}, [] ,\"\"]"), (Found{"0=true", "1={}", "2=[]", "3=\"\""}));
  EXPECT_EQ(slices("{}"), Found{});
  EXPECT_EQ(slices(" [ ] "), Found{});
}

TEST(JsonSlices, EveryBeginningOfATextIsNamedAsCutOff) {
  const std::string text = R"({"ab": [1, "x\"y"], "c": {"d": 2}})";
  for (std::size_t size = 1; size < text.size(); ++size) {
    const Found found = slices(std::string_view(text).substr(0, size));
    EXPECT_TRUE(found.back().starts_with(fmt::format("f: byte {}: the text ends ", size)))
        << size << ": " << found.back();
  }
  EXPECT_EQ(slices(""), Found{"f: is empty"});
}

TEST(JsonSlices, OtherMistakesAreNamedWithTheirByte) {
  EXPECT_EQ(slices("12"), Found{"f: byte 1: an object or an array is expected here"});
  EXPECT_EQ(slices(R"({"a" 1})"), Found{"f: byte 6: a colon is expected here"});
  EXPECT_EQ(slices(R"({a: 1})"), Found{"f: byte 2: a key is expected here"});
  EXPECT_EQ(slices("[,]"), Found{"f: byte 2: a value is expected here"});
  EXPECT_EQ(slices("[1 2]"), Found{"f: byte 4: a comma is expected here"});
  EXPECT_EQ(slices("[1]]"), (Found{"0=1", "f: byte 4: the end is expected here"}));
  EXPECT_EQ(slices("[1,]"), (Found{"0=1", "f: byte 4: a value is expected here"}));
  EXPECT_EQ(slices_of("[1]", "f").error().message, "f: byte 1: an object is expected here");
  EXPECT_EQ(slices_of(R"({"a": 1, "a": 2})", "f").error().message,
            "f: key \"a\" appears twice in one object");
}

TEST(JsonSlices, PythonsWordsBecomeTextsOutsideOfTextsAlone) {
  const auto json = parse_slice(R"([NaN, -Infinity, Infinity, "NaN \" -Infinity", 1])", "f");
  ASSERT_TRUE(json) << json.error().message;
  EXPECT_EQ(*json, Json::parse(R"(["NaN", "-Infinity", "Infinity", "NaN \" -Infinity", 1])"));
}

TEST(JsonSlices, WhatWasGivenBackIsReadAgain) {
  const test::TempDir folder;
  const fs::path path = folder / "a.json";
  std::string text = "[";
  for (int i = 0; i < 30; ++i)
    text += fmt::format("{}\"{}\"", i > 0 ? "," : "", std::string(1'000'000, char('a' + i % 26)));
  ASSERT_TRUE(write_file(path, text + "]"));
  auto file = MappedText::open(path);
  ASSERT_TRUE(file);
  for (int pass = 0; pass < 2; ++pass) {
    std::size_t bytes = 0, right = 0;
    const auto done = for_each_slice(
        file->text(), "f",
        [&](const JsonSlice& slice) -> Result<void> {
          bytes += slice.text.size();
          right += slice.text[500'000] == 'a' + std::stoi(slice.key) % 26;
          return {};
        },
        &*file);
    ASSERT_TRUE(done);
    EXPECT_EQ(bytes, 30u * 1'000'002);
    EXPECT_EQ(right, 30u);
  }
}

}  // namespace
}  // namespace nb
