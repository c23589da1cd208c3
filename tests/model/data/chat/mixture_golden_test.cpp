// 2,000 steps of nanochat's mixtures and chat loaders against tests/golden/mixtures.py.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "harness/base/hash.hpp"
#include "harness/base/json_io.hpp"
#include "model/data/chat/conversation_packs.hpp"
#include "model/data/chat/conversation_rows.hpp"
#include "model/data/chat/conversation_stream.hpp"
#include "model/data/tasks/task_view.hpp"

namespace nb {
namespace {

constexpr std::int64_t kSteps = 2000;

const Json& golden() {
  static const Json all = read_json(NB_SOURCE_DIR "/tests/golden/mixtures.json").value();
  return all;
}

// The script's made conversations.
ConversationSet made(std::int64_t count) {
  ConversationSet set;
  for (std::int64_t i = 0; i < count; ++i) {
    RenderedConversation one;
    for (std::int64_t t = 0; t < 5 + i * 7919 % 97; ++t) {
      one.ids.push_back(static_cast<int>((i * 31 + t * 17) % 500));
      one.mask.push_back(t > 0 && (i + t) % 3 != 0 ? 1 : 0);
    }
    set.tokens += one.ids.size();
    set.rendered.push_back(std::move(one));
  }
  set.sha256 = "made";
  return set;
}

TEST(MixtureGolden, OrdersOfTheReferencesMixtures) {
  for (const Json& mixture : golden().at("mixtures")) {
    const auto rows = mixture.at("rows").get<std::vector<std::size_t>>();
    const auto sizes = mixture.at("slices").get<std::vector<std::size_t>>();
    std::vector<std::vector<std::size_t>> views;
    for (std::size_t task = 0; task < rows.size(); ++task)
      views.push_back(task_view(rows[task], {.stop = sizes[task]}).value());
    const std::vector<MixtureEntry> entries = task_mixture(sizes);
    EXPECT_EQ(entries.size(), mixture.at("size").get<std::size_t>());
    Sha256 hash;
    const auto count =
        static_cast<std::size_t>(kSteps * mixture.at("per_step").get<std::int64_t>());
    for (std::size_t i = 0; i < count; ++i) {
      const MixtureEntry& entry = entries[i % entries.size()];
      hash.update(fmt::format("{},{};", entry.task, views[entry.task][entry.index]));
    }
    EXPECT_EQ(hash.hex(), mixture.at("digest").get<std::string>()) << mixture.at("name");
  }
}

TEST(MixtureGolden, TheStreamOfMidTraining) {
  for (const Json& given : golden().at("streams")) {
    const auto value = [&](const char* key) { return given.at(key).get<std::int64_t>(); };
    const ConversationSet set = made(value("count"));
    const auto fresh = [&] {
      return ConversationStream::create(set, static_cast<int>(value("rank")),
                                        static_cast<int>(value("world")))
          .value();
    };
    ConversationStream stream = fresh();
    Sha256 hash;
    for (std::int64_t i = 0; i < kSteps; ++i) {
      const Batch batch = stream.next(value("rows"), value("length"));
      for (const int id : batch.inputs) hash.update(fmt::format("{},", id));
      hash.update(fmt::format("{},", batch.targets.back()));
      if (i == 700) {  // goes on from its state alone
        ConversationStream again = fresh();
        ASSERT_TRUE(again.restore(stream.state()).has_value());
        stream = std::move(again);
      }
    }
    EXPECT_EQ(hash.hex(), given.at("digest").get<std::string>());
    EXPECT_TRUE(stream.has_wrapped());
    const StreamPlan plan =
        plan_stream(fresh(), value("rows"), value("length"), value("accumulation"));
    EXPECT_EQ(std::ssize(plan.progress), value("updates"));
    EXPECT_EQ(plan.progress, given.at("progress").get<std::vector<double>>());
  }
}

TEST(MixtureGolden, ThePaddedRowsOfSft) {
  for (const Json& given : golden().at("padded")) {
    const auto value = [&](const char* key) { return given.at(key).get<int>(); };
    const ConversationSet set = made(value("count"));
    const auto fresh = [&] {
      return ConversationRows::create(set, value("pad"), value("rank"), value("world")).value();
    };
    ConversationRows rows = fresh();
    Sha256 hash;
    for (std::int64_t i = 0; i < kSteps; ++i) {
      const Batch batch = rows.next(value("rows"));
      ASSERT_EQ(std::ssize(batch.inputs), batch.rows * batch.length);
      for (std::size_t t = 0; t < batch.inputs.size(); ++t)
        hash.update(fmt::format("{},{};", batch.inputs[t], batch.targets[t]));
      if (i == 700) {
        ConversationRows again = fresh();
        ASSERT_TRUE(again.restore(rows.state()).has_value());
        rows = std::move(again);
      }
    }
    EXPECT_EQ(hash.hex(), given.at("digest").get<std::string>());
  }
}

TEST(MixtureGolden, ThePackedRowsOfNewerSft) {
  for (const Json& given : golden().at("packed")) {
    const auto value = [&](const char* key) { return given.at(key).get<int>(); };
    const ConversationSet set = made(value("count"));
    const PackingPlan plan = {value("length"), value("buffer"), value("pad")};
    const auto fresh = [&] {
      return ConversationPacks::create(set, plan, value("rank"), value("world")).value();
    };
    ConversationPacks packs = fresh();
    Sha256 hash;
    for (std::int64_t i = 0; i < kSteps; ++i) {
      const Batch batch = packs.next(value("rows"));
      ASSERT_EQ(std::ssize(batch.inputs), batch.rows * batch.length);
      ASSERT_EQ(batch.length, value("length"));
      for (std::size_t t = 0; t < batch.inputs.size(); ++t)
        hash.update(fmt::format("{},{};", batch.inputs[t], batch.targets[t]));
      if (i == 700) {  // goes on from its state alone
        ConversationPacks again = fresh();
        ASSERT_TRUE(again.restore(packs.state()).has_value());
        packs = std::move(again);
      }
    }
    EXPECT_EQ(hash.hex(), given.at("digest").get<std::string>());
    EXPECT_TRUE(packs.has_passed());
    const StreamPlan updates = plan_packs(fresh(), value("rows"), value("accumulation")).value();
    EXPECT_EQ(std::ssize(updates.progress), value("updates"));
    EXPECT_EQ(updates.progress, given.at("progress").get<std::vector<double>>());
  }
}

// Sizes 4, 6, 3, 6 and rows of 9: the first of the two longest, then what fits beside it.
TEST(ConversationPacks, TheLongestThatFitsComesFirstAndNothingIsCut) {
  ConversationSet set;
  int id = 0;
  for (const int size : {4, 6, 3, 6}) {
    RenderedConversation one;
    for (int t = 0; t < size; ++t) {
      one.ids.push_back(++id);
      one.mask.push_back(t == 0 ? 0 : 1);
    }
    set.rendered.push_back(std::move(one));
  }
  auto packs = ConversationPacks::create(set, {.length = 8, .buffer = 4, .pad = 99}).value();
  Batch row = packs.next(1);  // 6 and 3
  EXPECT_EQ(row.inputs, (std::vector<int>{5, 6, 7, 8, 9, 10, 11, 12}));
  EXPECT_EQ(row.targets, (std::vector<int>{6, 7, 8, 9, 10, -1, 12, 13}));
  EXPECT_FALSE(packs.has_passed());
  row = packs.next(1);  // the other 6, and 3 again, which has entered meanwhile
  EXPECT_EQ(row.inputs, (std::vector<int>{14, 15, 16, 17, 18, 19, 11, 12}));
  EXPECT_TRUE(packs.has_passed());
  row = packs.next(1);  // none of 4, 4, 6 and 4 fits behind 6
  EXPECT_EQ(row.inputs, (std::vector<int>{5, 6, 7, 8, 9, 10, 99, 99}));
  EXPECT_EQ(row.targets, (std::vector<int>{6, 7, 8, 9, 10, -1, -1, -1}));
}

// Sizes 4, 6, 3, 6 and rows of 5: the sixes wait, one more of them in each pass, until there is
// nothing else.
TEST(ConversationPacks, AConversationLongerThanARowWaitsForEver) {
  ConversationSet set;
  int id = 0;
  for (const int size : {4, 6, 3, 6}) {
    RenderedConversation one;
    for (int t = 0; t < size; ++t) {
      one.ids.push_back(++id);
      one.mask.push_back(1);
    }
    set.rendered.push_back(std::move(one));
  }
  auto packs = ConversationPacks::create(set, {.length = 4, .buffer = 4, .pad = 99}).value();
  EXPECT_EQ(packs.too_long(), 2);
  const std::vector<int> first = {1, 2, 3, 4}, third = {11, 12, 13, 99}, none = {99, 99, 99, 99};
  for (const auto& inputs : {first, first, third, third}) {
    EXPECT_FALSE(packs.has_passed());
    EXPECT_EQ(packs.next(1).inputs, inputs);
  }
  EXPECT_TRUE(packs.has_passed());
  EXPECT_EQ(packs.next(1).inputs, none);
  // Four rows are a pass: it ends in time. With two places it does not, and is refused.
  const auto of_buffer = [&](std::int64_t buffer) {
    return ConversationPacks::create(set, {.length = 4, .buffer = buffer, .pad = 99}).value();
  };
  EXPECT_TRUE(plan_packs(of_buffer(4), 1, 1));
  EXPECT_TRUE(check_packs(of_buffer(4), 1, 4));
  const std::string stuck =
      "2 of 4 conversations have more than the 5 tokens of a packed row, and they fill the buffer "
      "of 2; choose a larger sequence_len, or leave them out";
  EXPECT_EQ(plan_packs(of_buffer(2), 1, 1).error().message, stuck);
  EXPECT_TRUE(check_packs(of_buffer(2), 1, 2));
  EXPECT_EQ(check_packs(of_buffer(2), 1, 3).error().message, stuck);
}

TEST(ConversationLoaders, RefuseTheStateOfOtherData) {
  const ConversationSet set = made(10);
  ConversationSet other = made(10);
  other.sha256 = "other";
  auto stream = ConversationStream::create(set).value();
  const auto wrong = ConversationStream::create(other).value().state();
  EXPECT_EQ(stream.restore(wrong).error().message,
            "loader state: /data: other conversations; resume with those that it was saved with");
  auto rows = ConversationRows::create(set, 0, 1, 2).value();
  EXPECT_EQ(rows.restore(ConversationRows::create(set, 0).value().state()).error().message,
            "loader state: saved by rank 0 of 1, this is rank 1 of 2");
  EXPECT_EQ(ConversationRows::create(set, 0, 0, 11).error().message,
            "10 conversations for 11 cards; give more conversations or use fewer cards");
}

}  // namespace
}  // namespace nb
