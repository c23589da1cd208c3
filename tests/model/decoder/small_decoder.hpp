// Small GPTs on devices, their inputs and their logits, for tests of the incremental forward pass.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "harness/base/rng.hpp"
#include "model/decoder/decoder.hpp"
#include "model/device/device.hpp"
#include "tests/support/decoder_golden.hpp"

namespace nb::test {

using Logits = std::vector<std::vector<float>>;

struct Sizes {
  std::string_view name;
  DecoderConfig config;
};
// Odd head widths, grouped keys, one head for all: what cuts and panels could get wrong.
inline const std::vector<Sizes> kSizes = {
    {"plain",
     {.sequence_len = 12,
      .vocab_size = 40,
      .n_layer = 2,
      .n_head = 2,
      .n_kv_head = 2,
      .n_embd = 32}},
    {"grouped",
     {.sequence_len = 12,
      .vocab_size = 37,
      .n_layer = 3,
      .n_head = 4,
      .n_kv_head = 2,
      .n_embd = 56}},
    {"one_key_head",
     {.sequence_len = 12,
      .vocab_size = 71,
      .n_layer = 1,
      .n_head = 3,
      .n_kv_head = 1,
      .n_embd = 66}},
};

inline std::vector<int> random_tokens(std::size_t count, std::int64_t vocab, std::uint64_t seed) {
  const Rng rng(seed, "test/tokens");
  std::vector<int> tokens(count);
  for (std::size_t i = 0; i < count; ++i) {
    tokens[i] = static_cast<int>(rng.below(i, static_cast<std::uint64_t>(vocab)));
  }
  return tokens;
}

inline bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

inline LogitSink append_to(Logits& logits) {
  return [&logits](std::int64_t first, ConstMatrix rows) {
    ASSERT_EQ(first, std::ssize(logits));
    for (std::int64_t i = 0; i < rows.rows; ++i) {
      logits.emplace_back(rows.row(i), rows.row(i) + rows.cols);
    }
  };
}

inline Logits one_pass(Decoder& decoder, std::span<const int> tokens) {
  Logits logits;
  decoder.forward_logits(tokens, 1, std::ssize(tokens), {}, append_to(logits));
  return logits;
}

inline std::vector<std::int64_t> all_rows(std::size_t count) {
  std::vector<std::int64_t> rows(count);
  std::iota(rows.begin(), rows.end(), 0);
  return rows;
}

struct Fixture {
  Fixture(const std::string& profile, const DecoderConfig& config)
      : device(load_profile(profile).value(), ExecutionMode::kExecute), decoder(config, device) {
    set_golden_weights(decoder);
  }
  Device device;
  Decoder decoder;
};

class OnSmallDecoder : public testing::TestWithParam<std::tuple<std::string, std::size_t>> {
 protected:
  const DecoderConfig& config() const { return kSizes[std::get<1>(GetParam())].config; }
  Fixture fixture{std::get<0>(GetParam()), config()};
};

// Name of a test of OnSmallDecoder.
inline std::string device_and_size(
    const testing::TestParamInfo<std::tuple<std::string, std::size_t>>& which) {
  return std::get<0>(which.param) + "_" + std::string(kSizes[std::get<1>(which.param)].name);
}
inline auto devices_and_sizes() {
  return testing::Combine(testing::Values("ascend_910b3", "h100_sxm", "tiny"),
                          testing::Range(std::size_t{0}, kSizes.size()));
}

}  // namespace nb::test
