#include "harness/doctor/visible_devices.hpp"

#include "harness/base/ascii.hpp"

namespace nb::doctor {
namespace {

constexpr std::size_t kLongest = 128;  // characters that the runtime reads
constexpr int kLargestId = 1'000'000;  // larger than any card, small enough to multiply by ten

}  // namespace

VisibleDevices visible_devices(std::string_view value, int cards) {
  VisibleDevices seen;
  const std::string_view read = value.substr(0, kLongest);
  if (read.empty() || !is_digit(read[0])) {
    seen.end = MaskEnd::kUnreadable;
    seen.rest = value;
    return seen;
  }
  std::size_t at = 0;
  while (at < read.size()) {
    if (!is_digit(read[at])) {
      seen.end = MaskEnd::kStopped;
      break;
    }
    const std::size_t begin = at;
    int id = 0;
    for (; at < read.size() && is_digit(read[at]); ++at)
      if (id < kLargestId) id = id * 10 + (read[at] - '0');
    if (static_cast<int>(seen.ids.size()) >= cards) {
      seen.end = MaskEnd::kEnough;
      at = begin;
      break;
    }
    if (id >= cards) {
      seen.end = MaskEnd::kBeyond;
      at = begin;
      break;
    }
    if (!seen.ids.empty() && id <= seen.ids.back()) {
      seen.end = id == seen.ids.back() ? MaskEnd::kDuplicate : MaskEnd::kNotAscending;
      seen.ids.clear();
      at = begin;
      break;
    }
    seen.ids.push_back(id);
    if (at < read.size() && read[at] == ',') ++at;
  }
  if (seen.end == MaskEnd::kWhole && value.size() > read.size()) seen.end = MaskEnd::kStopped;
  seen.rest = value.substr(at);
  return seen;
}

}  // namespace nb::doctor
