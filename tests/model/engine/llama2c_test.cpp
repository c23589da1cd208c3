// A Llama in llama2.c's format against float64 logits of an independent script
// (tests/golden/llama_parity.py).
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "harness/base/fs.hpp"
#include "harness/base/json_io.hpp"
#include "model/decoder/incremental.hpp"
#include "model/decoder/llama2c_file.hpp"
#include "model/device/device.hpp"

namespace nb {
namespace {

const fs::path kGolden = fs::path(NB_SOURCE_DIR) / "tests" / "golden";

struct OnDevice {
  explicit OnDevice(const std::string& profile, ExecutionMode mode = ExecutionMode::kExecute)
      : device(*load_profile(profile), mode), decoder(file.config, device), llama(decoder) {
    load_llama2c(file, decoder);
  }
  Llama2cFile file = *read_llama2c_file(kGolden / "llama_parity.bin");
  Device device;
  Decoder decoder;
  IncrementalDecoder llama;
};

struct Golden {
  std::vector<int> tokens;
  std::vector<std::vector<double>> logits;
};
Golden golden() {
  const Json json = read_json(kGolden / "llama_parity.json").value();
  return {json["tokens"].get<std::vector<int>>(),
          json["logits"].get<std::vector<std::vector<double>>>()};
}

// Logits of every token, the sequence cut after `cuts` tokens.
std::vector<std::vector<float>> logits_of(IncrementalDecoder& llama, const std::vector<int>& tokens,
                                          std::vector<std::size_t> cuts = {}) {
  cuts.push_back(tokens.size());
  const auto cache = llama.new_cache(0, static_cast<std::int64_t>(tokens.size()));
  std::vector<std::vector<float>> all;
  std::size_t begin = 0;
  for (const std::size_t end : cuts) {
    const Chunk chunk = {.tokens = std::span(tokens).subspan(begin, end - begin),
                         .first_position = static_cast<std::int64_t>(begin),
                         .own = cache.get()};
    std::vector<std::int64_t> wanted(end - begin);
    for (std::size_t i = 0; i < wanted.size(); ++i) wanted[i] = static_cast<std::int64_t>(i);
    llama.forward({&chunk, 1}, wanted, [&](std::int64_t, ConstMatrix rows) {
      for (std::int64_t i = 0; i < rows.rows; ++i)
        all.emplace_back(rows.row(i), rows.row(i) + rows.cols);
    });
    begin = end;
  }
  return all;
}

TEST(Llama2c, LogitsAreTheReferencesInFp32) {
  OnDevice on("cpu_ref");
  const Golden expected = golden();
  const auto logits = logits_of(on.llama, expected.tokens);
  ASSERT_EQ(logits.size(), expected.logits.size());
  double worst = 0;
  for (std::size_t t = 0; t < logits.size(); ++t)
    for (std::size_t v = 0; v < logits[t].size(); ++v)
      worst = std::max(worst, std::fabs(logits[t][v] - expected.logits[t][v]));
  EXPECT_LT(worst, 5e-6);  // logits up to 3, fp32 sums of 16 to 24 terms
}

TEST(Llama2c, OnePassAndChunksHaveTheSameBits) {
  for (const char* profile : {"ascend_910b3", "h100_sxm"}) {
    OnDevice on(profile);
    const std::vector<int> tokens = golden().tokens;
    const auto whole = logits_of(on.llama, tokens);
    for (const std::vector<std::size_t>& cuts :
         {std::vector<std::size_t>{1}, {4, 5}, {1, 2, 3, 4, 5, 6, 7, 8}}) {
      const auto parts = logits_of(on.llama, tokens, cuts);
      ASSERT_EQ(parts.size(), whole.size());
      for (std::size_t t = 0; t < whole.size(); ++t)
        EXPECT_EQ(std::memcmp(parts[t].data(), whole[t].data(), whole[t].size() * sizeof(float)), 0)
            << profile << " row " << t;
    }
  }
}

TEST(Llama2c, DryDeviceTakesTheSameSimulatedTimeAndMemory) {
  OnDevice real("ascend_910b3"), dry("ascend_910b3", ExecutionMode::kDry);
  const std::vector<int> tokens = golden().tokens;
  EXPECT_EQ(logits_of(real.llama, tokens).size(), tokens.size());
  EXPECT_TRUE(logits_of(dry.llama, tokens).empty());
  EXPECT_EQ(real.device.time_ns(), dry.device.time_ns());
  EXPECT_EQ(real.device.memory().peak_allocated_bytes, dry.device.memory().peak_allocated_bytes);
}

}  // namespace
}  // namespace nb
