#include "results/audit/sizes.hpp"

#include <algorithm>

namespace nb {
namespace {

double real(std::int64_t value) { return static_cast<double>(value); }

double embedding(const NanochatShape& shape) { return real(shape.vocab) * real(shape.width); }
double layers(const NanochatShape& shape) {
  return 12 * real(shape.width) * real(shape.width) * real(shape.depth);
}

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

double eager_training_bytes(const NanochatShape& shape, double device_batch, double cards) {
  const double half = 2, full = 4;  // bytes: wte in bf16, lm_head and matrices in fp32
  const double weights = half * embedding(shape) + full * (embedding(shape) + layers(shape));
  const double moments = 2 * half * embedding(shape) + 2 * full * embedding(shape);  // AdamW
  const double momentum = full * layers(shape);                                      // Muon
  const double tokens = device_batch * real(shape.sequence);
  return 2 * weights + (moments + momentum) / std::max(cards, 1.) +
         50.6 * real(shape.width) * real(shape.depth) * tokens + 16 * real(shape.vocab) * tokens;
}

}  // namespace nb
