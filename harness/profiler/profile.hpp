// What a profiler recorded, as plain values, whoever wrote it: kernels, steps, collectives, memory,
// host. Times are whole ns. They are of one clock: `device`, measured on the user's machine, or
// `sim`, of our simulated devices; the two are never subtracted from each other.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/profiler/op_class.hpp"
#include "harness/profiler/sentences.hpp"
#include "harness/profiler/texts.hpp"

namespace nb::profiler {

inline constexpr std::int64_t kUnknownTime = -1;
inline constexpr float kUnknownShare = -1;

enum class Kind { kAscend, kMsprof, kCluster, kTorch, kNpubench };
std::string_view name(Kind kind);  // "ascend", "msprof", "cluster", "torch", "npubench"
enum class Clock { kDevice, kSim };
std::string_view name(Clock clock);

struct Kernel {
  std::int64_t start_ns = 0, duration_ns = 0;
  std::int64_t issued_ns = kUnknownTime;  // by the host
  TextId name = 0, type = 0, core = 0;
  TextId input_shapes = 0, output_shapes = 0, data_types = 0;  // as Ascend writes them: "2,3;4"
  TextId step = 0;
  OpClass op_class = OpClass::kOther;
  std::int32_t block_dim = 0;
  // Shares of the core's time: cube, load from memory, vector; of reads, found in L2.
  float mac = kUnknownShare, mte2 = kUnknownShare, vector = kUnknownShare, l2_hit = kUnknownShare;
  double flop = -1, bytes = -1;  // where the file says them; -1: it does not
  TextId op = 0;                 // of the framework, whose operands the shapes are ("aten::mm")
  TextId label = 0;              // of our own traces: what the device model prices it by
};

// A row of step_trace_time.csv.
struct StepRow {
  std::string step;
  std::int64_t computing_ns = 0, not_overlapped_ns = 0, overlapped_ns = 0, communication_ns = 0;
  std::int64_t free_ns = 0, stage_ns = 0, bubble_ns = 0;
  std::optional<std::int64_t> preparing_ns;
};
// A step of a trace: from, to.
struct StepWindow {
  std::string step;
  std::int64_t start_ns = 0, end_ns = 0;
};

struct LinkUse {
  std::string link;  // "HCCS", "RDMA", "PCIE", "SDMA", "SIO"
  double megabytes = 0;
  std::int64_t time_ns = 0;  // of parallel links together
  double gigabytes_per_s = 0;
  double small_share = 0;  // of the packets' bytes
};
struct Collective {
  std::string name, step, group;
  bool is_point_to_point = false;
  std::int64_t start_ns = 0, elapse_ns = 0, transfer_ns = 0, wait_ns = 0, synchronize_ns = 0;
  std::int64_t idle_ns = 0;
  std::vector<LinkUse> links;
};
struct PairUse {
  std::int64_t from = 0, to = 0;
  std::string link;
  double megabytes = 0;
  std::int64_t time_ns = 0;
};

struct Allocation {
  TextId name = 0;
  double kilobytes = 0;
  std::int64_t start_ns = 0, release_ns = kUnknownTime;
  double allocated_mb = 0, reserved_mb = 0;  // of all, when it was made
};
struct Component {
  double allocated_mb = 0, reserved_mb = 0;  // peaks
};

// A row of hccs.csv or pcie.csv, or a column of nic.csv or roce.csv over time.
struct Traffic {
  std::string link, mode;                    // "HCCS", "Tx (MB/s)"
  double lowest = 0, highest = 0, mean = 0;  // in the unit that the mode names
  std::int64_t samples = 0;                  // 0: the profiler's own summary
};

struct HostCall {
  std::int64_t total_ns = 0, longest_ns = 0, count = 0;
};

struct Rank {
  std::int64_t rank = 0;
  std::int64_t world_size = 0;  // 0: not known
  std::string source;           // file or folder
  std::string level;            // "Level1"; empty: not known
  std::string device;           // name of the card, or of our profile; empty: not known
  std::optional<bool> with_stack, record_shapes, profile_memory;
  std::vector<StepRow> step_rows;
  std::vector<StepWindow> windows;
  // Of our own traces: from the first launch until the host has waited for the device.
  std::optional<StepWindow> whole;
  std::vector<StepWindow> loading;     // the host waits for its data loader
  std::vector<StepWindow> collecting;  // Python collects garbage
  std::vector<Kernel> kernels;         // by start
  std::vector<Collective> collectives;
  std::vector<PairUse> pairs;
  std::vector<Traffic> traffic;
  std::vector<Allocation> allocations;
  std::map<std::string, Component> components;      // PTA, GE, APP, …
  std::map<std::string, double> module_mb;          // HCCL, RUNTIME, …: peaks
  std::map<std::string, HostCall> apis, operators;  // api_statistic; operator_details, cpu_op
  std::map<std::string, std::string> environment;
  std::map<std::string, std::int64_t> op_statistic_ns;  // type → total
  std::vector<std::string> absent;  // tables that are not there: key of a sentence each
};

struct Profile {
  std::string source;
  Kind kind = Kind::kAscend;
  Clock clock = Clock::kDevice;
  bool is_gpu = false;
  Texts texts;
  std::vector<Rank> ranks;  // by number
  std::vector<Said> notes;
};

}  // namespace nb::profiler
