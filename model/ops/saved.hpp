// What ops share: where a forward op puts the blocks that its backward needs.
#pragma once

#include <utility>

#include "model/device/device.hpp"

namespace nb::ops {

// `saved` null: no backward follows, there is nothing to keep.
inline void keep(SavedBlocks* saved, SavedBlocks blocks) {
  if (saved != nullptr) *saved = std::move(blocks);
}

}  // namespace nb::ops
