// npubench predict calibrate: fits the constants of the families and writes their files.
#pragma once

#include <string>
#include <vector>

namespace nb::cli {

struct CalibrateOptions {
  bool calibrate = false;
  std::vector<std::string> families;  // empty: all
  std::string out;                    // folder; empty: nothing is written
};
// rows_dir: as of --calibration. Exit code: 0 fitted, 4 a constant stands at its bound (then no
// file is written), 64 bad rows.
int predict_calibrate(const CalibrateOptions& options, const std::string& rows_dir, bool json);

}  // namespace nb::cli
