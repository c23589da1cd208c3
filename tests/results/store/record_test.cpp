#include "results/store/record.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "tests/results/fake_run.hpp"
#include "tests/support/golden.hpp"

namespace nb {
namespace {

using test::metric_of;

Record sample() {
  Record record;
  record.kind = "eval";
  record.name = "base.core";
  record.node_key = std::string(64, 'a');
  record.device = "ascend_910b3";
  record.trained_on = "h100_sxm";
  record.seed = -3;
  record.settings = Json{{"tasks", {"mw/facts"}}, {"limit", nullptr}};
  record.parents = {std::string(64, 'b')};
  record.checkpoint = Json{{"settings", {{"matrix_lr", 0.02}}}, {"code", nullptr}, {"steps", 20}};
  record.comparability = {{"tokenizer", "t"}, {"mw/facts/items", "i"}};
  record.subject = {{"weights", "w"}, {"code", "c"}};
  record.metrics = {
      metric_of("mw/facts/accuracy", 0.1, "1", Direction::kHigher, Clock::kNone, 200)};
  record.metrics[0].low = 0.05;
  record.metrics[0].high = 0.15;
  Metric missing = metric_of("mfu", 0, "1", Direction::kHigher, Clock::kSim);
  missing.value.reset();
  missing.reason_if_null = "the profile gives no peak";
  record.metrics.push_back(missing);
  record.host_metrics = {metric_of("wall_time_ns", 1e9, "ns", Direction::kLower, Clock::kHost)};
  record.numerics = {{"matmul inputs", "bf16", "documented", "vendor \"quoted\" source"}};
  record.environment = Json{{"finished_at", "2026-01-01T00:00:00Z"}};
  record.items = {{"mw/facts", "items/mw_facts.jsonl"}};
  record.artifacts = {{"items/mw_facts.jsonl", std::string(64, 'c')}};
  record.host_artifacts = {{"log.txt", std::string(64, 'd')}};
  return record;
}

std::string record_error(const Record& record) {
  const auto json = record_json(record);
  return json ? "" : json.error().message;
}

TEST(Record, SurvivesARoundTrip) {
  const auto json = record_json(sample());
  ASSERT_TRUE(json) << json.error().message;
  const auto parsed = parse_record(*json, "r.json");
  ASSERT_TRUE(parsed) << parsed.error().message;
  const auto again = record_json(*parsed);
  ASSERT_TRUE(again);
  EXPECT_EQ(*json, *again);
  EXPECT_EQ(parsed->seed, -3);
  EXPECT_EQ(parsed->trained_on, "h100_sxm");
  EXPECT_FALSE(parsed->metrics[1].value.has_value());
  EXPECT_EQ(parsed->metrics[1].reason_if_null, "the profile gives no peak");
  EXPECT_EQ(*parsed->checkpoint, *sample().checkpoint);
  EXPECT_TRUE(same_results(sample(), *parsed));
}

// One stored record per schema: a reader that changes its mind breaks this.
TEST(Record, OfSchema1StaysReadable) {
  const auto stored = read_json(std::string(NB_SOURCE_DIR) + "/tests/golden/records/schema_1.json");
  ASSERT_TRUE(stored) << stored.error().message;
  const auto record = parse_record(*stored, "schema_1.json");
  ASSERT_TRUE(record) << record.error().message;
  EXPECT_EQ(record->schema, 1);
  EXPECT_TRUE(record->checkpoint->is_null());
  EXPECT_TRUE(same_results(*record, sample()));
}

TEST(Record, OfSchema2StaysReadable) {
  const auto text = dump_json(*record_json(sample()));
  ASSERT_TRUE(text);
  NB_EXPECT_GOLDEN("records/schema_2.json", *text + "\n");
  const auto stored = read_json(std::string(NB_SOURCE_DIR) + "/tests/golden/records/schema_2.json");
  ASSERT_TRUE(stored) << stored.error().message;
  const auto record = parse_record(*stored, "schema_2.json");
  ASSERT_TRUE(record) << record.error().message;
  EXPECT_EQ(record->checkpoint->at("settings").at("matrix_lr"), 0.02);
}

// Halving val_bpb in a record was reused and gated.
TEST(Record, ThatWasEditedIsDamaged) {
  const Json good = *record_json(sample());
  const auto error = [&](const std::function<void(Json&)>& change) {
    Json json = good;
    change(json);
    const auto parsed = parse_record(json, "x/record.json");
    return parsed ? std::string("parsed") : parsed.error().message;
  };
  EXPECT_EQ(error([](Json&) {}), "parsed");
  const std::string damaged = "x/record.json: damaged or edited: its checksum says ";
  EXPECT_TRUE(error([](Json& j) { j["metrics"][0]["value"] = 0.05; }).starts_with(damaged));
  EXPECT_TRUE(error([](Json& j) { j["checkpoint"] = nullptr; }).starts_with(damaged));
  EXPECT_TRUE(error([](Json& j) { j["settings"]["limit"] = 1; }).starts_with(damaged));
  EXPECT_TRUE(error([](Json& j) { j["checksum"] = ""; }).starts_with(damaged));
  EXPECT_EQ(error([](Json& j) { j.erase("checksum"); }), "x/record.json: /checksum: is missing");
  // An older schema does not lift the seal: it has neither member.
  EXPECT_NE(error([](Json& j) { j["schema"] = 1; }).find("is not a known key"), std::string::npos);
}

// Every single byte counts, whatever it stands for.
TEST(Record, NoChangedDigitOfItsTextIsTakenForAResult) {
  const std::string text = dump_json(*record_json(sample())).value();
  int changed = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] < '0' || text[i] > '9') continue;
    std::string other = text;
    other[i] = text[i] == '9' ? '8' : static_cast<char>(text[i] + 1);
    const auto json = parse_json(other, "r.json");
    if (!json) continue;
    ++changed;
    EXPECT_FALSE(parse_record(*json, "r.json")) << "at byte " << i;
  }
  EXPECT_GT(changed, 50);
}

