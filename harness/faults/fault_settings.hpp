// What a suite says of faults of its ranks: of all devices, or in a device's entry.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/fields.hpp"

namespace nb {

// How a fault must end; for suites that try the harness itself.
struct ExpectedFailure {
  std::optional<std::string> failure;  // a code that some rank reports; "none": the run ends well
  std::optional<std::int64_t> first_rank;
  std::optional<double> after_s;  // of that code, simulated
  FieldList fields();
};

struct FaultSettings {
  std::vector<std::string> faults;                 // "kill:rank=3,step=20"
  std::map<std::string, std::string> environment;  // of HCCL: variable → value
  std::optional<std::string> launcher;             // "torchrun", "none"
  std::optional<double> process_group_timeout_s;   // of init_process_group
  std::optional<ExpectedFailure> expect;           // changes no result
  std::optional<bool> tensor_digests;              // rank_tensors.csv (tensor_digests.hpp)
  FieldList fields();
  bool keeps_digests() const { return tensor_digests.value_or(false); }
  bool empty() const { return faults.empty() && !keeps_digests(); }
  FaultSettings without_faults() const {  // limits change nothing where nobody is late
    FaultSettings rest;
    if (keeps_digests()) rest.tensor_digests = true;
    return rest;
  }
};

}  // namespace nb
