// Cached, chunked, batched and one-pass logits agree to the bit.
#include "model/decoder/incremental.hpp"

#include <gtest/gtest.h>

#include "harness/base/check.hpp"
#include "harness/base/parallel.hpp"
#include "model/kernels/simd_level.hpp"
#include "tests/model/decoder/small_decoder.hpp"

namespace nb::test {
namespace {

class Incremental : public OnSmallDecoder {};

TEST_P(Incremental, ChunksGiveTheBitsOfOnePass) {
  const std::vector<int> tokens = random_tokens(61, config().vocab_size, 1);
  const Logits expected = one_pass(fixture.decoder, tokens);
  for (const std::vector<std::size_t>& cuts : std::vector<std::vector<std::size_t>>{
           {61}, {1, 60}, {60, 1}, {17, 3, 40, 1}, {16, 16, 29}}) {
    IncrementalDecoder incremental(fixture.decoder);
    const auto cache = incremental.new_cache(0, 61);
    Logits logits;
    std::size_t at = 0;
    for (const std::size_t count : cuts) {
      Chunk chunk;
      chunk.tokens = std::span(tokens).subspan(at, count);
      chunk.first_position = static_cast<std::int64_t>(at);
      chunk.own = cache.get();
      const std::size_t before = logits.size();
      incremental.forward({&chunk, 1}, all_rows(count), [&](std::int64_t first, ConstMatrix rows) {
        append_to(logits)(static_cast<std::int64_t>(before) + first, rows);
      });
      at += count;
    }
    ASSERT_EQ(logits.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      ASSERT_TRUE(same_bits(logits[i], expected[i])) << cuts.size() << " chunks, position " << i;
    }
  }
}

// Twelve sequences of one tree: three levels of shared prefixes, leaves of all lengths, all leaves
// in one batch beside a stranger.
TEST_P(Incremental, SharedPrefixesGiveTheBitsOfOnePass) {
  IncrementalDecoder incremental(fixture.decoder);
  const std::vector<int> root_tokens = random_tokens(9, config().vocab_size, 2);
  const std::shared_ptr<KeyValueCache> root = incremental.new_cache(0, 9);
  const Chunk root_chunk = {.tokens = root_tokens, .own = root.get()};
  incremental.forward({&root_chunk, 1}, {}, {});

  std::vector<std::vector<int>> sequences, tails;
  std::vector<Chunk> chunks;
  for (std::uint64_t middle = 0; middle < 3; ++middle) {
    const std::vector<int> tokens = random_tokens(1 + 8 * middle, config().vocab_size, 10 + middle);
    const std::int64_t end = 9 + std::ssize(tokens);
    const std::shared_ptr<KeyValueCache> cache = incremental.new_cache(9, 40);  // room to spare
    const Chunk chunk = {
        .tokens = tokens, .first_position = 9, .prefix = {root}, .own = cache.get()};
    incremental.forward({&chunk, 1}, {}, {});
    for (std::uint64_t leaf = 0; leaf < 4; ++leaf) {
      tails.push_back(random_tokens(1 + 5 * leaf + middle, config().vocab_size, 100 + leaf));
      sequences.push_back(root_tokens);
      sequences.back().insert(sequences.back().end(), tokens.begin(), tokens.end());
      sequences.back().insert(sequences.back().end(), tails.back().begin(), tails.back().end());
      chunks.push_back({.tokens = {}, .first_position = end, .prefix = {root, cache}});
    }
  }
  const std::vector<int> stranger = random_tokens(23, config().vocab_size, 5);
  tails.push_back(stranger);
  sequences.push_back(stranger);
  chunks.emplace_back();
  std::size_t rows = 0;
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    chunks[i].tokens = tails[i];
    rows += tails[i].size();
  }
  Logits logits;
  incremental.forward(chunks, all_rows(rows), append_to(logits));
  ASSERT_EQ(logits.size(), rows);
  std::size_t row = 0;
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    const Logits expected = one_pass(fixture.decoder, sequences[i]);
    for (std::size_t k = expected.size() - tails[i].size(); k < expected.size(); ++k, ++row) {
      ASSERT_TRUE(same_bits(logits[row], expected[k])) << "sequence " << i << ", position " << k;
    }
  }
}

TEST_P(Incremental, OnlyWantedRowsReachTheSink) {
  const std::vector<int> tokens = random_tokens(30, config().vocab_size, 3);
  const Logits expected = one_pass(fixture.decoder, tokens);
  IncrementalDecoder incremental(fixture.decoder);
  const std::vector<std::int64_t> wanted = {0, 7, 8, 29};
  const Chunk chunk = {.tokens = tokens};
  Logits logits;
  incremental.forward({&chunk, 1}, wanted, append_to(logits));
  ASSERT_EQ(logits.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_TRUE(same_bits(logits[i], expected[static_cast<std::size_t>(wanted[i])])) << wanted[i];
  }
}

INSTANTIATE_TEST_SUITE_P(DevicesAndSizes, Incremental, devices_and_sizes(), device_and_size);

Logits chunked(Decoder& decoder, std::span<const int> tokens) {
  IncrementalDecoder incremental(decoder);
  const auto cache = incremental.new_cache(0, std::ssize(tokens));
  Logits logits;
  for (std::size_t at = 0; at < tokens.size(); at += 7) {
    const std::size_t count = std::min<std::size_t>(7, tokens.size() - at);
    const Chunk chunk = {.tokens = tokens.subspan(at, count),
                         .first_position = static_cast<std::int64_t>(at),
                         .own = cache.get()};
    incremental.forward({&chunk, 1}, all_rows(count), [&](std::int64_t first, ConstMatrix rows) {
      append_to(logits)(static_cast<std::int64_t>(at) + first, rows);
    });
  }
  return logits;
}

