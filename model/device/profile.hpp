// DeviceProfile: every number of a machine and of the software stack on it, with unit and source,
// read from one JSON, which profile_layers.hpp makes of the files of machine, stack and family.
// Those of the project are built into the binary. Knows no formula: cost_model.hpp, memory.hpp and
// collectives use the numbers. Plain value.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/fields.hpp"
#include "harness/base/result.hpp"
#include "model/device/memory.hpp"
#include "model/device/numerics.hpp"
#include "model/device/quantity.hpp"
#include "model/device/timeline.hpp"
#include "model/tensor/dtype.hpp"

namespace nb {

struct IdentityProfile {
  std::string name;   // "ascend_910b3"
  std::string title;  // "Huawei Ascend 910B3, 64 GB"
  std::string vendor;
  std::string kind;    // "npu", "gpu", "cpu", "test"
  std::string source;  // where the machine's description comes from
  // "data_sheet": nothing was measured on it, so how far predictions are off is not known.
  std::optional<std::string> evidence;
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
  std::optional<Quantity> clock;  // GHz, of the peak
  // Of that clock, what the power limit leaves a large product, whatever its library; absent: the
  // efficiency has it. At most 1.
  std::optional<Quantity> sustained_clock;
  PeakProfile peak;
  Quantity tile_m{"element", 1}, tile_n{"element", 1},
      tile_k{"element", 1};  // of one core's output tile
  // Operands come through the last-level cache once for each tile of the other: their bytes there
  // at its rate, times this (formats converted on the way; 0: not modelled apart from efficiency),
  // and times `unaligned_load` where a row of an operand is no multiple of 512 bytes.
  Quantity load_penalty{"factor"}, unaligned_load{"factor"};
  Quantity attention_key_tile{"element"};  // keys that fused attention takes at once; 0: efficiency
  Quantity attention_ramp{"element"};  // keys in whose time a block of queries fills its pipeline
  // What a score moves between matrix and vector cores that share no memory nearer than the
  // last-level cache, forward; it does not depend on the width of a head. 0: they share one.
  Quantity attention_exchange{"byte"};
  Quantity efficiency{"share"};  // of the peak at the sustained clock, reached by a wave of tiles
  // Of the peak, fused attention forward over many keys, with heads 128 wide where there is an
  // exchange; backward follows from the exchange, and without one has its own.
  Quantity attention_efficiency{"share"};
  std::optional<Quantity> attention_backward_efficiency;
  FieldList fields();
  double sustained() const { return sustained_clock ? sustained_clock->value : 1; }
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
  Quantity short_burst{"share"};      // of the rate, where 128 bytes lie together; 1: no loss
  std::optional<Quantity> unaligned;  // share of the rate, of rows off the boundary; absent: 1
  FieldList fields();
};

struct LaunchProfile {
  Quantity matrix_kernel{"ns"};  // on the device, before the first tile is busy
  Quantity vector_kernel{"ns"};
  // Host time of one launch: first stage, by Python in the forward pass and the optimizers, by
  // autograd's engine in the backward pass; then of a collective.
  Quantity host_dispatch{"ns"}, host_dispatch_backward{"ns"}, collective_dispatch{"ns"};
  Quantity submit{"ns"};     // second stage: from the task queue to the device
  Quantity workspace{"ns"};  // part of the first stage that TASK_QUEUE_ENABLE=2 moves to the second
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
  // Of communication that may run beside compute; absent: none. For the closed form of Megatron's
  // steps (model/predict); the timeline of executed and dry runs knows what ran beside what.
  std::optional<Quantity> hidden_share;
  Quantity timeout{"s"};  // longest wait for the slowest rank, simulated
  FieldList fields();
};

enum class SoftwareMode { kEager, kCompiled };
// TASK_QUEUE_ENABLE of torch_npu: 0 both stages in one thread, 1 side by side, 2 with the
// workspaces in the second.
enum class TaskQueue { kOff, kOn, kWorkspace };

struct SoftwareProfile {
  Sourced<SoftwareMode> mode{{"eager", "compiled"}};  // of training
  Sourced<SoftwareMode> score_mode{{"eager", "compiled"}}, generate_mode{{"eager", "compiled"}},
      tune_mode{{"eager", "compiled"}};
  Sourced<std::vector<std::string>>
      fused_operators;  // op names (op_desc.hpp) run as one kernel even in eager
  Sourced<TaskQueue> task_queue{{"0", "1", "2"}};
  Sourced<bool> launch_blocking;  // ASCEND_LAUNCH_BLOCKING, CUDA_LAUNCH_BLOCKING
  Sourced<bool> copies_views;     // strided operands are copied before the kernel that reads them
  // Fused attention keeps so many fp32 a row of each head, and the mask of a square of bytes a
  // call.
  Quantity attention_row_values{"element", 1}, attention_mask_side{"element"};
  Sourced<OutOfMemoryWords> out_of_memory{{"cuda", "npu", "cpu"}};
  Sourced<bool> expandable_segments;
  // PYTORCH_NPU_ALLOC_CONF, PYTORCH_CUDA_ALLOC_CONF: alloc_conf.hpp reads it; absent: not set.
  std::optional<Sourced<std::string>> alloc_conf;
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
  std::string stack, family;               // names of those layers; empty: described in one file

  const std::string& name() const { return identity.name; }
  AllocatorRules allocator_rules() const;
  HostTimes host_times() const;
  MemoryBudget memory_budget(int ranks) const;
};

// `where` opens every error: "<where>: /launch/host_dispatch/source: …".
Result<DeviceProfile> parse_profile(const Json& json, const std::string& where);
// A built-in name, or the path of a profile (anything that ends in .json); under `stack` (a name or
// path) in place of its own.
Result<DeviceProfile> load_profile(const std::string& name_or_path,
                                   const std::optional<std::string>& stack = {});
// The same as the JSON of all layers, not parsed further.
Result<Json> load_profile_json(const std::string& name_or_path,
                               const std::optional<std::string>& stack = {});
std::vector<std::string> profile_names();         // built in, sorted
std::string profile_text(std::string_view name);  // all layers; empty when unknown
// The machine of `profile` with the policy of `policy` ("numerics": "ascend_910b3" in a suite).
// bad_input when the machine's matrix unit lacks a type that the policy multiplies in.
Result<DeviceProfile> with_numerics(DeviceProfile profile, const DeviceProfile& policy);

}  // namespace nb
