#include "model/data/bits_per_byte.hpp"

#include "harness/base/check.hpp"

namespace nb {
namespace {

constexpr double kLn2 = 0x1.62e42fefa39efp-1;  // ln 2, rounded to nearest

}  // namespace

void BitsPerByte::add(std::span<const float> nll, std::span<const int> targets) {
  NB_CHECK(nll.size() == targets.size(), "[bits_per_byte] {} losses for {} targets", nll.size(),
           targets.size());
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (targets[i] < 0) continue;
    const auto target = static_cast<std::size_t>(targets[i]);
    NB_CHECK(target < token_bytes_->size(), "[bits_per_byte] target {} of {}", target,
             token_bytes_->size());
    const int bytes = (*token_bytes_)[target];
    if (bytes <= 0) continue;
    nats_ += static_cast<double>(nll[i]);
    bytes_ += bytes;
    ++targets_;
  }
}

void BitsPerByte::merge(const BitsPerByte& other) {
  nats_ += other.nats_;
  bytes_ += other.bytes_;
  targets_ += other.targets_;
}

std::optional<double> BitsPerByte::value() const {
  if (bytes_ == 0) return std::nullopt;
  return nats_ / (kLn2 * static_cast<double>(bytes_));
}

std::optional<double> BitsPerByte::nats_per_token() const {
  if (targets_ == 0) return std::nullopt;
  return nats_ / static_cast<double>(targets_);
}

}  // namespace nb
