#include "model/predict/family_values.hpp"

#include <array>
#include <nlohmann/json.hpp>

#include "harness/base/check.hpp"
#include "harness/base/json_io.hpp"

namespace nb {
namespace {

struct Place {
  std::string_view pointer;
  Quantity* (*of)(DeviceProfile&);
};
constexpr std::array kPlaces = {
    Place{"/matrix/efficiency", [](DeviceProfile& p) { return &p.matrix.efficiency; }},
    Place{"/matrix/attention_efficiency",
          [](DeviceProfile& p) { return &p.matrix.attention_efficiency; }},
    Place{
        "/matrix/attention_backward_efficiency",
        [](DeviceProfile& p) { return &p.matrix.attention_backward_efficiency.emplace("share"); }},
    Place{"/memory/main/efficiency", [](DeviceProfile& p) { return &p.memory.main.efficiency; }},
    Place{"/launch/host_dispatch", [](DeviceProfile& p) { return &p.launch.host_dispatch; }},
    Place{"/launch/collective_dispatch",
          [](DeviceProfile& p) { return &p.launch.collective_dispatch; }},
    Place{"/links/bandwidth", [](DeviceProfile& p) { return &p.links.bandwidth; }},
    Place{"/links/hidden_share",
          [](DeviceProfile& p) {
            if (!p.links.hidden_share) p.links.hidden_share.emplace("share");
            return &*p.links.hidden_share;
          }},
};

void put(DeviceProfile& profile, const std::string& pointer, double value) {
  for (const Place& place : kPlaces)
    if (place.pointer == pointer) {
      place.of(profile)->value = value;
      return;
    }
  NB_CHECK(false, "[family] a fit cannot change {}: add it to family_values.cpp", pointer);
}

}  // namespace

void put_constants(DeviceProfile& profile, std::span<const FamilyConstant> constants) {
  for (const FamilyConstant& constant : constants) {
    put(profile, constant.pointer, constant.value);
    if (!constant.also.empty()) put(profile, constant.also, constant.value);
  }
}

Result<PricedMachine> priced_machine(const std::string& machine, const std::string& stack,
                                     const OwnConstants& own) {
  const std::optional<std::string> chosen = stack.empty() ? std::nullopt : std::optional(stack);
  NB_TRY(const Json json, load_profile_json(machine, chosen));
  NB_TRY(const std::string text, dump_json(json, /*indent=*/-1));
  PricedMachine priced;
  priced.name = machine;
  NB_TRY(priced.profile, parse_profile(json, machine));
  if (own.are_of(machine)) NB_TRY_VOID(own.put(priced.profile));
  NB_TRY(priced.between_nodes, parse_node_links(text, machine));
  return priced;
}

}  // namespace nb
