#include "harness/base/json_io.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "harness/base/fs.hpp"
#include "tests/support/temp_dir.hpp"

namespace nb {
namespace {

std::string json_error(std::string_view text, JsonComments comments = JsonComments::kRefused) {
  const auto json = parse_json(text, "a.json", comments);
  return json ? "no error" : json.error().message;
}

TEST(JsonIo, ReadsEveryKindOfValue) {
  const Json json = parse_json(R"({"a": [null, true, -1, 2, 1.5, "x\n"], "b": {}})", "a").value();
  EXPECT_EQ(json, (Json{{"a", {nullptr, true, -1, 2, 1.5, "x\n"}}, {"b", Json::object()}}));
  EXPECT_EQ(parse_json(" 3 ", "a").value(), Json(3));
  EXPECT_TRUE(json["a"][2].is_number_integer());
  EXPECT_TRUE(json["a"][3].is_number_unsigned());
}

TEST(JsonIo, ErrorsTellFileLineAndColumn) {
  EXPECT_EQ(json_error("{\n  \"a\": 1,\n  \"b\": tru\n}").substr(0, 11), "a.json:3:11");
  EXPECT_EQ(json_error("").substr(0, 12), "a.json:1:1: ");
  EXPECT_EQ(json_error("{\"a\": 1} x").substr(0, 13), "a.json:1:10: ");
  EXPECT_NE(json_error("[1,]").find("syntax error"), std::string::npos);
}

// The parser took it for the end: whatever followed was left out without a word.
TEST(JsonIo, RefusesAByteZero) {
  using namespace std::string_view_literals;
  for (const std::string_view text : {"{\"a\": 1}\n\0{\"b\": 2}"sv, "{\"a\": 1}\n\0"sv})
    EXPECT_EQ(json_error(text),
              "a.json:2:1: a zero byte; JSON is UTF-8 text (is the file damaged?)");
}

TEST(JsonIo, ErrorsInALineOfAFileTellItsColumn) {
  EXPECT_EQ(parse_json_line(R"({"a": 1})", "a.jsonl:7").value(), Json({{"a", 1}}));
  const auto error = parse_json_line("{\"a\": tru}", "a.jsonl:7");
  ASSERT_FALSE(error.has_value());
  EXPECT_EQ(error.error().message.substr(0, 13), "a.jsonl:7:10:") << error.error().message;
}

TEST(JsonIo, RefusesAKeyThatComesTwice) {
  EXPECT_EQ(json_error("{\"a\": {\"k\": 1},\n \"b\": {\"k\": 1, \"x\\\"y\": 2,\n  \"x\\\"y\": 3}}"),
            "a.json:3:3: key \"x\"y\" appears twice in one object");
  EXPECT_EQ(json_error(R"([{"k": 1}, {"k": 1}])"), "no error");
}

TEST(JsonIo, RefusesWhatJsonHasNot) {
  for (const char* text :
       {"NaN", "Infinity", "1e999", "[1 2]", "{'a': 1}", "\"\xff\"", "01", "\"a"})
    EXPECT_NE(json_error(text), "no error") << text;
}

TEST(JsonIo, CommentsOnlyWhereAsked) {
  const char* text = "{ // why\n \"a\": 1 /* and */ }";
  EXPECT_EQ(json_error(text, JsonComments::kAllowed), "no error");
  EXPECT_NE(json_error(text), "no error");
}

TEST(JsonIo, DepthHasALimit) {
  EXPECT_EQ(json_error(std::string(200, '[') + std::string(200, ']')), "no error");
  EXPECT_EQ(json_error(std::string(1'000'000, '[')), "a.json:1:201: nested deeper than 200 levels");
}

TEST(JsonIo, EqualValuesHaveEqualBytes) {
  EXPECT_EQ(dump_json(parse_json(R"({"b":1,"a":[0.1,1e300]})", "a").value(), -1).value(),
            R"({"a":[0.1,1e+300],"b":1})");
  EXPECT_EQ(dump_json(Json{{"a", 1}}).value(), "{\n  \"a\": 1\n}");
}

TEST(JsonIo, RefusesNanAndInfinityWithTheirPointer) {
  Json json = {{"a/b", {{"c", {1.0, std::numeric_limits<double>::quiet_NaN()}}}}};
  EXPECT_EQ(dump_json(json).error().message, "/a~1b/c/1: NaN is not a JSON number");
  json["a/b"]["c"][1] = -std::numeric_limits<double>::infinity();
  EXPECT_EQ(dump_json(json).error().message, "/a~1b/c/1: infinity is not a JSON number");
  EXPECT_EQ(dump_json(Json(std::numeric_limits<double>::quiet_NaN())).error().message,
            "/: NaN is not a JSON number");
}

TEST(JsonIo, RefusesTextThatIsNotUtf8WithItsPointer) {
  EXPECT_EQ(dump_json(Json{{"a", {"ok", "\xff"}}}).error().message, "/a/1: text is not UTF-8");
  EXPECT_EQ(dump_json(Json{{"\xff", 1}}).error().message, "/: a key is not UTF-8");
}

TEST(JsonIo, FilesEndInANewlineAndReadBack) {
  const test::TempDir dir;
  ASSERT_TRUE(write_json(dir / "x.json", Json{{"a", 1}}, -1).has_value());
  EXPECT_EQ(read_file(dir / "x.json").value(), "{\"a\":1}\n");
  EXPECT_EQ(read_json(dir / "x.json").value(), (Json{{"a", 1}}));
  const auto failed =
      write_json(dir / "y.json", Json{{"a", std::numeric_limits<double>::infinity()}});
  EXPECT_EQ(failed.error().message,
            (dir / "y.json").string() + ": /a: infinity is not a JSON number");
  EXPECT_FALSE(fs::exists(dir / "y.json"));
}

}  // namespace
}  // namespace nb