TEST(IncrementalDecoder, LevelsAndThreadsGiveTheSameBits) {
  const DecoderConfig& config = kSizes[1].config;
  Fixture fixture("ascend_910b3", config);
  const std::vector<int> tokens = random_tokens(40, config.vocab_size, 4);
  const SimdLevel before = simd_level();
  const Logits expected = one_pass(fixture.decoder, tokens);
  for (const SimdLevel level : available_levels()) {
    ASSERT_TRUE(set_simd_level(level));
    for (const int thread_count : {1, 3}) {
      set_threads(thread_count);
      const Logits logits = chunked(fixture.decoder, tokens);
      ASSERT_EQ(logits.size(), expected.size());
      for (std::size_t i = 0; i < expected.size(); ++i) {
        EXPECT_TRUE(same_bits(logits[i], expected[i])) << name(level) << ", position " << i;
      }
    }
  }
  set_threads(0);
  ASSERT_TRUE(set_simd_level(before));
}

// The weights are read anew: an optimizer step between two calls counts.
TEST(IncrementalDecoder, SeesChangedWeights) {
  const DecoderConfig& config = kSizes[0].config;
  Fixture fixture("tiny", config);
  const std::vector<int> tokens = random_tokens(20, config.vocab_size, 6);
  const Logits old = chunked(fixture.decoder, tokens);
  fixture.decoder.init(3);
  fixture.decoder.parameters().back().value.host()[5] = 1.0F;
  const Logits fresh = chunked(fixture.decoder, tokens);
  const Logits expected = one_pass(fixture.decoder, tokens);
  EXPECT_FALSE(same_bits(fresh.back(), old.back()));
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_TRUE(same_bits(fresh[i], expected[i]));
}

TEST(IncrementalDecoder, DryRunHasTheTimeAndMemoryOfTheExecutedOne) {
  const DecoderConfig& config = kSizes[1].config;
  const std::vector<int> tokens = random_tokens(50, config.vocab_size, 8);
  const auto run = [&](const char* profile, ExecutionMode mode) {
    Device device(load_profile(profile).value(), mode);
    Decoder decoder(config, device);
    decoder.init(1);
    IncrementalDecoder incremental(decoder);
    const std::shared_ptr<KeyValueCache> cache = incremental.new_cache(0, 30);
    const Chunk first = {.tokens = std::span(tokens).first(30), .own = cache.get()};
    incremental.forward({&first, 1}, {}, {});
    const Chunk second = {
        .tokens = std::span(tokens).last(20), .first_position = 30, .prefix = {cache}};
    const std::vector<std::int64_t> wanted = {3, 19};
    incremental.forward({&second, 1}, wanted, [](std::int64_t, ConstMatrix) {});
    return std::tuple(device.time_ns(), device.memory().peak_allocated_bytes, device.counters());
  };
  for (const char* profile : {"ascend_910b3", "h100_sxm", "cpu_ref", "tiny"}) {
    const auto dry = run(profile, ExecutionMode::kDry);
    const auto wet = run(profile, ExecutionMode::kExecute);
    EXPECT_EQ(std::get<0>(dry), std::get<0>(wet)) << profile;
    EXPECT_EQ(std::get<1>(dry), std::get<1>(wet)) << profile;
    EXPECT_TRUE(std::get<2>(dry) == std::get<2>(wet)) << profile;
  }
}

TEST(IncrementalDecoder, CachesLieOnTheDeviceInItsFormat) {
  Fixture fixture("ascend_910b3", kSizes[1].config);  // bf16; 3 layers of 2 key heads × 14
  IncrementalDecoder incremental(fixture.decoder);
  const std::uint64_t before = fixture.device.memory().allocated_bytes;
  auto cache = incremental.new_cache(0, 100);
  EXPECT_EQ(cache->size_bytes(), 2U * 3 * 28 * 100 * 2);
  EXPECT_GE(fixture.device.memory().allocated_bytes, before + cache->size_bytes());
  cache.reset();
  EXPECT_EQ(fixture.device.memory().allocated_bytes, before);
}

TEST(IncrementalDecoder, ImpossibleChunksAreOurMistake) {
  Fixture fixture("tiny", kSizes[0].config);
  IncrementalDecoder incremental(fixture.decoder);
  const std::vector<int> tokens = random_tokens(121, 40, 9);
  const auto refuses = [&](Chunk chunk) {
    EXPECT_THROW(incremental.forward({&chunk, 1}, {}, {}), CheckFailure);
  };
  const auto span = std::span(tokens);
  refuses({.tokens = {}});
  refuses({.tokens = span});  // 120 positions
  refuses({.tokens = span.first(2), .first_position = 1});
  refuses({.tokens = span.first(2), .first_position = -1});
  const std::shared_ptr<KeyValueCache> cache = incremental.new_cache(0, 4);
  refuses({.tokens = span.first(5), .own = cache.get()});
  const Chunk good = {.tokens = span.first(4), .own = cache.get()};
  incremental.forward({&good, 1}, {}, {});
  refuses({.tokens = span.first(1), .first_position = 5, .prefix = {cache}});
  refuses({.tokens = span.first(1), .first_position = 4, .own = cache.get()});  // full
  const auto far = incremental.new_cache(6, 4);
  refuses({.tokens = span.first(1), .first_position = 4, .prefix = {cache}, .own = far.get()});
  const Chunk next = {.tokens = span.first(1), .first_position = 4, .prefix = {cache}};
  const std::vector<std::int64_t> beyond = {1};
  EXPECT_THROW(incremental.forward({&next, 1}, beyond, {}), CheckFailure);
}

}  // namespace
}  // namespace nb::test
