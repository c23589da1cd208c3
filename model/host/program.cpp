#include "model/host/program.hpp"

#include <atomic>
#include <utility>

#include "model/host/plan.hpp"

namespace nb::host {
namespace {

// More than any pass has: where nobody reads anything, what waits is limited.
constexpr std::size_t kMaxWaiting = 1 << 16;

std::atomic<bool> g_fuses{true};

Program& program_of(Device& device) {
  if (device.host_queue() == nullptr) device.set_host_queue(std::make_unique<Program>(device));
  return static_cast<Program&>(*device.host_queue());
}

void record(Device& device, const OpDesc& desc, Operands operands) {
  program_of(device).record({.kind = desc.kind,
                             .label = std::string(desc.label),
                             .dtype = desc.dtype,
                             .accumulate = desc.accumulate,
                             .numerics = &device.numerics(),
                             .operands = std::move(operands)});
}

}  // namespace

void set_fusion(bool on) { g_fuses = on; }
bool fuses() { return g_fuses; }

void Program::record(Op op) {
  std::visit(
      [&](const auto& operands) {
        for (const Values* out : operands.out())
          if (*out != nullptr) (*out)->is_pending = (*out)->is_recorded = true;
        for (const Values* in : operands.in())  // unspecified where nobody has written any
          if (*in != nullptr && (*in)->buffer == nullptr && !(*in)->is_recorded)
            device_.make_host_buffer(**in, false);
      },
      op.operands);
  ops_.push_back(std::move(op));
  if (ops_.size() >= kMaxWaiting) finish();
}

void Program::finish() {
  if (ops_.empty() || is_running_) return;
  struct Running {
    bool& flag;
    explicit Running(bool& f) : flag(f) { flag = true; }
    ~Running() { flag = false; }
  } running(is_running_);
  HostProfile& profile = device_.host_profile();
  Plan plan(std::exchange(ops_, {}), fuses());
  plan.run(profile.recording() ? &profile : nullptr);
}

SavedBlocks run(Device& device, const OpDesc& desc, Operands operands) {
  SavedBlocks saved = device.run(desc, [] {});
  if (device.executes()) record(device, desc, std::move(operands));
  return saved;
}

void run_backward(Device& device, const OpDesc& desc, SavedBlocks saved, Operands operands) {
  device.run_backward(desc, std::move(saved), [] {});
  if (device.executes()) record(device, desc, std::move(operands));
}

void recompute(Device& device, const OpDesc& desc, Operands operands) {
  if (device.executes()) record(device, desc, std::move(operands));
}

}  // namespace nb::host
