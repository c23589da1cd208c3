// What a device of that name can do at most: dense bf16 rate and memory. Looked up in one table,
// each row with its source; a name that is not in it has no limits here. Pure.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace nb {

// Dense bf16 peaks in TFLOP/s of the device that the name states (several where the name leaves the
// variant open or sources disagree); empty: not known. Of two dies in a package: of one.
std::vector<double> peaks_of(std::string_view device);
// Peaks that somebody may have printed a share of, whatever it ran on: those above, a vendor's
// totals over matrix and vector units, and nanochat's 989 of an H100.
std::vector<double> quoted_peaks_of(std::string_view device);
// Memory of one card in GiB: what the name says ("A100-SXM4-40GB"), else the largest variant's.
std::optional<double> memory_gib_of(std::string_view device);

bool is_ascend(std::string_view device);
// Maker of the device: "ascend", "nvidia", "apple", "cpu", "amd"; empty: not known.
std::string_view maker_of(std::string_view device);

}  // namespace nb
