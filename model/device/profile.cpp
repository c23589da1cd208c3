#include "model/device/profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "harness/base/check.hpp"
#include "model/device/alloc_conf.hpp"
#include "model/device/embedded_profiles.hpp"
#include "model/device/node_links.hpp"
#include "model/device/numerics_file.hpp"
#include "model/device/op_desc.hpp"
#include "model/device/profile_layers.hpp"

namespace nb {
namespace {

constexpr double kMiB = 1024.0 * 1024.0;
constexpr double kGiB = 1024.0 * kMiB;

std::uint64_t to_bytes(const Quantity& quantity, double unit) {
  return static_cast<std::uint64_t>(quantity.value * unit);
}

Result<void> check_sources(const Json& json, const std::string& where, const std::string& pointer) {
  if (!json.is_object()) return {};
  for (const auto& [key, value] : json.items()) {
    if (key == "source" && value.is_string()) {
      const std::string problem = source_problem(value.get<std::string>());
      if (!problem.empty()) {
        return bad_input(fmt::format("{}: {}/source: {}", where, pointer, problem));
      }
    }
    NB_TRY_VOID(check_sources(value, where, fmt::format("{}/{}", pointer, key)));
  }
  return {};
}

// A policy that this machine can follow.
Result<void> check_numerics(const DeviceProfile& profile, const std::string& where) {
  const NumericsPolicy& numerics = profile.numerics;
  for (const auto& [key, dtype] : {std::pair{"matmul_inputs", numerics.matmul_inputs},
                                   std::pair{"linear_inputs", numerics.linear().inputs},
                                   std::pair{"muon_matmul", numerics.muon_matmul}}) {
    if (profile.matrix.peak.of(dtype)) continue;
    return bad_input(fmt::format("{}: /numerics/{}/value: the matrix unit of {} has no {}", where,
                                 key, profile.name(), name(dtype)));
  }
  const std::array products = {numerics.matmul_inputs, numerics.linear().inputs,
                               numerics.matmul_output, numerics.weight_gradient,
                               numerics.muon_matmul};
  if (numerics.accumulation == Accumulation::kHostBlas &&
      std::ranges::count(products, DType::kFp32) != std::ssize(products)) {
    return bad_input(
        fmt::format("{}: /numerics/accumulation/value: host_blas multiplies in fp32 only; set "
                    "matmul_inputs, matmul_output, weight_gradient and muon_matmul to fp32, or "
                    "accumulation to chain",
                    where));
  }
  for (const auto& [key, dtype] : {std::pair{"embedding_weight", numerics.embedding_weight},
                                   std::pair{"adam_moments", numerics.adam_moments}}) {
    if (dtype != DType::kFp16) continue;
    return bad_input(
        fmt::format("{}: /numerics/{}/value: in fp16 AdamW's epsilon of 1e-10 and the square of a "
                    "gradient below 2e-4 are 0, and the update is divided by them; take bf16 or "
                    "fp32",
                    where, key));
  }
  return {};
}

// What the fields alone cannot say.
Result<void> check_profile(const DeviceProfile& profile, const std::string& where) {
  std::vector<std::string> known;
  for (const OpKindInfo& info : op_kinds()) known.emplace_back(info.name);
  for (const std::string& op : profile.software.fused_operators.value) {
    if (std::find(known.begin(), known.end(), op) == known.end()) {
      return bad_input(fmt::format("{}: /software/fused_operators/value: no op \"{}\"{}", where, op,
                                   did_you_mean(op, known)));
    }
  }
  const auto share = [&](const Quantity& quantity, const char* pointer) -> Result<void> {
    if (quantity.value > 0 && quantity.value <= 1) return {};
    return bad_input(
        fmt::format("{}: {}: {} is not a share in (0, 1]", where, pointer, quantity.value));
  };
  NB_TRY_VOID(share(profile.matrix.efficiency, "/matrix/efficiency/value"));
  if (profile.matrix.sustained_clock)
    NB_TRY_VOID(share(*profile.matrix.sustained_clock, "/matrix/sustained_clock/value"));
  NB_TRY_VOID(share(profile.matrix.attention_efficiency, "/matrix/attention_efficiency/value"));
  const auto& backward = profile.matrix.attention_backward_efficiency;
  const bool exchanges = profile.matrix.attention_exchange.value > 0;
  if (exchanges == backward.has_value())
    return bad_input(fmt::format(
        "{}: /matrix: attention_backward_efficiency {}", where,
        exchanges ? "stands beside an attention_exchange, which it follows from; leave one away"
                  : "is missing; it follows from nothing without an attention_exchange"));
  if (backward) NB_TRY_VOID(share(*backward, "/matrix/attention_backward_efficiency/value"));
  NB_TRY_VOID(share(profile.memory.short_burst, "/memory/short_burst/value"));
  NB_TRY_VOID(share(profile.memory.main.efficiency, "/memory/main/efficiency/value"));
  NB_TRY_VOID(share(profile.memory.cache.efficiency, "/memory/cache/efficiency/value"));
  const auto positive = [&](const Quantity& quantity, const char* pointer) -> Result<void> {
    if (quantity.value > 0) return {};
    return bad_input(fmt::format("{}: {}: must be above 0", where, pointer));
  };
  NB_TRY_VOID(positive(profile.vector.peak, "/vector/peak/value"));
  NB_TRY_VOID(positive(profile.memory.main.bandwidth, "/memory/main/bandwidth/value"));
  NB_TRY_VOID(positive(profile.memory.cache.bandwidth, "/memory/cache/bandwidth/value"));
  NB_TRY_VOID(positive(profile.host_link.bandwidth, "/host_link/bandwidth/value"));
  NB_TRY_VOID(positive(profile.links.bandwidth, "/links/bandwidth/value"));
  if (const auto& conf = profile.software.alloc_conf)
    NB_TRY_VOID(parse_alloc_conf(conf->value, profile.software.out_of_memory.value,
                                 where + ": /software/alloc_conf/value"));
  return check_numerics(profile, where);
}

}  // namespace

SoftwareProfile SoftwareProfile::of(Use use) const {
  SoftwareProfile software = *this;
  if (use == Use::kScore) software.mode = score_mode;
  if (use == Use::kGenerate) software.mode = generate_mode;
  if (use == Use::kTune) software.mode = tune_mode;
  return software;
}

bool SoftwareProfile::fuses(std::string_view op) const {
  const std::vector<std::string>& ops = fused_operators.value;
  return std::find(ops.begin(), ops.end(), op) != ops.end();
}

AllocatorRules DeviceProfile::allocator_rules() const {
  AllocatorRules rules;
  rules.padding_bytes = software.padding.bytes();
  rules.rounding_bytes = software.rounding.bytes();
  rules.small_limit_bytes = software.small_limit.bytes();
  rules.small_segment_bytes = software.small_segment.bytes();
  rules.large_segment_bytes = software.large_segment.bytes();
  rules.large_limit_bytes = software.large_limit.bytes();
  rules.large_rounding_bytes = software.large_rounding.bytes();
  rules.large_split_remainder_bytes = software.large_split_remainder.bytes();
  rules.expandable_segments = software.expandable_segments.value;
  rules.words = software.out_of_memory.value;
  if (!software.alloc_conf) return rules;
  const auto conf = parse_alloc_conf(software.alloc_conf->value, rules.words, "alloc_conf");
  NB_CHECK(conf.has_value(), "[profile] {}: {}", name(), conf.error().message);
  return with_alloc_conf(rules, *conf);
}

HostTimes DeviceProfile::host_times() const {
  HostTimes times = {.dispatch_ns = launch.host_dispatch.whole(),
                     .backward_ns = launch.host_dispatch_backward.whole(),
                     .collective_ns = launch.collective_dispatch.whole(),
                     .submit_ns = launch.submit.whole(),
                     .synchronize_ns = launch.synchronize.whole(),
                     .queue_depth = launch.queue_depth.whole(),
                     .is_blocking = software.launch_blocking.value};
  // Blocking launches go without the queue.
  const TaskQueue queue = times.is_blocking ? TaskQueue::kOff : software.task_queue.value;
  std::int64_t moved = 0;  // from the first stage to the second
  if (queue == TaskQueue::kOff) moved = -times.submit_ns;
  if (queue == TaskQueue::kWorkspace)
    moved = std::min({launch.workspace.whole(), times.dispatch_ns, times.backward_ns});
  times.submit_ns += moved;
  for (std::int64_t* stage : {&times.dispatch_ns, &times.backward_ns, &times.collective_ns})
    *stage -= std::min(moved, *stage);
  return times;
}

MemoryBudget DeviceProfile::memory_budget(int ranks) const {
  MemoryBudget budget;
  budget.capacity_bytes = to_bytes(memory.usable, kGiB);
  budget.reserve_bytes = to_bytes(software.driver_reserve, kMiB);
  if (ranks > 1) budget.reserve_bytes += to_bytes(software.communicator_buffers, kMiB);
  return budget;
}

Result<DeviceProfile> parse_profile(const Json& json, const std::string& where) {
  DeviceProfile profile;
  NumericsFile numerics;
  std::optional<NodeLinkProfile> between_nodes;  // checked here, read by parse_node_links()
  const FieldRules required{.required = true};
  const FieldList fields = {
      {"stack", "name of the software stack, if it came from a file", &profile.stack},
      {"family", "name of its fitted constants, if they came from a file", &profile.family},
      {"identity", "what it is", object(&profile.identity), required},
      {"matrix", "matrix unit", object(&profile.matrix), required},
      {"vector", "vector unit", object(&profile.vector), required},
      {"memory", "memory levels", object(&profile.memory), required},
      {"launch", "kernel launches", object(&profile.launch), required},
      {"host_link", "host to device", object(&profile.host_link), required},
      {"links", "device to device", object(&profile.links), required},
      {"between_nodes", "node to node; absent: one node alone", object(&between_nodes)},
      {"software", "software stack", object(&profile.software), required},
      {"numerics", "which bits an op produces", object(&numerics), required},
      {"calibration", "what was fitted on what", object(&profile.calibration), required},
  };
  NB_TRY_VOID(parse_fields(fields, json, where));
  NB_TRY_VOID(check_sources(json, where, ""));
  if (numerics.split_k.value != std::floor(numerics.split_k.value) ||
      numerics.split_k.value > 1e6) {
    return bad_input(fmt::format("{}: /numerics/split_k/value: {} is not a number of parts", where,
                                 numerics.split_k.value));
  }
  profile.numerics = numerics.policy();
  profile.numerics_card = numerics.card();
  profile.numerics_of = profile.identity.name;
  NB_TRY_VOID(check_profile(profile, where));
  if (between_nodes)
    NB_TRY_VOID(check_node_links(
        *between_nodes, profile.links.algorithm.value == CollectiveAlgorithm::kRing, where));
  return profile;
}

Result<Json> load_profile_json(const std::string& name_or_path,
                               const std::optional<std::string>& stack) {
  if (name_or_path.ends_with(".json")) {
    NB_TRY(const Json json, read_json(name_or_path));
    return compose_profile(json, name_or_path, stack);
  }
  for (const EmbeddedFile& file : embedded_profiles()) {
    if (file.name != name_or_path) continue;
    const std::string where = fmt::format("model/device/profiles/{}.json", name_or_path);
    NB_TRY(const Json json, parse_json(file.text, where));
    return compose_profile(json, where, stack);
  }
  const std::vector<std::string> names = profile_names();
  return bad_input(
      fmt::format("no device \"{}\"{} (known: {}; or the path of a profile that ends in .json)",
                  name_or_path, did_you_mean(name_or_path, names), fmt::join(names, ", ")));
}

Result<DeviceProfile> load_profile(const std::string& name_or_path,
                                   const std::optional<std::string>& stack) {
  NB_TRY(const Json json, load_profile_json(name_or_path, stack));
  if (name_or_path.ends_with(".json")) return parse_profile(json, name_or_path);
  const std::string where = fmt::format("model/device/profiles/{}.json", name_or_path);
  NB_TRY(DeviceProfile profile, parse_profile(json, where));
  if (profile.name() != name_or_path) {
    return bad_input(fmt::format("{}: /identity/name: is \"{}\"", where, profile.name()));
  }
  return profile;
}

std::vector<std::string> profile_names() {
  std::vector<std::string> names;
  for (const EmbeddedFile& profile : embedded_profiles()) names.emplace_back(profile.name);
  std::sort(names.begin(), names.end());
  return names;
}

std::string profile_text(std::string_view name) {
  const auto json = load_profile_json(std::string(name));
  if (!json) return {};
  const auto text = dump_json(*json);
  return text ? *text : "";
}

Result<DeviceProfile> with_numerics(DeviceProfile profile, const DeviceProfile& policy) {
  profile.numerics = policy.numerics;
  profile.numerics_card = policy.numerics_card;
  profile.numerics_of = policy.numerics_of;
  NB_TRY_VOID(check_numerics(profile, policy.numerics_of));
  return profile;
}

}  // namespace nb
