// ASCEND_RT_VISIBLE_DEVICES as the runtime reads it (hicann/runtime@681ef7610df1,
// src/runtime/core/src/runtime.cc:4725-5066): what stands behind a character that it does not take
// is dropped without a word. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace nb::doctor {

// Why reading ended.
enum class MaskEnd {
  kWhole,         // all of the text was taken
  kEnough,        // as many ids as there are cards
  kStopped,       // at a character that is neither digit nor comma, or at the second comma in a row
  kBeyond,        // at an id of a card that is not there
  kUnreadable,    // empty, or the first character is no digit: EE2002
  kNotAscending,  // EE2002
  kDuplicate,     // EE2002
};

struct VisibleDevices {
  std::vector<int> ids;  // none with EE2002
  MaskEnd end = MaskEnd::kWhole;
  std::string rest;  // what was not read
  bool is_refused() const {
    return end == MaskEnd::kUnreadable || end == MaskEnd::kNotAscending ||
           end == MaskEnd::kDuplicate || (end == MaskEnd::kBeyond && ids.empty());
  }
};

// cards: how many the machine has, at least 1. The variable is set; unset means all of them.
VisibleDevices visible_devices(std::string_view value, int cards);

}  // namespace nb::doctor
