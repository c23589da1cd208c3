#include "harness/run/device_card.hpp"

#include <nlohmann/json.hpp>

#include "harness/base/hash.hpp"

namespace nb {
namespace {

// What no emulated device does, so that nobody looks for it in the numbers.
constexpr const char* kNotModelled[][2] = {
    {"order within the matrix unit",
     "one fp32 chain stands for the hardware's undocumented tree of partial sums"},
    {"products below 2^-56", "bf16 operands smaller than that become zero"},
    {"clock, temperature and power", "rates are constant; there is no throttling"},
    {"run-to-run nondeterminism", "atomics and races of real kernels do not exist"},
};

std::string policy_digest(std::span<const PolicyEntry> card) {
  Json entries = Json::object();
  for (const PolicyEntry& entry : card) entries[entry.name] = entry.value;
  return sha256_json(entries);
}

}  // namespace

void describe_device(const ResolvedDevice& device, std::span<const Use> uses, int cards,
                     Record& record) {
  const DeviceProfile& profile = device.profile;
  const std::vector<PolicyEntry> card =
      entries_in(profile.numerics_card, profile.numerics, uses, cards);
  record.subject["profile"] = profile.name();
  record.subject["policy"] = policy_digest(card);
  record.subject["policy_of"] = profile.numerics_of;
  for (const PolicyEntry& entry : card) {
    const bool assumed =
        entry.source.starts_with("assumed") || entry.source.starts_with("estimate");
    record.numerics.push_back(
        {entry.name, entry.value, assumed ? "assumed" : "documented", entry.source});
  }
  for (const auto& [item, why] : kNotModelled)
    record.numerics.push_back({item, "-", "not modelled", why});
}

}  // namespace nb
