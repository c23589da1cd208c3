// Numbers of a family's constants, put into profiles that are composed already: what a fit changes
// between two predictions. Knows where each constant stands; no file, no row. Plain functions.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "harness/base/result.hpp"
#include "model/device/node_links.hpp"
#include "model/device/profile.hpp"
#include "model/device/profile_layers.hpp"

namespace nb {

// NB_CHECK: a place that no fit knows (family_places()).
void put_constants(DeviceProfile& profile, std::span<const FamilyConstant> constants);

// Constants of one machine in place of those of its family: what its user fitted on it.
struct OwnConstants {
  std::string machine;  // empty: none
  std::function<Result<void>(DeviceProfile&)> put;
  bool are_of(std::string_view name) const { return !machine.empty() && machine == name; }
};

// A machine under a stack, with the network between its nodes, ready for predictions.
struct PricedMachine {
  std::string name;
  DeviceProfile profile;
  std::optional<NodeLinkProfile> between_nodes;
};
// bad_input: as load_profile.
Result<PricedMachine> priced_machine(const std::string& machine, const std::string& stack,
                                     const OwnConstants& own = {});

}  // namespace nb
