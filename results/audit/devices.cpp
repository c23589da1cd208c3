#include "results/audit/devices.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

#include "harness/base/ascii.hpp"

namespace nb {
namespace {

struct Limits {
  std::string_view name, more;  // parts of the device's name in lower case; more may be empty
  std::vector<double> tflops;   // dense bf16 of matrix products
  std::vector<double> quoted;   // other numbers that go by the name of its peak
  double memory_gib;            // of the largest variant; 0: not known
};

// The first row whose words are in the name counts, so the longer names stand first.
// Ascend: cores × 4,096 MAC × clock, as in model/device/profiles (asc-devkit mmad_perf README);
// quoted are the totals of cube and vector units (torchtitan_npu metrics: 400, 376, 313, 280) and
// what ports divide by. Of "910B" without a variant there are four peaks: sources disagree.
// NVIDIA and AMD: dense bf16 with fp32 accumulation as nanochat common.py @ 92d63d4 lists it
// (get_peak_flops); the B300, the H20, the SXM form of the H800, and all memory by the vendors'
// datasheets.
const std::vector<Limits>& limits() {
  static const std::vector<Limits> kLimits = {
      {"910b1", "", {363.7}, {373.9, 376, 400, 414}, 64},
      {"910b2", "", {353.9}, {376}, 64},
      {"910b3", "", {294.9}, {256, 313, 320}, 64},
      {"910b4", "", {245.8}, {280}, 64},  // the 910B4-1; the 910B4 has 32
      {"910b", "", {256, 313, 320, 376}, {}, 64},
      {"910c", "", {363.7}, {256, 313, 320, 353.9, 376}, 64},
      {"910_93", "", {363.7}, {353.9, 376}, 64},  // Ascend910_9392 and its kin: the 910C's dies
      {"910a", "", {262.1}, {256}, 32},
      {"910", "", {256, 313, 320, 376}, {}, 64},
      {"gb300", "", {2500}, {}, 288},
      {"b300", "", {2500}, {}, 288},
      {"gb200", "", {2500}, {}, 192},
      {"b200", "", {2250}, {}, 192},
      {"b100", "", {1800}, {}, 192},
      {"gh200", "", {989}, {}, 144},
      {"h200", "nvl", {836}, {}, 141},
      {"h200", "", {989}, {}, 141},
      {"h100", "nvl", {835}, {}, 94},
      {"h100", "pcie", {756}, {}, 80},
      {"h100", "", {989}, {}, 96},
      {"h800", "", {989}, {756}, 80},
      {"h20", "", {148}, {}, 141},
      {"a100", "", {312}, {}, 80},
      {"a800", "", {312}, {}, 80},
      {"a40", "", {149.7}, {}, 48},
      {"a30", "", {165}, {}, 24},
      {"l40s", "", {362}, {}, 48},
      {"5090", "", {209.5}, {}, 32},
      {"4090", "", {165.2}, {330}, 48},  // also sold with twice its 24
      {"3090", "", {71}, {142}, 24},
      {"mi355", "", {2500}, {}, 288},
      {"mi325", "", {1307.4}, {}, 256},
      {"mi300x", "", {1307.4}, {}, 192},
      {"mi250", "", {383}, {362.1}, 128},
  };
  return kLimits;
}

const Limits* limits_of(std::string_view device) {
  const std::string name = lowered(device);
  const auto found = std::ranges::find_if(limits(), [&](const Limits& row) {
    return name.find(row.name) != name.npos && name.find(row.more) != name.npos;
  });
  return found == limits().end() ? nullptr : &*found;
}

struct Maker {
  std::string_view word, maker;
};
constexpr auto kMakers = std::to_array<Maker>({
    {"ascend", "ascend"},
    {"910", "ascend"},
    {"nvidia", "nvidia"},
    {"h100", "nvidia"},
    {"a100", "nvidia"},
    {"rtx", "nvidia"},
    {"5090", "nvidia"},
    {"apple", "apple"},
    {"amd", "amd"},
    {"cpu", "cpu"},
});

// "NVIDIA A100 80GB PCIe" → 80; 0: the name has none.
double stated_gigabytes(std::string_view device) {
  const std::string name = lowered(device);
  for (std::size_t at = name.find('g'); at != name.npos; at = name.find('g', at + 1)) {
    if (!name.substr(at).starts_with("gb") && !name.substr(at).starts_with("gib")) continue;
    std::size_t end = at;
    while (end > 0 && name[end - 1] == ' ') --end;
    std::size_t begin = end;
    double value = 0, place = 1;
    for (; begin > 0 && std::isdigit(static_cast<unsigned char>(name[begin - 1])) != 0; --begin) {
      value += place * (name[begin - 1] - '0');
      place *= 10;
    }
    if (begin < end && value > 0) return value;
  }
  return 0;
}

}  // namespace

std::vector<double> peaks_of(std::string_view device) {
  const Limits* found = limits_of(device);
  return found == nullptr ? std::vector<double>() : found->tflops;
}

std::vector<double> quoted_peaks_of(std::string_view device) {
  constexpr double kOfNanochat = 989;  // its peak on whatever device, until January 2026
  std::vector<double> peaks = peaks_of(device);
  if (const Limits* found = limits_of(device))
    peaks.insert(peaks.end(), found->quoted.begin(), found->quoted.end());
  peaks.push_back(kOfNanochat);
  return peaks;
}

std::optional<double> memory_gib_of(std::string_view device) {
  if (const double stated = stated_gigabytes(device); stated > 0) return stated;
  const Limits* found = limits_of(device);
  if (found == nullptr || found->memory_gib <= 0) return std::nullopt;
  return found->memory_gib;
}

bool is_ascend(std::string_view device) { return maker_of(device) == "ascend"; }

std::string_view maker_of(std::string_view device) {
  const std::string name = lowered(device);
  for (const Maker& maker : kMakers)
    if (name.find(maker.word) != name.npos) return maker.maker;
  return {};
}

}  // namespace nb
