#include "harness/base/fields.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "harness/base/check.hpp"

namespace nb {
namespace {

enum class Mode { kEager, kCompiled };

struct Inner {
  std::string name = "a";
  std::optional<double> rate;
  FieldList fields() {
    return {{"name", "what it is called", &name, {.one_of = {"a", "bee", "sea"}}},
            {"rate", "how fast", &rate, {.unit = "tok/s", .min = 0, .max = 10}}};
  }
};

struct Outer {
  int depth = 2;
  std::int64_t seed = -1;
  std::uint64_t bytes = 0;
  bool quiet = false;
  double lr = 0.02;
  std::vector<int> sizes = {1, 2};
  std::map<std::string, double> weights;
  std::map<std::string, std::string> tags;
  Mode mode = Mode::kEager;
  Inner inner;
  std::optional<Inner> maybe;
  std::vector<Inner> list_of;
  FieldList fields() {
    return {{"depth", "layers", &depth, {.min = 1, .max = 64}},
            {"seed", "first seed", &seed, {}},
            {"bytes", "memory", &bytes, {.unit = "byte"}},
            {"quiet", "say little", &quiet, {.hashed = false}},
            {"lr", "learning rate", &lr, {.min = 0}},
            {"sizes", "sizes", &sizes, {.min = 1}},
            {"weights", "weight of each task", &weights, {.max = 1}},
            {"tags", "free text", &tags, {}},
            {"mode", "how to run", enumerated(&mode, {"eager", "compiled"}), {}},
            {"inner", "nested", object(&inner), {}},
            {"maybe", "perhaps", object(&maybe), {}},
            {"list", "many", list(&list_of), {}}};
  }
};

struct Needy {
  std::string path;
  FieldList fields() { return {{"path", "file to read", &path, {.required = true}}}; }
};

struct Later {
  int old_one = 1;
  std::optional<double> asked, later;
  FieldList fields() {
    return {{"old_one", "there from the start", &old_one, {}},
            {"asked", "null where absent", &asked, {}},
            {"later", "came later", &later, {.omits_absent = true}}};
  }
};

std::string fields_error(const Json& json, const std::string& where = "s.json") {
  const auto result = parse_struct<Outer>(json, where);
  return result ? "no error" : result.error().message;
}

TEST(Fields, ParseSetsWhatIsThereAndKeepsTheRest) {
  const Json json = {{"depth", 4},
                     {"lr", 1},
                     {"seed", -5},
                     {"bytes", 18446744073709551615ULL},
                     {"sizes", {7}},
                     {"weights", {{"x", 0.5}}},
                     {"tags", {{"k", "v"}}},
                     {"mode", "compiled"},
                     {"inner", {{"rate", 3}}},
                     {"maybe", {{"name", "bee"}}},
                     {"list", {{{"name", "sea"}}, Json::object()}}};
  const Outer outer = parse_struct<Outer>(json, "s.json").value();
  EXPECT_EQ(outer.depth, 4);
  EXPECT_EQ(outer.lr, 1.0);
  EXPECT_EQ(outer.seed, -5);
  EXPECT_EQ(outer.bytes, 18446744073709551615ULL);
  EXPECT_EQ(outer.sizes, std::vector<int>{7});
  EXPECT_EQ(outer.weights.at("x"), 0.5);
  EXPECT_EQ(outer.tags.at("k"), "v");
  EXPECT_EQ(outer.mode, Mode::kCompiled);
  EXPECT_EQ(outer.inner.name, "a");
  EXPECT_EQ(outer.inner.rate, 3.0);
  EXPECT_EQ(outer.maybe.value().name, "bee");
  ASSERT_EQ(outer.list_of.size(), 2U);
  EXPECT_EQ(outer.list_of[0].name, "sea");
  EXPECT_FALSE(outer.quiet);
}

TEST(Fields, PrintedStructParsesBackToItself) {
  Outer outer;
  outer.maybe.emplace().rate = 2.5;
  outer.list_of.resize(2);
  outer.mode = Mode::kCompiled;
  const Json printed = print_struct(outer);
  EXPECT_EQ(print_struct(parse_struct<Outer>(printed, "s.json").value()), printed);
  EXPECT_TRUE(print_struct(Inner{})["rate"].is_null());
  EXPECT_FALSE(print_struct(Outer{}).contains("maybe"));
}

TEST(Fields, UnknownKeyNamesTheNearestOrAll) {
  EXPECT_EQ(fields_error({{"dept", 3}}), "s.json: /dept: unknown key; did you mean \"depth\"?");
  EXPECT_EQ(fields_error({{"inner", {{"xyzzy", 3}}}}),
            "s.json: /inner/xyzzy: unknown key; known: name, rate");
  EXPECT_EQ(fields_error({{"list", {{{"nam/e", 3}}}}}),
            "s.json: /list/0/nam~1e: unknown key; did you mean \"name\"?");
}

TEST(Fields, WrongTypesNameExpectedAndFound) {
  EXPECT_EQ(fields_error({{"depth", "1"}}),
            "s.json: /depth: expected an integer, found the string \"1\"");
  EXPECT_EQ(fields_error({{"depth", 1.5}}),
            "s.json: /depth: expected an integer, found the number 1.5");
  EXPECT_EQ(fields_error({{"depth", nullptr}}), "s.json: /depth: expected an integer, found null");
  EXPECT_EQ(fields_error({{"bytes", -1}}),
            "s.json: /bytes: expected an integer of 0 or more, found the number -1");
  EXPECT_EQ(fields_error({{"quiet", 1}}),
            "s.json: /quiet: expected true or false, found the number 1");
  EXPECT_EQ(fields_error({{"lr", true}}), "s.json: /lr: expected a number, found true");
  EXPECT_EQ(fields_error({{"sizes", 3}}), "s.json: /sizes: expected a list, found the number 3");
  EXPECT_EQ(fields_error({{"sizes", {1, "x"}}}),
            "s.json: /sizes/1: expected an integer, found the string \"x\"");
  EXPECT_EQ(fields_error({{"inner", 3}}), "s.json: /inner: expected an object, found the number 3");
  EXPECT_EQ(fields_error({{"inner", {{"name", 1}}}}),
            "s.json: /inner/name: expected a string, found the number 1");
  EXPECT_EQ(fields_error({{"list", {1}}}),
            "s.json: /list/0: expected an object, found the number 1");
  EXPECT_EQ(fields_error({{"mode", 1}}),
            "s.json: /mode: expected one of eager, compiled, found the number 1");
  EXPECT_EQ(fields_error(Json::array()), "s.json: /: expected an object, found a list");
}

TEST(Fields, RangesAreChecked) {
  EXPECT_EQ(fields_error({{"depth", 0}}), "s.json: /depth: 0 is below the minimum 1");
  EXPECT_EQ(fields_error({{"depth", 65}}), "s.json: /depth: 65 is above the maximum 64");
  EXPECT_EQ(fields_error({{"depth", 3000000000LL}}),
            "s.json: /depth: 3000000000 is too large for this setting");
  EXPECT_EQ(fields_error({{"depth", -3000000000LL}}),
            "s.json: /depth: -3000000000 is too small for this setting");
  EXPECT_EQ(fields_error({{"sizes", {1, 0}}}), "s.json: /sizes/1: 0 is below the minimum 1");
  EXPECT_EQ(fields_error({{"weights", {{"x", 2}}}}),
            "s.json: /weights/x: 2 is above the maximum 1");
  EXPECT_EQ(fields_error({{"inner", {{"rate", 11.5}}}}),
            "s.json: /inner/rate: 11.5 tok/s is above the maximum 10 tok/s");
}

TEST(Fields, TextsAndEnumeratorsAreOneOf) {
  EXPECT_EQ(fields_error({{"inner", {{"name", "beee"}}}}),
            "s.json: /inner/name: \"beee\" is not one of a, bee, sea; did you mean \"bee\"?");
  EXPECT_EQ(fields_error({{"mode", "compile"}}),
            "s.json: /mode: \"compile\" is not one of eager, compiled; did you mean \"compiled\"?");
}

TEST(Fields, RequiredKeysAreMissed) {
  EXPECT_EQ(parse_struct<Needy>(Json::object(), "s.json").error().message,
            "s.json: /path: missing (file to read)");
}

TEST(Fields, PointerContinuesTheCallersPlace) {
  EXPECT_EQ(fields_error({{"depth", 0}}, "s.json: /train/0"),
            "s.json: /train/0/depth: 0 is below the minimum 1");
  EXPECT_EQ(fields_error({{"depth", 0}}, ""), "/depth: 0 is below the minimum 1");
}

TEST(Fields, OptionalsTakeNull) {
  EXPECT_EQ(fields_error({{"inner", {{"rate", nullptr}}}, {"maybe", nullptr}}), "no error");
}

TEST(Fields, HashedFieldsLeaveOutWhatChangesNothing) {
  Outer a;
  Outer b;
  b.quiet = true;
  EXPECT_EQ(hashed_fields(a.fields()), hashed_fields(b.fields()));
  EXPECT_NE(print_fields(a.fields()), print_fields(b.fields()));
  b.inner.rate = 1;
  EXPECT_NE(hashed_fields(a.fields()), hashed_fields(b.fields()));
}

TEST(Fields, HelpShowsUnitsRangesDefaultsAndNesting) {
  const std::string help = help_fields(Outer().fields());
  EXPECT_NE(help.find("  depth    layers (integer, 1 … 64, default 2)\n"), std::string::npos)
      << help;
  EXPECT_NE(help.find("  bytes    memory (integer, byte, default 0)\n"), std::string::npos) << help;
  EXPECT_NE(help.find("  mode     how to run (eager|compiled, default eager)\n"), std::string::npos)
      << help;
  EXPECT_NE(
      help.find("  inner    nested (object)\n    name  what it is called (a|bee|sea, default a)\n"
                "    rate  how fast (number, tok/s, 0 … 10, default none)\n"),
      std::string::npos)
      << help;
  EXPECT_NE(help.find("  sizes    sizes (list of integer, at least 1, default [1,2])\n"),
            std::string::npos)
      << help;
  EXPECT_NE(help_fields(Needy().fields()).find("(text, required)"), std::string::npos);
}

TEST(Fields, AKeyDescribedTwiceIsOurMistake) {
  int x = 0;
  const FieldList fields = {{"x", "", &x, {}}, {"x", "", &x, {}}};
  EXPECT_THROW(static_cast<void>(parse_fields(fields, Json::object(), "s")), CheckFailure);
}

TEST(NearestName, FindsTyposAndBegunNamesOnly) {
  const std::vector<std::string> names = {"ascend_910b1", "ascend_910b3", "h100_sxm", "tiny"};
  EXPECT_EQ(nearest_name("ascend_901b3", names), "ascend_910b3");
  EXPECT_EQ(nearest_name("Ascend_910B3", names), "ascend_910b3");
  EXPECT_EQ(nearest_name(std::string(1'000'000, 'h'), names), "");
  EXPECT_EQ(nearest_name("h100", names), "h100_sxm");
  EXPECT_EQ(nearest_name("tiyn", names), "tiny");
  EXPECT_EQ(nearest_name("rtx", names), "");
  EXPECT_EQ(nearest_name("x", names), "");
}

TEST(Fields, SettingsThatCameLaterArePrintedAndHashedOnlyWhereGiven) {
  Later settings;
  EXPECT_EQ(print_struct(settings).dump(), R"({"asked":null,"old_one":1})");
  EXPECT_EQ(hashed_fields(settings.fields()).dump(), R"({"asked":null,"old_one":1})");
  settings.later = 0.5;
  EXPECT_EQ(print_struct(settings).dump(), R"({"asked":null,"later":0.5,"old_one":1})");
  EXPECT_EQ(hashed_fields(settings.fields()).dump(), R"({"asked":null,"later":0.5,"old_one":1})");
}

}  // namespace
}  // namespace nb
