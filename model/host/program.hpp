// The host's arithmetic, recorded op by op and run when somebody reads a value: whole passes at a
// time, so that neighbours can be computed together (patterns.hpp), values that nobody reads are
// never made, and those between two products lie in the format that the products read. The bits are
// those of the ops one after the other. One a device, one thread.
#pragma once

#include <vector>

#include "model/device/device.hpp"
#include "model/host/op.hpp"

namespace nb::host {

class Program final : public HostQueue {
 public:
  explicit Program(Device& device) : device_(device) {}
  void record(Op op);  // its outputs are pending from now on
  void finish() override;

 private:
  Device& device_;
  std::vector<Op> ops_;
  bool is_running_ = false;
};

// Simulates the op on the device and records its arithmetic (execute mode). Returns what the stack
// keeps for backward.
SavedBlocks run(Device& device, const OpDesc& desc, Operands operands);
void run_backward(Device& device, const OpDesc& desc, SavedBlocks saved, Operands operands);
// Records alone: arithmetic that the host does again where the device kept its result.
void recompute(Device& device, const OpDesc& desc, Operands operands);

// Off: every op alone, fp32 on the host. The bits are the same; tests compare them.
void set_fusion(bool on);
bool fuses();

}  // namespace nb::host
