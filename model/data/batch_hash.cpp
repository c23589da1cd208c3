#include "model/data/batch_hash.hpp"

namespace nb {

void BatchHash::add(const Batch& batch) {
  add(batch.inputs);
  add(batch.targets);
}

void BatchHash::add(std::span<const int> ids) { hash_.update(std::as_bytes(ids)); }

double BatchHash::value() {
  constexpr int kHexDigits = 8, kBase = 16;
  return static_cast<double>(std::stoul(hash_.hex().substr(0, kHexDigits), nullptr, kBase));
}

}  // namespace nb
