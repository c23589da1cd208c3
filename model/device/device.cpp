#include "model/device/device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <nlohmann/json.hpp>
#include <type_traits>
#include <utility>

#include "harness/base/check.hpp"
#include "model/device/cost_model.hpp"
#include "model/device/host_pool.hpp"
#include "model/device/lowering.hpp"
#include "model/device/traced_kernel.hpp"

namespace nb {

struct Device::Impl {
  Impl(DeviceProfile p, ExecutionMode m, const DeviceOptions& o)
      : profile(std::move(p)),
        mode(m),
        options(o),
        memory(profile.allocator_rules(), profile.memory_budget(o.ranks), o.index),
        timeline(profile.host_times()),
        trace(o.trace_steps) {
    for (const Use u : kUses)
      stacks[static_cast<std::size_t>(u)] = {profile.software.of(u), profile.numerics.of(u)};
  }

  struct Stack {
    SoftwareProfile software;
    NumericsPolicy numerics;
  };
  const Stack& stack() const { return stacks[static_cast<std::size_t>(use)]; }

  void launch(const Kernel& kernel, const OpDesc& desc);
  void count(const KernelCost& cost);
  // Compute had nothing to do from where the account stands until then.
  void idle_until(std::int64_t time_ns, OpClass op_class, TimeLimit limit);
  void wait_for_collectives(std::int64_t end_ns) {
    idle_until(end_ns, OpClass::kCommunication, TimeLimit::kCommunication);
  }
  void synchronize();
  void count_collective(const OpDesc& desc, const Launch& launched, std::uint64_t size_bytes);
  void profile_host(const OpDesc& desc, const Lowering& lowering,
                    HostProfile::Clock::time_point start, const std::function<void()>& arithmetic);

