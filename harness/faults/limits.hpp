// How long ranks wait for each other, from the environment of a suite as HCCL and torch_npu read
// it. Sources of numbers: hicann/hccl@09300b70df9a docs/zh/user_guide/hccl_env, and
// Ascend/pytorch@9e73e708ab93 ProcessGroupHCCL.cpp:1251-1275.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/result.hpp"
#include "model/device/profile.hpp"

namespace nb {

// Seconds; 0: never.
struct Limits {
  bool is_hccl = true;     // else NCCL, whose one clock is the watchdog
  double connect_s = 120;  // links and negotiation; rank 0 waits 20 s longer
  double exec_s = 1836;    // inside a collective
  double event_s = 1866;   // EXEC + 30 (the document says 1868)
  double watchdog_s = 3636;
  double store_s = 1800;
  std::vector<std::string> warnings;

  // What ends a wait inside a collective: the watchdog where it comes first. 0: nothing does.
  double collective_s() const { return watchdog_comes_first() ? watchdog_s : exec_s; }
  bool watchdog_comes_first() const {
    return watchdog_s > 0 && (!is_hccl || exec_s == 0 || watchdog_s <= exec_s);
  }
};

// process_group_timeout_s: of init_process_group; none or exactly 1800: not given. run_error
// (EI0001) for a value outside the range of its variable; bad_input for a variable that nothing
// here reads.
Result<Limits> read_limits(const std::map<std::string, std::string>& environment,
                           std::optional<double> process_group_timeout_s,
                           const DeviceProfile& profile, const std::string& where);

}  // namespace nb
