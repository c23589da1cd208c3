// DeviceProfile: every number of a machine and of the software stack on it, with unit and source,
// read from one JSON file. Profiles of the project are built into the binary
// (model/device/profiles). Knows no formula: cost_model.hpp, memory.hpp and collectives use the
// numbers. Plain value.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/fields.hpp"
#include "harness/base/result.hpp"
#include "model/device/memory.hpp"
#include "model/device/numerics.hpp"
#include "model/device/quantity.hpp"
#include "model/tensor/dtype.hpp"

namespace nb {

struct IdentityProfile {
  std::string name;   // "ascend_910b3"
  std::string title;  // "Huawei Ascend 910B3, 64 GB"
  std::string vendor;
  std::string kind;    // "npu", "gpu", "cpu", "test"
  std::string source;  // where the machine's description comes from
  FieldList fields();
};

// Dense peak of the matrix unit per input type; absent: the unit does not have it.
struct PeakProfile {
  std::optional<Quantity> fp32, tf32, hf32, bf16, fp16;  // TFLOP/s
  FieldList fields();
  const std::optional<Quantity>& of(DType dtype) const;
};

struct MatrixUnitProfile {
  Quantity cores{"core", 1};
  PeakProfile peak;
  Quantity tile_m{"element", 1}, tile_n{"element", 1},
      tile_k{"element", 1};                // of one core's output tile
  Quantity efficiency{"share"};            // of the peak that a full wave of tiles reaches
  Quantity attention_efficiency{"share"};  // of the peak, fused attention forward
  Quantity attention_backward_efficiency{"share"};
  FieldList fields();
};

struct VectorUnitProfile {
  Quantity peak{"TFLOP/s"};  // fp32, all cores
  FieldList fields();
};

struct MemoryLevelProfile {
  Quantity capacity{"GiB"};
  Quantity bandwidth{"GB/s"};
  Quantity efficiency{"share"};
  FieldList fields();
};

struct MemoryProfile {
  MemoryLevelProfile main;   // HBM, or the host's DRAM
  MemoryLevelProfile cache;  // last level shared by all cores
  Quantity usable{"GiB"};    // total capacity that the framework prints
  Quantity cache_resident{
      "share"};  // a kernel whose bytes fit this share of the cache runs at its rate
  FieldList fields();
};

struct LaunchProfile {
  Quantity matrix_kernel{"ns"};  // on the device, before the first tile is busy
  Quantity vector_kernel{"ns"};
  Quantity host_dispatch{"ns"};       // host time of one kernel launch
  Quantity queue_depth{"kernel", 1};  // launches the host may be ahead
  Quantity synchronize{"ns"};         // host time of one wait for the device
  FieldList fields();
};

struct HostLinkProfile {
  Quantity bandwidth{"GB/s"};
  Quantity latency{"ns"};
  FieldList fields();
};

enum class CollectiveAlgorithm { kRing, kMesh };

struct LinkProfile {
  Sourced<std::string> library;  // "hccl", "nccl", "none"
  Sourced<CollectiveAlgorithm> algorithm{{"ring", "mesh"}};
  Quantity devices{"device", 1};  // directly linked; more than these are not modelled
  Quantity latency{"ns"};         // α, of one step
  Quantity bandwidth{
      "GB/s"};  // 1/β: ring: of the ring; mesh: of one of the links that run together
  Quantity reduce_bandwidth{"GB/s"};  // 1/γ; 0: the sum costs nothing beside the transfer
  Quantity timeout{"s"};              // longest wait for the slowest rank, simulated
  FieldList fields();
};

enum class SoftwareMode { kEager, kCompiled };

struct SoftwareProfile {
  Sourced<SoftwareMode> mode{{"eager", "compiled"}};  // of training
  Sourced<SoftwareMode> score_mode{{"eager", "compiled"}}, generate_mode{{"eager", "compiled"}},
      tune_mode{{"eager", "compiled"}};
  Sourced<std::vector<std::string>>
      fused_operators;  // op names (op_desc.hpp) run as one kernel even in eager
  Sourced<OutOfMemoryWords> out_of_memory{{"cuda", "npu", "cpu"}};
  Sourced<bool> expandable_segments;
  Quantity padding{"byte"};
  Quantity rounding{"byte", 1};
  Quantity small_limit{"byte"}, small_segment{"byte"};
  Quantity large_segment{"byte"}, large_limit{"byte"}, large_rounding{"byte", 1};
  Quantity large_split_remainder{"byte"};
  Quantity driver_reserve{"MiB"};        // context, of the usable capacity
  Quantity communicator_buffers{"MiB"};  // of one communicator, when there is more than one rank
  FieldList fields();
  SoftwareProfile of(Use use) const;  // with `mode` as it is in that use
  bool fuses(std::string_view op) const;
};

struct CalibrationProfile {
  std::string note;                 // what the fitted constants were fitted on, and the error there
  std::vector<std::string> fitted;  // names of fitted constants
  FieldList fields();
};

struct DeviceProfile {
  IdentityProfile identity;
  MatrixUnitProfile matrix;
  VectorUnitProfile vector;
  MemoryProfile memory;
  LaunchProfile launch;
  HostLinkProfile host_link;
  LinkProfile links;
  SoftwareProfile software;
  CalibrationProfile calibration;
  NumericsPolicy numerics;
  std::vector<PolicyEntry> numerics_card;  // every entry of the policy with its source
  std::string numerics_of;                 // name of the profile that the policy came from

  const std::string& name() const { return identity.name; }
  AllocatorRules allocator_rules() const;
  MemoryBudget memory_budget(int ranks) const;
};

// `where` opens every error: "<where>: /launch/host_dispatch/source: …".
Result<DeviceProfile> parse_profile(const Json& json, const std::string& where);
// A built-in name, or the path of a profile (anything that ends in .json).
Result<DeviceProfile> load_profile(const std::string& name_or_path);
std::vector<std::string> profile_names();              // built in, sorted
std::string_view profile_text(std::string_view name);  // JSON as built in; empty when unknown
// The machine of `profile` with the policy of `policy` ("numerics": "ascend_910b3" in a suite).
// bad_input when the machine's matrix unit lacks a type that the policy multiplies in.
Result<DeviceProfile> with_numerics(DeviceProfile profile, const DeviceProfile& policy);

}  // namespace nb
