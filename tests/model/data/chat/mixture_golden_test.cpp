// 2,000 steps of nanochat's mixtures and chat loaders against tests/golden/mixtures.py.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "harness/base/hash.hpp"
#include "harness/base/json_io.hpp"
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
