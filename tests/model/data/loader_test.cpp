#include "model/data/loader.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <nlohmann/json.hpp>

#include "harness/base/rng.hpp"

namespace nb {
namespace {

// Shards of numbered tokens: every token of the data has its own id.
std::vector<TokenShard> numbered_shards(const std::vector<std::vector<int>>& document_lengths) {
  std::vector<TokenShard> shards;
  int id = 0;
  for (const auto& lengths : document_lengths) {
    std::vector<int> ids;
    std::vector<std::uint64_t> starts = {0};
    for (const int length : lengths) {
      for (int i = 0; i < length; ++i) ids.push_back(id++);
      starts.push_back(ids.size());
    }
    shards.push_back(TokenShard::from_ids(ids, starts, 100'000, std::string(64, '0')));
  }
  return shards;
}

// nanochat's dataloader.py word for word, with a FIFO buffer of tokens.
class NaiveLoader {
 public:
  NaiveLoader(const std::vector<TokenShard>& shards, LoaderSettings settings)
      : shards_(shards), settings_(settings) {}
  Batch next(std::int64_t rows, std::int64_t length) {
    const auto count = static_cast<std::size_t>(rows * length);
    while (buffer_.size() < count + 1) read_row_group();
    std::vector<int> tokens;
    for (std::size_t i = 0; i < count + 1; ++i) {
      tokens.push_back(buffer_.front());
      buffer_.pop_front();
    }
    return {rows, length, {tokens.begin(), tokens.end() - 1}, {tokens.begin() + 1, tokens.end()}};
  }

 private:
  void read_row_group() {
    const TokenShard& shard = shards_[file_];
    const auto size = static_cast<std::uint64_t>(settings_.row_group_documents);
    const std::uint64_t first = group_ * size;
    if (first >= shard.documents()) {
      file_ = (file_ + 1) % shards_.size();
      group_ = static_cast<std::uint64_t>(settings_.rank);
      return;
    }
    for (std::uint64_t d = first; d < std::min(shard.documents(), first + size); ++d) {
      std::vector<int> ids(shard.document_start(d + 1) - shard.document_start(d));
      shard.copy(shard.document_start(d), ids);
      buffer_.insert(buffer_.end(), ids.begin(), ids.end());
    }
    group_ += static_cast<std::uint64_t>(settings_.world);
  }
  const std::vector<TokenShard>& shards_;
  LoaderSettings settings_;
  std::deque<int> buffer_;
  std::size_t file_ = 0;
  std::uint64_t group_ = static_cast<std::uint64_t>(settings_.rank);
};

std::vector<TokenShard> random_shards(std::uint64_t seed) {
  const Rng rng(seed, "loader/shards");
  std::uint64_t draw = 0;
  std::vector<std::vector<int>> lengths;
  for (std::uint64_t s = 0, n = 1 + rng.below(draw++, 3); s < n; ++s) {
    lengths.emplace_back();
    for (std::uint64_t d = 0, m = 12 + rng.below(draw++, 20); d < m; ++d)
      lengths.back().push_back(static_cast<int>(rng.below(draw++, 9)));
  }
  return numbered_shards(lengths);
}

TEST(TokenLoader, CutsTheStreamIntoInputsAndTargets) {
  const auto shards = numbered_shards({{4, 3}, {5}});  // one stream 0 … 11
  auto loader = TokenLoader::create(shards);
  ASSERT_TRUE(loader);
  EXPECT_EQ(loader->tokens_per_epoch(), 12U);
  const Batch first = loader->next(2, 2);
  EXPECT_EQ(first.inputs, (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(first.targets, (std::vector<int>{1, 2, 3, 4}));
  const Batch second = loader->next(1, 4);  // the boundary token is consumed
  EXPECT_EQ(second.inputs, (std::vector<int>{5, 6, 7, 8}));
  EXPECT_EQ(second.targets, (std::vector<int>{6, 7, 8, 9}));
  EXPECT_EQ(loader->epoch(), 0);
  const Batch third = loader->next(1, 3);  // on into the next epoch
  EXPECT_EQ(third.inputs, (std::vector<int>{10, 11, 0}));
  EXPECT_EQ(third.targets, (std::vector<int>{11, 0, 1}));
  EXPECT_EQ(loader->epoch(), 1);
}

TEST(TokenLoader, EqualsTheFifoOfTheSpecificationOnEveryRank) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    const auto shards = random_shards(seed);
    for (const int world : {1, 2, 3})
      for (int rank = 0; rank < world; ++rank)
        for (const std::int64_t group : {1, 4}) {
          const LoaderSettings settings{rank, world, group};
          auto loader = TokenLoader::create(shards, settings);
          ASSERT_TRUE(loader) << loader.error().message;
          NaiveLoader naive(shards, settings);
          for (int i = 0; i < 20; ++i) {
            const Batch ours = loader->next(1 + i % 3, 5), theirs = naive.next(1 + i % 3, 5);
            ASSERT_EQ(ours.inputs, theirs.inputs)
                << "seed " << seed << ", rank " << rank << ", batch " << i;
            ASSERT_EQ(ours.targets, theirs.targets);
          }
        }
  }
}

TEST(TokenLoader, ResumesWhereverItWasStopped) {
  const auto shards = random_shards(77);
  const LoaderSettings settings{1, 2, 2};
  for (int stop = 0; stop < 25; ++stop) {
    auto whole = TokenLoader::create(shards, settings);
    for (int i = 0; i < stop; ++i) whole->next(2, 3);
    const Json state = whole->state();
    auto resumed = TokenLoader::create(shards, settings);
    ASSERT_TRUE(resumed->restore(state));
    EXPECT_EQ(resumed->epoch(), whole->epoch());
    for (int i = 0; i < 10; ++i) ASSERT_EQ(resumed->next(1, 7).targets, whole->next(1, 7).targets);
  }
}

TEST(TokenLoader, RefusesTheStateOfAnotherStream) {
  const auto shards = random_shards(1), others = random_shards(2);
  auto loader = TokenLoader::create(shards, {0, 2, 2});
  const Json state = loader->state();
  EXPECT_FALSE(TokenLoader::create(others, {0, 2, 2})->restore(state));
  EXPECT_FALSE(TokenLoader::create(shards, {1, 2, 2})->restore(state));
  EXPECT_FALSE(TokenLoader::create(shards, {0, 1, 2})->restore(state));
  for (const char* bad : {"{}", "[]", R"({"rank":"x"})"})
    EXPECT_FALSE(loader->restore(Json::parse(bad))) << bad;
  Json beyond = state;
  beyond["offset"] = 1'000'000;
  EXPECT_FALSE(loader->restore(beyond));
  beyond["offset"] = -1;
  EXPECT_FALSE(loader->restore(beyond));
  EXPECT_TRUE(loader->restore(state));
}

TEST(TokenLoader, SaysWhenARankHasNothingToRead) {
  const auto shards = numbered_shards({{5, 5, 5}});
  const auto loader = TokenLoader::create(shards, {1, 2, 1024});
  ASSERT_FALSE(loader);
  EXPECT_NE(loader.error().message.find("rank 1 of 2"), std::string::npos)
      << loader.error().message;
  EXPECT_FALSE(TokenLoader::create({}, {}));
}

}  // namespace
}  // namespace nb
