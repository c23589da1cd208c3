// What the cases of the self-test share. Internal to model/kernels/self_test.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "model/kernels/self_test/self_test.hpp"

namespace nb::kernels::self_test {

// Kernels take up to 8 groups of 16 values at once where none of them needs care. This count gives
// each way a turn: 128 values, 128 more, a group alone, and a group that is not full.
inline constexpr std::int64_t kCount = 2 * 128 + 16 + 5;

inline constexpr std::array kAllRoundings = {
    inner::kRoundNone,           inner::kRoundBf16, inner::kRoundBf16Floor, inner::kRoundFp16,
    inner::kRoundFp16Saturating, inner::kRoundTf32, inner::kRoundHf32};

// Normal numbers of both signs, 1/8 to 4.
std::vector<float> ordinary_values(std::int64_t count, std::uint32_t seed);
// Those, and zeros, denormals, the floor of bf16 products, large values between them.
std::vector<float> finite_values(std::int64_t count, std::uint32_t seed);
// And infinities and NaN.
std::vector<float> hard_values(std::int64_t count, std::uint32_t seed);
// Ordinary ones up to the 128th, then hard ones.
std::vector<float> mixed_values(std::int64_t count, std::uint32_t seed);

// Large values and what is not finite become 1: sums stay finite.
std::vector<float> tame(std::vector<float> values);

// Rounded towards zero to bf16 numbers, in four bytes and in two.
std::vector<float> bf16_numbers(std::vector<float> values);
std::vector<std::uint16_t> bf16(const std::vector<float>& values);
std::vector<float> numbers(const std::vector<std::uint16_t>& bf16);

class Results {
 public:
  explicit Results(std::string prefix = "") : prefix_(std::move(prefix)) {}

  void add(const std::string& entry, std::vector<float> values) {
    all_.push_back({prefix_ + entry, std::move(values)});
  }
  // What must hold at every level.
  void claim(const std::string& entry, bool holds) { add(entry, {holds ? 1.0f : 0.0f}); }
  void append(Results&& more) {
    for (SelfTestResult& result : more.all_) all_.push_back(std::move(result));
  }
  SelfTestResults take() { return std::move(all_); }

 private:
  std::string prefix_;
  SelfTestResults all_;
};

// Equal bits, any NaN equal to any other.
bool same(const float* a, const float* b, std::int64_t count);
bool same(const std::vector<float>& a, const std::vector<float>& b);

// Words of one row of a packed operand, or of one column of a panel.
struct PackedLine {
  const std::uint32_t* words;
  std::int64_t step;  // from one word to the next
  int values_per_word;
  bool swaps_pairs;
  bool is_bf16;  // the sign of a zero is lost on the way to pairs, and no product shows it

  float value(std::int64_t k) const;
};

Results elementwise_results(const inner::Table& table);
Results row_results(const inner::Table& table);
Results cross_entropy_results(const inner::Table& table);
Results gemm_results(const inner::Table& table, const inner::Gemm& gemm, bool is_bf16);
Results attention_results(const inner::AttentionTiles& tiles, bool is_bf16);

}  // namespace nb::kernels::self_test