TEST(Record, RefusesWhatWouldLie) {
  Record record = sample();
  record.metrics[0].value = std::numeric_limits<double>::quiet_NaN();
  EXPECT_NE(record_error(record).find("mw/facts/accuracy: NaN"), std::string::npos)
      << record_error(record);

  record = sample();
  record.metrics[1].reason_if_null = "";
  EXPECT_NE(record_error(record).find("neither a value nor a reason"), std::string::npos);

  record = sample();
  record.metrics[0].clock = Clock::kHost;
  EXPECT_NE(record_error(record).find("belongs to host_metrics"), std::string::npos);

  record = sample();
  record.host_metrics[0].clock = Clock::kSim;
  EXPECT_NE(record_error(record).find("belongs to metrics"), std::string::npos);

  record = sample();
  record.artifacts.clear();
  EXPECT_NE(record_error(record).find("not among the artifacts"), std::string::npos);

  record = sample();
  record.metrics.push_back(record.metrics[0]);
  EXPECT_NE(record_error(record).find("appears twice"), std::string::npos);

  record = sample();
  record.status = "failed";
  EXPECT_NE(record_error(record).find("error text"), std::string::npos);

  record = sample();
  record.numerics[0].status = "probably";
  EXPECT_NE(record_error(record).find("probably"), std::string::npos);

  record = sample();
  record.settings = Json{{"lr", std::numeric_limits<double>::infinity()}};
  EXPECT_NE(record_error(record).find("lr"), std::string::npos) << record_error(record);
}

TEST(Record, NamesTheFieldOfABadFile) {
  const auto error = [](const std::function<void(Json&)>& change) {
    Json json = *record_json(sample());
    change(json);
    const auto parsed = parse_record(json, "r.json");
    return parsed ? std::string("parsed") : parsed.error().message;
  };
  EXPECT_EQ(error([](Json& j) { j["metrics"][0]["clock"] = "lunar"; }),
            "r.json: /metrics/0/clock: \"lunar\" is not one of its values");
  EXPECT_EQ(error([](Json& j) { j.erase("kind"); }), "r.json: /kind: is missing");
  EXPECT_EQ(error([](Json& j) { j["surprise"] = 1; }), "r.json: /surprise: is not a known key");
  EXPECT_EQ(error([](Json& j) { j["seed"] = "one"; }), "r.json: /seed: is not an integer");
  EXPECT_NE(error([](Json& j) { j["schema"] = 3; }).find("schema: 3 is none of the schemas 1 to 2"),
            std::string::npos);
  EXPECT_NE(error([](Json& j) { j["schema"] = 4294967297; }).find("4294967297 is none"),
            std::string::npos);
  EXPECT_NE(error([](Json& j) { j = Json::array(); }).find("not an object"), std::string::npos);
  EXPECT_NE(error([](Json& j) { j["metrics"][0]["value"] = nullptr; }).find("neither a value"),
            std::string::npos);
}

TEST(Record, SameResultsIgnoresCodeHostAndDevice) {
  const Record a = sample();
  Record b = sample();
  b.device = "h100_sxm";
  b.subject["code"] = "other";
  b.host_metrics[0].value = 7;
  b.host_artifacts["log.txt"] = std::string(64, 'e');
  b.environment = Json{{"finished_at", "2027"}};
  EXPECT_TRUE(same_results(a, b)) << first_difference(a, b);
  b.metrics[0].value = 0.1000001;
  EXPECT_EQ(first_difference(a, b), "metrics/mw/facts/accuracy/value: 0.1 and 0.1000001");
  b = sample();
  b.artifacts["items/mw_facts.jsonl"] = std::string(64, 'f');
  EXPECT_NE(first_difference(a, b).find("artifacts/items/mw_facts.jsonl"), std::string::npos);
  b = sample();
  b.metrics.pop_back();
  EXPECT_EQ(first_difference(a, b), "metrics/mfu: only on one side");
  EXPECT_EQ(first_difference(b, a), "metrics/mfu: only on one side");
}

// A record that somebody edited threw the JSON library's exception in compare and report.
TEST(Record, ImportedSettingsOfOtherTypesAreASentence) {
  const Json right = {{"harness", "h"},
                      {"primary", {"a/acc"}},
                      {"series", {{"a/acc", {{"share", true}, {"standard_error", 0.1}}}}},
                      {"not_finite_from", {{"loss", 3}}}};
  Record record = sample();
  record.settings = Json{{"imported", right}};
  EXPECT_EQ(record_error(record), "");
  const std::pair<const char*, Json> kWrong[] = {{"", 5},
                                                 {"/harness", 5},
                                                 {"/primary", "a"},
                                                 {"/primary/0", 1},
                                                 {"/series", Json::array()},
                                                 {"/series/a~1acc", true},
                                                 {"/series/a~1acc/share", "yes"},
                                                 {"/series/a~1acc/part_of", 1},
                                                 {"/series/a~1acc/standard_error", "x"},
                                                 {"/not_finite_from", 1},
                                                 {"/not_finite_from/loss", 1.5}};
  for (const auto& [place, value] : kWrong) {
    Json imported = right;
    imported[Json::json_pointer(place)] = value;
    record.settings = Json{{"imported", imported}};
    EXPECT_NE(record_error(record).find("/settings/imported"), std::string::npos)
        << place << ": " << record_error(record);
  }
}

}  // namespace
}  // namespace nb
