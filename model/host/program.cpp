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

void record(Device& device, const OpDesc& desc, Op op) {
  op.kind = desc.kind;
  op.label = desc.label;
  op.dtype = desc.dtype;
  op.accumulate = desc.accumulate;
  op.numerics = &device.numerics();
  program_of(device).record(std::move(op));
}

}  // namespace

void set_fusion(bool on) { g_fuses = on; }
bool fuses() { return g_fuses; }

void Program::record(Op op) {
  for (const Values& values : op.out)
    if (values != nullptr) values->is_pending = values->is_recorded = true;
  for (const Values& values : op.in)  // contents are unspecified where nobody has written any
    if (values != nullptr && values->buffer == nullptr && !values->is_recorded)
      device_.make_host_buffer(*values, false);
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

SavedBlocks run(Device& device, const OpDesc& desc, Op op) {
  SavedBlocks saved = device.run(desc, [] {});
  if (device.executes()) record(device, desc, std::move(op));
  return saved;
}

void run_backward(Device& device, const OpDesc& desc, SavedBlocks saved, Op op) {
  device.run_backward(desc, std::move(saved), [] {});
  if (device.executes()) record(device, desc, std::move(op));
}

void recompute(Device& device, const OpDesc& desc, Op op) {
  if (device.executes()) record(device, desc, std::move(op));
}

}  // namespace nb::host
