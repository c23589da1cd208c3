#include "results/compare/flips.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/results/fake_run.hpp"

namespace nb {
namespace {

using test::FakeRun;

bool first_half(int i) { return i < 20; }
bool first_half_but_two(int i) { return i < 20 && i != 3 && i != 4; }

// The second choice is gold. Item 3 is lost by a hair, item 4 by 2 nat; the others do not move.
std::vector<float> before(int i) {
  if (i == 3) return {-1.01F, -1.0F};
  if (i == 4) return {-2.0F, -1.0F};
  return {-1.5F, i < 20 ? -1.0F : -2.0F};
}
std::vector<float> after(int i) {
  if (i == 3) return {-1.0F, -1.01F};
  if (i == 4) return {-1.0F, -2.0F};
  return before(i);
}

TEST(Flips, ATieIsNearAndALostChoiceOfTwoNatIsHard) {
  FakeRun run;
  run.add_evaluation("ascend_910b3", 1, "w", {{"mw/facts", 40, first_half, before}},
                     [](Record& record) { record.trained_on = "h100_sxm"; });
  run.add_evaluation("h100_sxm", 1, "w", {{"mw/facts", 40, first_half_but_two, after}},
                     [](Record& record) { record.trained_on = "h100_sxm"; });
  const RunRecords records = run.read();
  const auto comparison = compare_devices(records, "ascend_910b3", "h100_sxm");
  ASSERT_TRUE(comparison) << comparison.error().message;
  const ItemList list = flips_of(*comparison);
  ASSERT_EQ(list.groups.size(), 1U);
  EXPECT_TRUE(list.groups[0].same_weights);
  EXPECT_EQ(list.groups[0].lost, 2);
  EXPECT_EQ(list.groups[0].near_tie, 1);
  EXPECT_EQ(list.groups[0].hard, 1);
  EXPECT_DOUBLE_EQ(list.groups[0].limit, 0.05) << "no margin but two moved";
  ASSERT_EQ(list.flips.size(), 2U);
  EXPECT_EQ(list.flips[0].kind, FlipKind::kNearTie);
  EXPECT_EQ(list.flips[0].row, 4) << "from 1";
  EXPECT_TRUE(list.flips[0].lost);
  EXPECT_NEAR(*list.flips[0].margin_a, 0.01, 1e-6);
  EXPECT_EQ(list.flips[1].kind, FlipKind::kHard);
  EXPECT_NEAR(*list.flips[1].margin_b, -1.0, 1e-6);
}

// Of other harnesses: a score may be a fraction, and a side may have more samples.
RunRecords imported(const std::string& model, const std::vector<ItemRecord>& items) {
  StoredRecord stored;
  stored.folder = model;
  stored.record.kind = "eval";
  stored.record.name = model;
  stored.record.node_key = model;
  stored.record.settings = Json{{"imported", {{"model", model}, {"harness", "x"}}}};
  Metric metric = test::metric_of("task/score", 0.5, "1", Direction::kHigher);
  metric.n = static_cast<std::int64_t>(items.size());
  stored.record.metrics = {metric};
  stored.record.items["task/score"] = "items/task.jsonl";
  stored.record.artifacts["items/task.jsonl"] = model;
  using Map = std::map<std::string, PackedItems>;
  stored.items = std::make_shared<const Map>(Map{{"task/score", PackedItems(items)}});
  return {model, {stored}, {}, {}};
}

ItemRecord fraction(const std::string& id, double value, std::vector<int> samples = {}) {
  ItemRecord item;
  item.id = id;
  item.source_id = "name " + id;
  item.ok = value == 1;
  item.value = value;
  item.sample_ok = std::move(samples);
  return item;
}

TEST(Flips, AFractionThatChangedIsLostOrWon) {
  const RunRecords a = imported("a", {fraction("1", 0.5), fraction("2", 0.25), fraction("3", 1)});
  const RunRecords b = imported("b", {fraction("3", 1), fraction("2", 0.75), fraction("1", 0.25)});
  const ItemList list = flips_of(compare_runs(a, b, PairAcross::kDevices));
  ASSERT_EQ(list.flips.size(), 2U);
  EXPECT_EQ(list.groups[0].lost, 1);
  EXPECT_EQ(list.groups[0].won, 1);
  EXPECT_EQ(list.flips[0].id, "name 1");
  EXPECT_TRUE(list.flips[0].lost);
  EXPECT_EQ(list.flips[0].value_a, 0.5);
  EXPECT_EQ(list.flips[0].value_b, 0.25);
  EXPECT_EQ(list.flips[0].kind, FlipKind::kText);
  EXPECT_FALSE(list.flips[1].lost);
}

// Another score alone is no answer that flipped, however large the margin.
TEST(Flips, AFractionThatChangedIsNoHardFlip) {
  const auto item = [](const std::string& id, double value, float log_prob) {
    ItemRecord one = fraction(id, value);
    one.log_probs = {log_prob};
    return one;
  };
  const RunRecords a = imported("a", {item("1", 0.5, -3), item("2", 1, -1), item("3", 0, -2)});
  const RunRecords b = imported("b", {item("1", 0.25, -5), item("2", 0, -4), item("3", 0, -2)});
  const Comparison compared = compare_runs(a, b, PairAcross::kDevices);
  const Margins& margins = compared.pairs.at(0).items.at(0).margins;
  EXPECT_EQ(margins.size(), 3U);
  ASSERT_EQ(margins.flips().size(), 1U);
  EXPECT_EQ(margins.largest()[0].item, "2");
}

// B has two samples of the item; its first is as A's, so nothing changed.
TEST(Flips, SidesAreComparedByAsManySamplesAsBothHave) {
  const RunRecords a = imported("a", {fraction("1", 1), fraction("2", 0)});
  const RunRecords b = imported("b", {fraction("1", 0.5, {1, 0}), fraction("2", 0.5, {1, 0})});
  const ItemList list = flips_of(compare_runs(a, b, PairAcross::kDevices));
  ASSERT_EQ(list.flips.size(), 1U);
  EXPECT_EQ(list.flips[0].id, "name 2");
  EXPECT_FALSE(list.flips[0].lost);
}

TEST(Flips, TheListSaysDirectionKindAnswersAndHowManyMoreThereAre) {
  FakeRun run;
  for (const char* device : {"ascend_910b3", "h100_sxm"}) {
    const bool first = device[0] == 'a';
    run.add_evaluation(
        device, 1, "w",
        {{"mw/facts", 40, first ? first_half : first_half_but_two, first ? before : after}},
        [](Record& record) { record.trained_on = "h100_sxm"; });
  }
  const RunRecords records = run.read();
  const auto compared = compare_devices(records, "ascend_910b3", "h100_sxm");
  std::vector<std::string> walked;
  ItemList list =
      flips_of(*compared, {.most = 1, .take = [&](const FlipGroup& group, const Flip& flip) {
                             walked.push_back(group.task + " " + std::string(name(flip.kind)));
                           }});
  ASSERT_EQ(list.flips.size(), 1U);
  EXPECT_EQ(list.count, 2);
  EXPECT_EQ(list.groups[0].lost, 2) << "a group counts those that are not listed";
  EXPECT_EQ(flips_of(*compared, {.is_wanted = [](const std::string&) { return false; }}).count, 0);
  EXPECT_EQ(walked, (std::vector<std::string>{"mw/facts near-tie", "mw/facts hard"}));
  list.flips[0].text.question = "Where does the \x1b[31mriver end?";
  const std::string text = flips_text(list);
  for (const char* part :
       {"mw/facts: 2 lost, 0 won of 40; 1 near-tie, 1 hard (a margin beyond 0.050 nat)",
        "the same weights", "(row 4), near-tie, margin", "+0.010 → −0.010 nat",
        "Where does the [31mriver end?", "1 more; --limit 2 shows all", "npubench show "})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  const Json json = flips_json(list);
  EXPECT_EQ(json.at("schema"), "npubench.flips/1");
  EXPECT_EQ(json.at("flips"), 2);
  EXPECT_EQ(json.at("shown"), 1);
  const Json& first = json.at("items").at(0);
  EXPECT_EQ(first.at("direction"), "lost");
  EXPECT_EQ(first.at("kind"), "near-tie");
  EXPECT_EQ(first.at("row"), 4);
  EXPECT_EQ(first.at("a").at("mark"), 1.0);
  EXPECT_EQ(first.at("b").at("mark"), 0.0);
  EXPECT_EQ(first.at("b").at("log_probs").size(), 2U);
}

}  // namespace
}  // namespace nb