  DeviceProfile profile;
  std::array<Stack, std::size(kUses)> stacks;
  Use use = Use::kTrain;
  ExecutionMode mode;
  DeviceOptions options;
  CachingAllocator memory;
  Timeline timeline;
  Trace trace;
  HostPool host;
  HostProfile host_profile;
  DeviceCounters counters;
  TimeAccount account;
  std::int64_t accounted_ns = 0;     // until when
  std::unique_ptr<HostQueue> queue;  // last: its values go back to `host`
};

namespace {

constexpr bool is_collective(OpKind kind) {
  return kind == OpKind::kAllReduce || kind == OpKind::kReduceScatter ||
         kind == OpKind::kAllGather || kind == OpKind::kBroadcast || kind == OpKind::kAllToAll ||
         kind == OpKind::kSendReceive || kind == OpKind::kBarrier;
}

template <class Counters, class Visit>
void each_counter(Counters& counters, const Visit& visit) {
  visit("ops", counters.ops);
  visit("kernels", counters.kernels);
  visit("flops", counters.flops);
  visit("moved_bytes", counters.moved_bytes);
  visit("link_bytes", counters.link_bytes);
  visit("compute_limited_ns", counters.compute_limited_ns);
  visit("memory_limited_ns", counters.memory_limited_ns);
  visit("launch_limited_ns", counters.launch_limited_ns);
  visit("link_limited_ns", counters.link_limited_ns);
  visit("collective_ns", counters.collective_ns);
  visit("collective_wait_ns", counters.collective_wait_ns);
}

TraceEvent event_of(const Kernel& kernel, const OpDesc& desc, const Launch& launch, Stream stream,
                    Limiter limiter, const CachingAllocator& memory, std::int64_t ranks = 1) {
  TraceEvent event;
  event.kernel = kernel.name;
  event.label = traced_label(desc.label, {kernel, ranks});
  event.op = name(desc.kind);
  event.stream = stream;
  event.limiter = limiter;
  event.start_ns = launch.start_ns;
  event.duration_ns = launch.end_ns - launch.start_ns;
  event.dispatch_start_ns = launch.dispatch_start_ns;
  event.dispatch_ns = launch.dispatch_end_ns - launch.dispatch_start_ns;
  event.flops = kernel.flops;
  event.size_bytes = kernel.read_bytes + kernel.write_bytes;
  event.allocated_bytes = memory.stats().allocated_bytes;
  event.by_use = memory.allocated_by_use();
  return event;
}

}  // namespace

void Device::Impl::count(const KernelCost& cost) {
  switch (cost.limiter) {
    case Limiter::kCompute:
      counters.compute_limited_ns += cost.time_ns;
      break;
    case Limiter::kMemory:
      counters.memory_limited_ns += cost.time_ns;
      break;
    case Limiter::kLaunch:
      counters.launch_limited_ns += cost.time_ns;
      break;
    case Limiter::kLink:
      counters.link_limited_ns += cost.time_ns;
      break;
  }
}

void Device::Impl::idle_until(std::int64_t time_ns, OpClass op_class, TimeLimit limit) {
  if (time_ns <= accounted_ns) return;
  account.add_time(op_class, limit, time_ns - accounted_ns);
  accounted_ns = time_ns;
}

void Device::Impl::synchronize() {
  const std::int64_t collectives_end = timeline.stream_ns(Stream::kCommunication);
  timeline.synchronize();
  wait_for_collectives(collectives_end);
  idle_until(timeline.host_ns(), OpClass::kHost, TimeLimit::kHost);
}

void Device::Impl::launch(const Kernel& kernel, const OpDesc& desc) {
  const KernelCost cost = kernel_cost(kernel, profile);
  const Launch launched =
      timeline.launch(Stream::kCompute, cost.time_ns,
                      is_backward(desc.kind) ? Dispatch::kBackward : Dispatch::kForward);
  const std::uint64_t moved = kernel.read_bytes + kernel.write_bytes;
  ++counters.kernels;
  counters.flops += kernel.flops;
  counters.moved_bytes += moved;
  count(cost);
  idle_until(launched.start_ns, OpClass::kHost, TimeLimit::kHost);
  const OpClass op_class = class_of(desc.kind);
  account.add_launch(op_class, moved);
  account.add_time(op_class, limit_of(kernel.unit, cost.limiter), cost.time_ns);
  accounted_ns = launched.end_ns;
  if (trace.recording()) {
    trace.add(event_of(kernel, desc, launched, Stream::kCompute, cost.limiter, memory));
  }
}

void Device::Impl::count_collective(const OpDesc& desc, const Launch& launched,
                                    std::uint64_t size_bytes) {
  const std::int64_t duration_ns = launched.end_ns - launched.start_ns;
  ++counters.ops;
  ++counters.kernels;
  counters.link_bytes += size_bytes;
  count({duration_ns, Limiter::kLink});
  counters.collective_ns += duration_ns;
  account.add_launch(OpClass::kCommunication, size_bytes);
  if (!trace.recording()) return;
  Kernel kernel;
  kernel.name = name(desc.kind);
  kernel.unit = KernelUnit::kLink;
  kernel.read_bytes = size_bytes;
  trace.add(event_of(kernel, desc, launched, Stream::kCommunication, Limiter::kLink, memory,
                     options.ranks));
}

// Runs the arithmetic and records it. start: when Device::run began.
void Device::Impl::profile_host(const OpDesc& desc, const Lowering& lowering,
                                HostProfile::Clock::time_point start,
                                const std::function<void()>& arithmetic) {
  const auto ns = [](HostProfile::Clock::duration time) {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(time).count();
  };
  const auto middle = HostProfile::Clock::now();
  if (mode == ExecutionMode::kExecute) arithmetic();
  const auto end = HostProfile::Clock::now();
  double flops = 0;
  std::uint64_t bytes = 0;
  for (const Kernel& kernel : lowering.kernels) {
    if (kernel.unit == KernelUnit::kMatrix || kernel.unit == KernelUnit::kAttention)
      flops += kernel.flops;
    bytes += kernel.read_bytes + kernel.write_bytes;
  }
  host_profile.add(desc, ns(end - middle), flops, bytes);
  host_profile.add_bookkeeping(ns(middle - start));
}

std::uint64_t SavedBlocks::size_bytes() const {
  std::uint64_t total = 0;
  for (const BlockHandle& block : blocks_) total += block.size_bytes();
  return total;
}

Device::Device(DeviceProfile profile, ExecutionMode mode, const DeviceOptions& options)
    : impl_(std::make_unique<Impl>(std::move(profile), mode, options)) {
  NB_CHECK(options.ranks >= 1 && options.index >= 0, "[device] index {}, ranks {}", options.index,
           options.ranks);
}

Device::~Device() { impl_->queue.reset(); }  // its values go back to the pool

Tensor Device::allocate(const Shape& shape, DType dtype, std::string_view name, Lifetime lifetime,
                        BlockUse use) {
  const auto count = static_cast<std::size_t>(shape.count());
  Tensor tensor;
  tensor.state_ = std::make_shared<Tensor::State>();
  Tensor::State& state = *tensor.state_;
  state.device = this;
  state.shape = shape;
  state.dtype = dtype;
  state.name = name;
  state.block = impl_->memory.allocate(count * storage_bytes(dtype), name, use);
  if (!executes()) return tensor;
  state.values = std::make_shared<HostValues>(*this, shape.leading(), shape.last());
  state.values->is_lasting = lifetime == Lifetime::kLasting;
  return tensor;
}

void Device::make_host_buffer(HostValues& values, bool in_bf16) {
  const auto count = static_cast<std::size_t>(values.count());
  const std::size_t floats = in_bf16 ? (count + 1) / 2 : count;
  values.buffer = values.is_lasting ? impl_->host.make(floats) : impl_->host.take(floats);
  values.is_bf16 = in_bf16;
}

HostQueue* Device::host_queue() const { return impl_->queue.get(); }
void Device::set_host_queue(std::unique_ptr<HostQueue> queue) { impl_->queue = std::move(queue); }
void Device::finish_host() {
  if (impl_->queue != nullptr) impl_->queue->finish();
}

SavedBlocks Device::run(const OpDesc& desc, const std::function<void()>& arithmetic) {
  Impl& d = *impl_;
  NB_CHECK(!is_collective(desc.kind), "[device] {} runs through a Communicator", name(desc.kind));
  const bool profiles = d.host_profile.recording();
  const auto start = profiles ? HostProfile::Clock::now() : HostProfile::Clock::time_point();
  const Lowering lowering = lower(desc, d.stack().software, d.stack().numerics);
  ++d.counters.ops;
  std::vector<BlockHandle> open(lowering.blocks.size());
  SavedBlocks saved;
  for (std::size_t k = 0; k < lowering.kernels.size(); ++k) {
    for (std::size_t b = 0; b < open.size(); ++b) {
      const LoweredBlock& block = lowering.blocks[b];
      if (block.first != k) continue;
      const bool is_kept = block.saved && desc.saves_for_backward;
      open[b] = d.memory.allocate(block.size_bytes, block.name,
                                  is_kept ? BlockUse::kActivation : BlockUse::kWorkspace);
    }
    d.launch(lowering.kernels[k], desc);
    for (std::size_t b = 0; b < open.size(); ++b) {
      const LoweredBlock& block = lowering.blocks[b];
      if (block.last != k) continue;
      if (block.saved && desc.saves_for_backward) saved.blocks_.push_back(std::move(open[b]));
      open[b].reset();
    }
  }
  if (lowering.waits) d.synchronize();
  if (desc.saves_for_backward) {
    const auto keep = [&](const Tensor* tensor) {
      if (tensor != nullptr && tensor->has_block() && !tensor->is_recomputed()) {
        saved.blocks_.push_back(tensor->block());
      }
    };
    for (std::size_t i = 0; i < desc.inputs.size(); ++i) {
      if ((lowering.saved_inputs >> i & 1) != 0) keep(desc.inputs[i]);
    }
    if (lowering.saves_output) keep(desc.output);
    if (lowering.recomputes_output && desc.output != nullptr)
      desc.output->state_->is_recomputed = true;
  }
  if (profiles) {
    d.profile_host(desc, lowering, start, arithmetic);
  } else if (executes()) {
    arithmetic();
  }
  return saved;
}

void Device::run_backward(const OpDesc& desc, SavedBlocks saved,
                          const std::function<void()>& arithmetic) {
  NB_CHECK(!desc.saves_for_backward, "[device] {}: a backward op saves nothing", name(desc.kind));
  run(desc, arithmetic);
  saved.free();
}

Device::Progress Device::progress() const {
  const Impl& d = *impl_;
  return {d.timeline.host_ns(), d.timeline.ahead_of_host(), d.counters, d.memory.stats(), d.account,
          d.accounted_ns};
}

bool Device::continues_as(const Progress& before) const {
  const MemoryStats& now = impl_->memory.stats();
  if (impl_->memory.rules().garbage_collection > 0)
    return false;  // blocks age from one to the next
  return now.allocated_bytes == before.memory.allocated_bytes &&
         now.reserved_bytes == before.memory.reserved_bytes &&
         now.segments_made == before.memory.segments_made && now.retries == before.memory.retries &&
         now.peak_allocated_bytes == before.memory.peak_allocated_bytes &&
         impl_->timeline.host_ns() - impl_->accounted_ns == before.host_ns - before.accounted_ns &&
         impl_->timeline.ahead_of_host() == before.ahead;
}

void Device::repeat(const Progress& before, std::int64_t rounds) {
  Impl& d = *impl_;
  NB_CHECK(!executes() && !d.trace.recording() && rounds >= 0,
           "[device] {} rounds are repeated on a device that executes or records", rounds);
  const std::int64_t shift_ns = rounds * (d.timeline.host_ns() - before.host_ns);
  d.timeline.shift(shift_ns);
  d.accounted_ns += shift_ns;
  d.account = repeated(d.account, before.account, rounds);
  const auto again = [rounds](auto& now, const auto& then) {
    using T = std::remove_reference_t<decltype(now)>;
    now += static_cast<T>(rounds) * (now - then);
  };
  DeviceCounters& c = d.counters;
  const DeviceCounters& b = before.counters;
  again(c.ops, b.ops), again(c.kernels, b.kernels), again(c.flops, b.flops);
  again(c.moved_bytes, b.moved_bytes), again(c.link_bytes, b.link_bytes);
  again(c.compute_limited_ns, b.compute_limited_ns);
  again(c.memory_limited_ns, b.memory_limited_ns);
  again(c.launch_limited_ns, b.launch_limited_ns);
  again(c.link_limited_ns, b.link_limited_ns);
  again(c.collective_ns, b.collective_ns);
  again(c.collective_wait_ns, b.collective_wait_ns);
}

void Device::synchronize() { impl_->synchronize(); }
void Device::host_work(std::int64_t time_ns) { impl_->timeline.advance_host(time_ns); }

std::int64_t Device::collective_ready_ns() const { return impl_->timeline.collective_ready_ns(); }

void Device::run_collective(const OpDesc& desc, std::int64_t start_ns, std::int64_t duration_ns,
                            std::uint64_t size_bytes) {
  Impl& d = *impl_;
  NB_CHECK(is_collective(desc.kind), "[device] {} is not a collective", name(desc.kind));
  // Compute waits for collectives before this one, for the launch, then for the other ranks.
  d.wait_for_collectives(d.timeline.stream_ns(Stream::kCommunication));
  d.idle_until(d.timeline.collective_ready_ns(), OpClass::kHost, TimeLimit::kHost);
  const Launch launched = d.timeline.collective(start_ns, duration_ns);
  d.wait_for_collectives(launched.end_ns);
  d.count_collective(desc, launched, size_bytes);
  d.counters.collective_wait_ns += duration_ns;
}

std::int64_t Device::run_collective_beside(const OpDesc& desc, std::int64_t duration_ns,
                                           std::uint64_t size_bytes) {
  Impl& d = *impl_;
  NB_CHECK(is_collective(desc.kind), "[device] {} is not a collective", name(desc.kind));
  const Launch launched = d.timeline.collective_beside(duration_ns);
  d.count_collective(desc, launched, size_bytes);
  return launched.end_ns;
}

void Device::wait_for(std::int64_t collective_end_ns) {
  Impl& d = *impl_;
  const std::int64_t waited = collective_end_ns - d.timeline.stream_ns(Stream::kCompute);
  d.counters.collective_wait_ns += std::max<std::int64_t>(waited, 0);
  d.timeline.wait_for(collective_end_ns);
  d.wait_for_collectives(collective_end_ns);
}

bool Device::executes() const { return impl_->mode == ExecutionMode::kExecute; }
Use Device::use() const { return impl_->use; }
void Device::set_use(Use use) { impl_->use = use; }
const NumericsPolicy& Device::numerics() const { return impl_->stack().numerics; }
const DeviceProfile& Device::profile() const { return impl_->profile; }
const DeviceOptions& Device::options() const { return impl_->options; }
std::int64_t Device::time_ns() const { return impl_->timeline.time_ns(); }
MemoryStats Device::memory() const { return impl_->memory.stats(); }
void Device::reset_memory_peaks() { impl_->memory.reset_peaks(); }
void Device::empty_cache() { impl_->memory.empty_cache(); }
const DeviceCounters& Device::counters() const { return impl_->counters; }
const TimeAccount& Device::account() const { return impl_->account; }
Trace& Device::trace() { return impl_->trace; }
HostProfile& Device::host_profile() { return impl_->host_profile; }
CachingAllocator& Device::allocator() { return impl_->memory; }

std::size_t Device::host_mallocs() const { return impl_->host.mallocs(); }

void Device::give_back_host(float* buffer) noexcept { impl_->host.give(buffer); }

Json Device::state() const {
  const Impl& d = *impl_;
  const Timeline::State clock = d.timeline.state();
  Json counters = Json::object();
  each_counter(d.counters, [&](const char* key, const auto& value) { counters[key] = value; });
  return {{"profile", d.profile.name()},
          {"clock",
           {{"host_ns", clock.host_ns},
            {"stream_ns", clock.stream_ns},
            {"submit_ns", clock.submit_ns},
            {"queue_ns", clock.queue}}},
          {"counters", std::move(counters)},
          {"memory", d.memory.state()}};
}

Result<void> Device::restore(const Json& state) {
  Impl& d = *impl_;
  Timeline::State clock;
  DeviceCounters counters;
  try {
    const auto profile = state.at("profile").get<std::string>();
    if (profile != d.profile.name()) {
      return bad_input(fmt::format("device state: saved on \"{}\", this run is on \"{}\"", profile,
                                   d.profile.name()));
    }
    const Json& saved = state.at("clock");
    saved.at("host_ns").get_to(clock.host_ns);
    saved.at("stream_ns").get_to(clock.stream_ns);
    clock.submit_ns = saved.value("submit_ns", clock.host_ns);  // absent: of an older checkpoint
    saved.at("queue_ns").get_to(clock.queue);
    each_counter(counters, [&](const char* key, auto& value) {
      const Json& kept = state.at("counters");  // an older checkpoint lacks some
      if (kept.contains(key)) kept.at(key).get_to(value);
    });
    NB_TRY_VOID(d.memory.restore(state.at("memory")));
  } catch (const Json::exception& e) {
    return bad_input(fmt::format("device state: damaged ({})", e.what()));
  }
  d.timeline.restore(clock);
  d.counters = counters;
  d.account = {};
  d.accounted_ns = d.timeline.stream_ns(Stream::kCompute);
  return {};
}

}  // namespace nb
