// The files of model/device/calibration as text in the binary; written at build time by
// embed_calibration.cmake. Not for other folders: they call calibration_rows.
#pragma once

#include <span>
#include <string_view>

namespace nb {

struct EmbeddedCalibration {
  std::string_view name;
  std::string_view text;
};
std::span<const EmbeddedCalibration> embedded_calibration();

}  // namespace nb
