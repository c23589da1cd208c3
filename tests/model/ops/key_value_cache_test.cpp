// Rows of many sequences find their caches, and nothing else.
#include "model/ops/key_value_cache.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "harness/base/check.hpp"
#include "harness/base/parallel.hpp"
#include "model/autograd/tape.hpp"
#include "model/ops/attention.hpp"
#include "model/ops/rows.hpp"
#include "model/tensor/dtype.hpp"

namespace nb {
namespace {

float number(std::int64_t layer, std::int64_t which, std::int64_t chunk, std::int64_t position,
             std::int64_t col) {
  return round_to(
      DType::kBf16,
      static_cast<float>(((layer * 2 + which) * 101 + chunk * 31 + position * 7 + col) % 251) +
          0.5F);
}

// Chunks of one row and of many, some without a cache, in two passes: of few rows, of rows whose
// loops are halved and of more.
TEST(KeyValueCacheRows, RowsOfManyChunksGoToTheirOwnCaches) {
  constexpr std::int64_t kLayers = 2, kHeads = 2, kDim = 3, kWidth = kHeads * kDim;
  for (const char* profile : {"ascend_910b3", "cpu_ref"}) {
    for (const std::size_t chunk_count : {3U, 40U, 90U}) {
      for (const int thread_count : {1, 2, 5}) {
        set_threads(thread_count);
        Device device(*load_profile(profile), ExecutionMode::kExecute);
        std::vector<std::unique_ptr<KeyValueCache>> caches(chunk_count);
        const auto count_of = [](std::size_t chunk, int pass) {
          return static_cast<std::int64_t>(pass == 0        ? 1 + chunk % 4 * (chunk % 3)
                                           : chunk % 7 == 2 ? 37
                                                            : 1);
        };
        for (std::size_t c = 0; c < chunk_count; ++c)
          if (c % 5 != 1)
            caches[c] = std::make_unique<KeyValueCache>(
                device, CacheShape{.layers = kLayers, .width = kWidth, .head_dim = kDim}, 0,
                count_of(c, 0) + count_of(c, 1) + static_cast<std::int64_t>(c % 3));
        const std::vector<int> tokens(64);
        for (int pass = 0; pass < 2; ++pass) {
          std::vector<Chunk> chunks(chunk_count);
          std::int64_t rows = 0;
          for (std::size_t c = 0; c < chunk_count; ++c) {
            chunks[c].tokens = std::span(tokens).first(static_cast<std::size_t>(count_of(c, pass)));
            chunks[c].first_position = pass == 0 ? 0 : count_of(c, 0);
            chunks[c].own = caches[c].get();
            rows += count_of(c, pass);
          }
          for (std::int64_t layer = 0; layer < kLayers; ++layer) {
            Tensor k = device.allocate({rows, kWidth}, DType::kBf16, "k"),
                   v = device.allocate({rows, kWidth}, DType::kBf16, "v");
            std::int64_t row = 0;
            for (std::size_t c = 0; c < chunk_count; ++c)
              for (std::int64_t i = 0; i < count_of(c, pass); ++i, ++row)
                for (std::int64_t j = 0; j < kWidth; ++j) {
                  const auto n = static_cast<std::int64_t>(c);
                  const std::int64_t at = chunks[c].first_position + i;
                  k.matrix().row(row)[j] = number(layer, 0, n, at, j);
                  v.matrix().row(row)[j] = number(layer, 1, n, at, j);
                }
            ops::append_keys_values(k, v, layer, chunks, "");
          }
          for (std::size_t c = 0; c < chunk_count; ++c)
            if (caches[c] != nullptr) caches[c]->advance(count_of(c, pass));
        }
        for (std::size_t c = 0; c < chunk_count; ++c) {
          if (caches[c] == nullptr) continue;
          ASSERT_EQ(caches[c]->size(), count_of(c, 0) + count_of(c, 1));
          for (std::int64_t layer = 0; layer < kLayers; ++layer)
            for (std::int64_t which = 0; which < 2; ++which) {
              const kernels::KeyRows all =
                  which == 0 ? caches[c]->keys(layer) : caches[c]->values(layer);
              for (std::int64_t head = 0; head < kHeads; ++head)
                for (std::int64_t i = 0; i < all.rows; ++i) {
                  float row[kDim];
                  all.head(head, kDim).copy_row(i, row);
                  for (std::int64_t j = 0; j < kDim; ++j)
                    ASSERT_EQ(row[j], number(layer, which, static_cast<std::int64_t>(c), i,
                                             head * kDim + j))
                        << profile << ", " << chunk_count << " chunks, " << thread_count
                        << " threads: chunk " << c << ", layer " << layer << ", "
                        << (which == 0 ? "key " : "value ") << i;
                }
            }
        }
      }
    }
  }
  set_threads(0);
}

// What is recorded runs when somebody reads, in the order in which it was recorded: attention sees
// what was appended before it and not what comes later, though the caches may be gone by then.
TEST(KeyValueCacheRows, RecordedAttentionSeesWhatWasThereInItsTurn) {
  Device device(*load_profile("ascend_910b3"), ExecutionMode::kExecute);
  const auto filled = [&](float value) {
    Tensor t = device.allocate({1, 4}, DType::kBf16, "t");
    std::ranges::fill(t.host(), value);
    return t;
  };
  const Tensor q = filled(1), k = filled(1), two = filled(2), four = filled(4);
  const std::vector<int> tokens(1);
  auto prefix = std::make_shared<KeyValueCache>(device, CacheShape{.layers = 1, .width = 4}, 0, 1);
  auto own = std::make_unique<KeyValueCache>(device, CacheShape{.layers = 1, .width = 4}, 1, 1);
  const kernels::CachedShape shape = {.heads = 1, .kv_heads = 1, .head_dim = 4};
  std::vector<Chunk> chunks = {{.tokens = tokens, .own = prefix.get()}};
  std::vector<Tensor> y;
  const auto step = [&](const Tensor& v) {
    ops::append_keys_values(k, v, 0, chunks, "");
    y.push_back(ops::attention_cached(q, k, v, {.chunks = chunks}, shape, ""));
  };
  step(four);
  step(two);  // the same position again
  prefix->advance(1);
  chunks = {{.tokens = tokens, .first_position = 1, .prefix = {prefix}, .own = own.get()}};
  step(four);
  EXPECT_TRUE(y.back().values()->is_pending);
  chunks.clear();
  prefix.reset();
  own.reset();
  EXPECT_EQ(y[2].host()[0], 3.0F);  // of 2 and 4
  EXPECT_EQ(y[1].host()[0], 2.0F);
  EXPECT_EQ(y[0].host()[0], 4.0F);
}

TEST(KeyValueCacheRows, AppendingHasNoGradient) {
  Device device(*load_profile("ascend_910b3"), ExecutionMode::kExecute);
  KeyValueCache cache(device, {.layers = 1, .width = 4}, 0, 1);
  const Tensor k = device.allocate({1, 4}, DType::kBf16, "k");
  const std::vector<int> tokens(1);
  const Chunk chunk = {.tokens = tokens, .own = &cache};
  const Tape tape;
  EXPECT_THROW(ops::append_keys_values(k, k, 0, {&chunk, 1}, ""), CheckFailure);
}

// Nothing is stored, nothing costs time.
TEST(KeyValueCacheRows, ChunksWithoutCachesCostNothing) {
  Device device(*load_profile("ascend_910b3"), ExecutionMode::kExecute);
  const Tensor k = device.allocate({3, 4}, DType::kBf16, "k"),
               v = device.allocate({3, 4}, DType::kBf16, "v");
  const std::vector<int> tokens(3);
  const Chunk chunk = {.tokens = tokens};
  const std::uint64_t before = device.counters().ops;
  ops::append_keys_values(k, v, 0, {&chunk, 1}, "");
  EXPECT_EQ(device.counters().ops, before);
}

// Rows that nobody keeps are not paid for.
TEST(KeyValueCacheRows, AppendingCostsWhatIsKept) {
  const auto time = [](std::size_t rows_of_none) {
    Device device(*load_profile("ascend_910b3"), ExecutionMode::kDry);
    KeyValueCache cache(device, {.layers = 1, .width = 4096}, 0, 4096);
    const std::vector<int> tokens(4096 + rows_of_none);
    std::vector<Chunk> chunks = {{.tokens = std::span(tokens).first(4096), .own = &cache}};
    if (rows_of_none > 0) chunks.push_back({.tokens = std::span(tokens).first(rows_of_none)});
    const auto rows = static_cast<std::int64_t>(tokens.size());
    const Tensor k = device.allocate({rows, 4096}, DType::kBf16, "k"),
                 v = device.allocate({rows, 4096}, DType::kBf16, "v");
    device.synchronize();
    const std::int64_t start = device.time_ns();
    ops::append_keys_values(k, v, 0, chunks, "");
    device.synchronize();
    return device.time_ns() - start;
  };
  EXPECT_GT(time(0), 0);
  EXPECT_EQ(time(4096), time(0));
}

TEST(KeyValueCacheRows, WhatDisagreesFailsTheCheck) {
  Device device(*load_profile("ascend_910b3"), ExecutionMode::kExecute);
  const auto made = [&](std::int64_t rows, std::int64_t width) {
    return device.allocate({rows, width}, DType::kBf16, "t");
  };
  KeyValueCache cache(device, {.layers = 2, .width = 4}, 0, 3);
  const std::vector<int> tokens(4);
  const auto append = [&](const Tensor& k, const Tensor& v, std::size_t count, std::int64_t layer) {
    const Chunk chunk = {.tokens = std::span(tokens).first(count), .own = &cache};
    ops::append_keys_values(k, v, layer, {&chunk, 1}, "");
  };
  EXPECT_NO_THROW(append(made(3, 4), made(3, 4), 3, 1));
  EXPECT_THROW(append(made(3, 4), made(2, 4), 3, 0), CheckFailure);
  EXPECT_THROW(append(made(3, 4), made(3, 4), 2, 0), CheckFailure);
  EXPECT_THROW(append(made(3, 6), made(3, 6), 3, 0), CheckFailure);
  EXPECT_THROW(append(made(3, 8), made(3, 8), 3, 0), CheckFailure);  // two heads of the cache's
  EXPECT_THROW(append(made(4, 4), made(4, 4), 4, 0), CheckFailure);
  EXPECT_THROW(append(made(3, 4), made(3, 4), 3, 2), CheckFailure);
  EXPECT_THROW((void)cache.keys(2), CheckFailure);
  EXPECT_THROW((void)cache.values(0, 4), CheckFailure);
  EXPECT_THROW(cache.advance(4), CheckFailure);
  EXPECT_THROW(cache.advance(-1), CheckFailure);
}

TEST(GatherRows, RowMinusOneIsZeros) {
  Device device(*load_profile("ascend_910b3"), ExecutionMode::kExecute);
  Tensor x = device.allocate({2, 3}, DType::kBf16, "x");
  std::ranges::fill(x.host(), 5.0F);
  const Tensor y = ops::gather_rows(device, x, std::vector<std::int64_t>{1, -1}, "");
  const std::vector<float> expected = {5, 5, 5, 0, 0, 0};
  EXPECT_TRUE(std::ranges::equal(y.host(), expected));
}

TEST(GatherRows, ARowThatIsNotThereFailsTheCheckOnADryDeviceToo) {
  for (const ExecutionMode mode : {ExecutionMode::kExecute, ExecutionMode::kDry}) {
    Device device(*load_profile("ascend_910b3"), mode);
    const Tensor x = device.allocate({3, 4}, DType::kBf16, "x");
    for (const std::int64_t row : {-2, 3})
      EXPECT_THROW((void)ops::gather_rows(device, x, std::vector{row}, ""), CheckFailure);
  }
}

}  // namespace
}  // namespace nb
