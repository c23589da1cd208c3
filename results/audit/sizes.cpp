#include "results/audit/sizes.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

namespace nb {
namespace {

std::string lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

double real(std::int64_t value) { return static_cast<double>(value); }

double embedding(const NanochatShape& shape) { return real(shape.vocab) * real(shape.width); }
double layers(const NanochatShape& shape) {
  return 12 * real(shape.width) * real(shape.width) * real(shape.depth);
}

struct Peak {
  std::string_view device;  // part of the name, lower case
  std::vector<double> tflops;
};
const std::vector<Peak>& peaks() {
  static const std::vector<Peak> kPeaks = {
      {"910b", {256, 313, 320, 376}},  // ports, papers, vendor
      {"910c", {256, 313, 320, 376}},  // of one die
      {"910", {256, 313, 320, 376}},
      {"h100", {989}},
      {"h200", {989}},
      {"h800", {989}},
      {"a100", {312}},
      {"a800", {312}},
      {"b200", {2250}},
  };
  return kPeaks;
}

struct Maker {
  std::string_view word, maker;
};
constexpr auto kMakers = std::to_array<Maker>({
    {"ascend", "ascend"},
    {"910", "ascend"},
    {"nvidia", "nvidia"},
    {"h100", "nvidia"},
    {"a100", "nvidia"},
    {"rtx", "nvidia"},
    {"5090", "nvidia"},
    {"apple", "apple"},
    {"amd", "amd"},
    {"cpu", "cpu"},
});

}  // namespace

std::vector<double> parameter_counts(const NanochatShape& shape) {
  const double plain = 2 * embedding(shape) + layers(shape);
  // Every other layer; which of an odd number is not the same in every version.
  const double fewer = real(shape.depth / 2), more = real((shape.depth + 1) / 2);
  return {plain, plain + fewer * embedding(shape), plain + more * embedding(shape)};
}

double flops_per_token(const NanochatShape& shape) {
  return 6 * (embedding(shape) + layers(shape)) +
         12 * real(shape.depth) * real(shape.width) * real(shape.sequence);
}

double eager_training_bytes(const NanochatShape& shape, std::int64_t device_batch,
                            std::int64_t cards) {
  const double half = 2, full = 4;  // bytes: wte in bf16, lm_head and matrices in fp32
  const double weights = half * embedding(shape) + full * (embedding(shape) + layers(shape));
  const double moments = 2 * half * embedding(shape) + 2 * full * embedding(shape);  // AdamW
  const double momentum = full * layers(shape);                                      // Muon
  const double tokens = real(device_batch) * real(shape.sequence);
  return 2 * weights + (moments + momentum) / real(std::max<std::int64_t>(cards, 1)) +
         50.6 * real(shape.width) * real(shape.depth) * tokens + 16 * real(shape.vocab) * tokens;
}

std::vector<double> peaks_of(std::string_view device) {
  const std::string name = lower(device);
  for (const Peak& peak : peaks())
    if (name.find(peak.device) != name.npos) return peak.tflops;
  return {};
}

bool is_ascend(std::string_view device) { return maker_of(device) == "ascend"; }

std::string_view maker_of(std::string_view device) {
  const std::string name = lower(device);
  for (const Maker& maker : kMakers)
    if (name.find(maker.word) != name.npos) return maker.maker;
  return {};
}

}  // namespace nb
