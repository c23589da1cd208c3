#include "harness/run/device_card.hpp"

#include <nlohmann/json.hpp>

#include "harness/base/hash.hpp"

namespace nb {
namespace {

// What no emulated device does, so that nobody looks for it in the numbers.
constexpr const char* kNotModelled[][2] = {
    {"order inside the matrix unit",
     "one fp32 chain stands for the hardware's own, undocumented tree of partial sums"},
    {"products below 2^-56", "bf16 operands smaller than that become zero (design.md §6)"},
    {"clock, temperature and power", "rates are constant; there is no throttling"},
    {"run-to-run nondeterminism", "atomics and races of real kernels are not there"},
};

std::string policy_digest(const DeviceProfile& profile) {
  Json entries = Json::object();
  for (const PolicyEntry& entry : profile.numerics_card) entries[entry.name] = entry.value;
  return sha256_json(entries);
}

}  // namespace

void describe_device(const ResolvedDevice& device, Record& record) {
  const DeviceProfile& profile = device.profile;
  record.subject["profile"] = profile.name();
  record.subject["policy"] = policy_digest(profile);
  record.subject["policy_of"] = profile.numerics_of;
  for (const PolicyEntry& entry : profile.numerics_card) {
    const bool assumed =
        entry.source.starts_with("assumed") || entry.source.starts_with("estimate");
    record.numerics.push_back(
        {entry.name, entry.value, assumed ? "assumed" : "documented", entry.source});
  }
  for (const auto& [item, why] : kNotModelled)
    record.numerics.push_back({item, "-", "not modelled", why});
}

}  // namespace nb
