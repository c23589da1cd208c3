// Every number of a device profile carries its unit and its source, every choice its source.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/json_io.hpp"
#include "tests/repo/source_tree.hpp"

namespace nb::test {
namespace {

bool has_text(const Json& object, const char* key) {
  const auto member = object.find(key);
  return member != object.end() && member->is_string() && !member->get<std::string>().empty();
}

bool has_number(const Json& json) {
  if (json.is_number()) return true;
  if (!json.is_structured()) return false;
  for (const Json& member : json)
    if (has_number(member)) return true;
  return false;
}

void walk(const Json& json, const std::string& where, std::vector<std::string>& problems) {
  if (json.is_number()) {
    problems.push_back(where + ": a number outside {\"value\", \"unit\", \"source\"}");
  } else if (json.is_array()) {
    for (std::size_t i = 0; i < json.size(); ++i)
      walk(json[i], where + "/" + std::to_string(i), problems);
  } else if (json.is_object() && json.contains("value")) {
    if (!has_text(json, "source")) problems.push_back(where + ": has no source");
    if (has_number(json["value"]) && !has_text(json, "unit"))
      problems.push_back(where + ": a number without unit");
  } else if (json.is_object()) {
    for (const auto& [key, member] : json.items()) walk(member, where + "/" + key, problems);
  }
}

std::vector<std::string> profile_problems(const std::vector<SourceFile>& files) {
  std::vector<std::string> problems;
  for (const SourceFile& file : files) {
    constexpr std::string_view kLayers[] = {"model/device/profiles/", "model/device/stacks/",
                                            "model/device/families/"};
    if (std::ranges::none_of(kLayers,
                             [&](std::string_view layer) { return file.path.starts_with(layer); }))
      continue;
    const Result<Json> json = parse_json(file.text, file.path, JsonComments::kAllowed);
    if (json)
      walk(*json, file.path + ": ", problems);
    else
      problems.push_back(json.error().message);
  }
  return problems;
}

TEST(Profiles, EveryNumberHasUnitAndSource) {
  constexpr std::array<std::string_view, 1> kEndings = {".json"};
  const auto problems = profile_problems(source_files(kEndings));
  EXPECT_TRUE(problems.empty()) << lines(problems);
}

TEST(Profiles, WhatLacksUnitOrSourceIsNamed) {
  const auto problems = profile_problems({{"model/device/profiles/x.json", R"({
      "name": "x",
      "good": {"value": 3, "unit": "ns", "source": "a paper"},
      "choice": {"value": "ring", "source": "a paper"},
      "bare": 3,
      "deep": {"list": [{"value": [1, 2], "source": "s"}, {"value": 1, "unit": "ns", "source": ""}]}
    })"}});
  ASSERT_EQ(problems.size(), 3U) << lines(problems);
  EXPECT_EQ(
      problems[0],
      "model/device/profiles/x.json: /bare: a number outside {\"value\", \"unit\", \"source\"}");
  EXPECT_EQ(problems[1], "model/device/profiles/x.json: /deep/list/0: a number without unit");
  EXPECT_EQ(problems[2], "model/device/profiles/x.json: /deep/list/1: has no source");
}

}  // namespace
}  // namespace nb::test
