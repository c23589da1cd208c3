// A last layer that is computed for the wanted rows alone: the same logits for less.
#include <gtest/gtest.h>

#include <memory>

#include "model/decoder/incremental.hpp"
#include "tests/model/decoder/small_decoder.hpp"

namespace nb::test {
namespace {

class LastLayerOfWantedRows : public OnSmallDecoder {};

// Two sequences over a shared prefix and a stranger, of which one is continued afterwards.
TEST_P(LastLayerOfWantedRows, ChangesNoBit) {
  const std::vector<int> root_tokens = random_tokens(5, config().vocab_size, 4);
  const std::vector<std::vector<int>> tails = {random_tokens(9, config().vocab_size, 5),
                                               random_tokens(2, config().vocab_size, 6),
                                               random_tokens(7, config().vocab_size, 7)};
  const std::vector<int> more = random_tokens(3, config().vocab_size, 8);
  const auto run = [&](std::span<const std::int64_t> wanted, LastLayer last) {
    IncrementalDecoder incremental(fixture.decoder);
    const std::shared_ptr<KeyValueCache> root = incremental.new_cache(0, 5);
    const Chunk first = {.tokens = root_tokens, .own = root.get()};
    incremental.forward({&first, 1}, {}, {}, last);
    const auto own = incremental.new_cache(5, 12);
    std::vector<Chunk> chunks = {
        {.tokens = tails[0], .first_position = 5, .prefix = {root}, .own = own.get()},
        {.tokens = tails[1], .first_position = 5, .prefix = {root}},
        {.tokens = tails[2]}};
    Logits logits;
    incremental.forward(chunks, wanted, append_to(logits), last);
    EXPECT_EQ(std::ssize(logits), std::ssize(wanted));
    const Chunk next = {.tokens = more, .first_position = 14, .prefix = {root}, .own = own.get()};
    Logits after;
    incremental.forward({&next, 1}, all_rows(3), append_to(after), last);
    logits.insert(logits.end(), after.begin(), after.end());
    return logits;
  };
  for (const std::vector<std::int64_t>& wanted : std::vector<std::vector<std::int64_t>>{
           {}, {0}, {17}, {8, 9}, {1, 2, 3, 8, 9, 11, 15, 16}, {10, 11}, all_rows(18)}) {
    const Logits expected = run(wanted, LastLayer::kEveryRow);
    const Logits shortened = run(wanted, LastLayer::kWantedRows);
    ASSERT_EQ(shortened.size(), wanted.size() + 3);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_TRUE(same_bits(shortened[i], expected[i])) << wanted.size() << " wanted, row " << i;
    }
  }
}

TEST_P(LastLayerOfWantedRows, LeavesOutWhatNobodyNeeds) {
  const std::vector<int> tokens = random_tokens(20, config().vocab_size, 9);
  const Chunk chunk = {.tokens = tokens};
  IncrementalDecoder incremental(fixture.decoder);
  const auto flops = [&](LastLayer last) {
    const double before = fixture.device.counters().flops;
    incremental.forward({&chunk, 1}, {}, {}, last);
    return fixture.device.counters().flops - before;
  };
  // A layer's products are (rows, C) by q, k, v, attention's projection, c_fc and c_proj.
  const double width = static_cast<double>(config().n_embd);
  const double products = 2.0 * 20 * width * (width + width + 4 * width + 4 * width);
  EXPECT_GE(flops(LastLayer::kEveryRow) - flops(LastLayer::kWantedRows), products);
}

INSTANTIATE_TEST_SUITE_P(DevicesAndSizes, LastLayerOfWantedRows, devices_and_sizes(),
                         device_and_size);

}  // namespace
}  // namespace nb::test
