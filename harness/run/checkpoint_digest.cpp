#include "harness/run/checkpoint_digest.hpp"

#include <fmt/format.h>

#include "harness/base/hash.hpp"
#include "model/train/safetensors.hpp"

namespace nb {

Result<std::string> weights_digest(const SafetensorsFile& checkpoint) {
  Sha256 hash;
  bool any = false;
  for (const auto& [tensor, entry] : checkpoint.entries()) {
    if (tensor.starts_with("optimizer.") || tensor.starts_with("progress.")) continue;
    any = true;
    std::string head = fmt::format("{} {}", tensor, name(entry.type));
    for (const std::int64_t size : entry.shape) head += fmt::format(" {}", size);
    hash.update(head + "\n");
    hash.update(entry.bytes);
  }
  if (!any) return bad_input(fmt::format("{}: holds no weights of a GPT", checkpoint.path()));
  return hash.hex();
}

}  // namespace nb
