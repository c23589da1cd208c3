#include "harness/profiler/verdicts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "harness/base/check.hpp"
#include "harness/profiler/add_time.hpp"
#include "harness/profiler/tables.hpp"
#include "harness/profiler/time_text.hpp"

namespace nb::profiler {
namespace {

constexpr std::string_view kOurs = "npubench: what is worth a look first";
constexpr std::string_view kAnalyze = "Ascend/msprof-analyze@8399c1cdd2ae";

constexpr Threshold kThresholds[] = {
    {"not_the_network", "transfer_share", 0.2, "of a collective's time, at most", kOurs},
    {"not_the_network", "communication_share", 0.05, "of the step, at least", kOurs},
    {"late_rank", "wait_share", 0.5, "of the time in collectives, at least", kOurs},
    {"slow_transfer", "transfer_share", 0.5, "of the time in collectives, at least", kOurs},
    {"host_limits", "share", 0.3, "of the step, at least", kOurs},
    {"layout", "share", 0.1, "of compute, at least", kOurs},
    {"slow_sibling", "ratio", 1.5, "of its sibling's rate, at least", kOurs},
    {"slow_sibling", "share", 0.02, "of compute, at least", kOurs},
    {"small_packets", "share", 0.2, "of bytes in small packets, more than", kAnalyze},
    {"sdma_rate", "gbs", 14.4, "GB/s (18 x 0.8), below", kAnalyze},
    {"retransmission", "elapse_s", 4, "s, more than", kAnalyze},
    {"retransmission", "transfer_share", 0.1, "of it, at most", kOurs},
    {"synchronize", "share", 0.5, "of the host's API time, more than", kAnalyze},
    {"ai_cpu", "share", 0.01, "of compute, at least", kOurs},
    {"slow_rank", "over_mean", 0.05, "above the ranks' mean computing, more than", kAnalyze},
    {"slow_link", "share", 0.8, "of the median rate of its kind, below", kAnalyze},
    {"loader", "ms", 10, "ms, more than", kAnalyze},
    {"garbage", "ms", 1, "ms, more than", kAnalyze},
};

using Numbers = std::vector<std::pair<std::string, double>>;

struct Scene {
  const Profile& profile;
  const RankFigures& one;
  std::vector<Verdict>& verdicts;

  void add(std::string id, VerdictState state, std::vector<std::string> arguments,
           std::optional<Said> remedy, Numbers numbers) const {
    Said said{"verdict." + id, std::move(arguments)};
    verdicts.push_back(
        {std::move(id), state, std::move(said), std::move(remedy), std::move(numbers)});
  }
};

// Who is late, or the link; true: the collectives wait for other ranks more than for anything.
bool judge_collectives(const Scene& scene) {
  const CollectiveFigures& sum = scene.one.collective;
  if (sum.elapse_ns <= 0 || !scene.one.has_parts()) return false;
  const double transfer = share(sum.transfer_ns, sum.elapse_ns);
  const double wait = share(sum.wait_ns, sum.elapse_ns);
  const Numbers numbers = {{"elapse_ms", ms(sum.elapse_ns)}, {"transfer_ms", ms(sum.transfer_ns)},
                           {"wait_ms", ms(sum.wait_ns)},     {"idle_ms", ms(sum.idle_ns)},
                           {"transfer_share", transfer},     {"wait_share", wait}};
  if (wait >= threshold("late_rank", "wait_share") && sum.wait_ns > sum.idle_ns) {
    scene.add("late_rank", VerdictState::kWarn,
              {milliseconds_text(sum.elapse_ns), milliseconds_text(sum.wait_ns),
               fmt::format("{:.0f} %", wait * 100), milliseconds_text(sum.idle_ns),
               milliseconds_text(sum.transfer_ns)},
              Said{"remedy.late_rank"}, numbers);
    return true;
  }
  if (share(scene.one.parts().communication_ns(), scene.one.parts().stage_ns) <
      threshold("not_the_network", "communication_share"))
    return false;
  if (transfer <= threshold("not_the_network", "transfer_share") && sum.idle_ns >= sum.wait_ns)
    scene.add("not_the_network", VerdictState::kNote, {percent_text(transfer)}, std::nullopt,
              numbers);
  if (transfer >= threshold("slow_transfer", "transfer_share"))
    scene.add("slow_transfer", VerdictState::kNote,
              {percent_text(transfer), milliseconds_text(sum.transfer_ns)}, std::nullopt, numbers);
  return false;
}

void judge_host(const Scene& scene, bool is_late) {
  if (is_late || !scene.one.has_parts()) return;
  const Parts& parts = scene.one.parts();
  const std::int64_t idle_ns = scene.one.collective.idle_ns;
  const std::int64_t all_ns = idle_ns + parts.free_ns;
  if (share(all_ns, parts.stage_ns) < threshold("host_limits", "share")) return;
  const std::int64_t count = scene.one.compute_count;
  const double mean_us =
      count > 0 ? static_cast<double>(scene.one.compute_sum_ns) / 1e3 / static_cast<double>(count)
                : 0;
  const Numbers numbers = {{"all_ms", ms(all_ns)},
                           {"idle_in_collectives_ms", ms(idle_ns)},
                           {"free_ms", ms(parts.free_ns)},
                           {"kernels", static_cast<double>(count)},
                           {"mean_kernel_us", mean_us},
                           {"short_kernels", static_cast<double>(scene.one.short_count)}};
  scene.add("host_limits", VerdictState::kWarn,
            {milliseconds_text(all_ns), milliseconds_text(idle_ns),
             milliseconds_text(parts.free_ns), std::to_string(count),
             fmt::format("{:.0f}", mean_us), std::to_string(scene.one.short_count)},
            Said{scene.profile.is_gpu ? "remedy.host_gpu" : "remedy.host_npu"}, numbers);
}

void judge_layout(const Scene& scene) {
  const ClassFigures& layout = scene.one.classes[static_cast<std::size_t>(OpClass::kLayout)];
  const double of_compute = share(layout.total_ns, scene.one.compute_sum_ns);
  if (of_compute < threshold("layout", "share")) return;
  // The type that takes most of it.
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> types;
  for (const std::size_t i : scene.one.kernels) {
    const Kernel& kernel = scene.one.rank->kernels[i];
    if (kernel.op_class != OpClass::kLayout) continue;
    std::string type = scene.profile.texts[kernel.type];
    if (type.empty())
      type = scene.profile.is_gpu ? scene.profile.texts[kernel.name]
                                  : std::string(type_in_name(scene.profile.texts[kernel.name]));
    auto& [count, total] = types[type];
    ++count;
    total += kernel.duration_ns;
  }
  const auto most =
      std::ranges::max_element(types, {}, [](const auto& one) { return one.second.second; });
  const std::string name = most->first.substr(0, 60);
  scene.add("layout", VerdictState::kWarn,
            {percent_text(of_compute), name, std::to_string(most->second.first),
             milliseconds_text(most->second.second, 2)},
            name == "TransData" ? std::optional(Said{"remedy.layout"}) : std::nullopt,
            {{"share", of_compute}, {"total_ms", ms(layout.total_ns)}});
}

void judge_siblings(const Scene& scene) {
  const std::vector<KernelGroup> groups = kernel_groups(scene.profile, scene.one);
  const KernelGroup* worst = nullptr;
  double worst_loss = 0;
  for (const KernelGroup& group : groups) {
    const OpClass op_class = scene.one.rank->kernels[group.example].op_class;
    if (op_class != OpClass::kMatmul && op_class != OpClass::kAttention) continue;
    if (group.ratio < threshold("slow_sibling", "ratio") ||
        share(group.total_ns, scene.one.compute_sum_ns) < threshold("slow_sibling", "share"))
      continue;
    const double loss = static_cast<double>(group.total_ns) * (1 - 1 / group.ratio);
    if (loss > worst_loss) {
      worst_loss = loss;
      worst = &group;
    }
  }
  if (worst == nullptr) return;
  const Kernel& kernel = scene.one.rank->kernels[worst->example];
  std::int32_t cores = 0;
  for (const std::size_t i : scene.one.kernels) {
    const Kernel& other = scene.one.rank->kernels[i];
    if (other.core == kernel.core) cores = std::max(cores, other.block_dim);
  }
  const double own = rate_of(*worst) / 1000, best = own * worst->ratio;
  const std::string full = scene.profile.texts[kernel.name];
  scene.add(
      "slow_sibling", VerdictState::kWarn,
      {full.substr(0, full.find('_')),
       fmt::format("{:.1f}",
                   static_cast<double>(worst->total_ns) / 1e3 / static_cast<double>(worst->count)),
       fmt::format("{:.0f}", worst->work.largest_input_bytes / 1e6), fmt::format("{:.2f}", own),
       fmt::format("{:.2f}", best), fmt::format("{:.1f}", worst->ratio),
       std::to_string(kernel.block_dim), std::to_string(cores)},
      std::nullopt,
      {{"tbs", own},
       {"sibling_tbs", best},
       {"ratio", worst->ratio},
       {"block_dim", kernel.block_dim},
       {"largest_block_dim", cores}});
}

void judge_links(const Scene& scene) {
  std::int64_t small = 0, slow = 0, counted = 0;
  double worst_share = 0, worst_rate = 1e9;
  for (const Collective& one : scene.one.rank->collectives) {
    if (one.elapse_ns > static_cast<std::int64_t>(threshold("retransmission", "elapse_s") * 1e9) &&
        share(one.transfer_ns, one.elapse_ns) < threshold("retransmission", "transfer_share"))
      scene.add("retransmission", VerdictState::kWarn,
                {one.name, milliseconds_text(one.elapse_ns), milliseconds_text(one.transfer_ns)},
                Said{"remedy.retransmission"},
                {{"elapse_ms", ms(one.elapse_ns)}, {"transfer_ms", ms(one.transfer_ns)}});
    for (const LinkUse& use : one.links) {
      if (use.link != "SDMA" && use.link != "RDMA") continue;
      ++counted;
      // SDMA has no size distribution of its own: that of the links below it.
      double share_of_small = use.small_share;
      if (use.link == "SDMA")
        for (const LinkUse& below : one.links)
          if (below.link == "HCCS") share_of_small = below.small_share;
      if (share_of_small > threshold("small_packets", "share")) {
        ++small;
        worst_share = std::max(worst_share, share_of_small);
      }
      if (use.link == "SDMA" && use.gigabytes_per_s > 0 &&
          use.gigabytes_per_s < threshold("sdma_rate", "gbs")) {
        ++slow;
        worst_rate = std::min(worst_rate, use.gigabytes_per_s);
      }
    }
  }
  if (small > 0)
    scene.add("small_packets", VerdictState::kWarn,
              {std::to_string(small), std::to_string(counted), percent_text(worst_share)},
              Said{"remedy.small_packets"},
              {{"collectives", static_cast<double>(small)}, {"largest_share", worst_share}});
  if (slow > 0)
    scene.add("sdma_rate", VerdictState::kWarn,
              {std::to_string(slow), std::to_string(counted), fmt::format("{:.2f}", worst_rate)},
              std::nullopt,
              {{"collectives", static_cast<double>(slow)}, {"slowest_gbs", worst_rate}});
}

void judge_api(const Scene& scene) {
  std::int64_t all = 0, waiting = 0;
  for (const auto& [name, call] : scene.one.rank->apis) {
    add_time(all, call.total_ns);
    if (name.find("SynchronizeStream") != name.npos) add_time(waiting, call.total_ns);
  }
  if (share(waiting, all) > threshold("synchronize", "share"))
    scene.add("synchronize", VerdictState::kWarn,
              {percent_text(share(waiting, all)), milliseconds_text(waiting)},
              Said{"remedy.synchronize"}, {{"share", share(waiting, all)}});
  const auto blocking = scene.one.rank->environment.find("ASCEND_LAUNCH_BLOCKING");
  if (blocking != scene.one.rank->environment.end() && blocking->second == "1")
    scene.add("launch_blocking", VerdictState::kWarn, {}, Said{"remedy.launch_blocking"}, {});
  const ClassFigures& ai_cpu = scene.one.classes[static_cast<std::size_t>(OpClass::kAiCpu)];
  const double of_compute = share(ai_cpu.total_ns, scene.one.compute_sum_ns);
  if (ai_cpu.count > 0 && of_compute >= threshold("ai_cpu", "share")) {
    std::vector<std::string> names;
    for (const std::size_t i : scene.one.kernels) {
      const Kernel& kernel = scene.one.rank->kernels[i];
      const std::string& type = scene.profile.texts[kernel.type == 0 ? kernel.name : kernel.type];
      if (kernel.op_class == OpClass::kAiCpu && std::ranges::find(names, type) == names.end() &&
          names.size() < 5)
        names.push_back(type);
    }
    scene.add("ai_cpu", VerdictState::kWarn,
              {std::to_string(ai_cpu.count), milliseconds_text(ai_cpu.total_ns, 2),
               percent_text(of_compute), fmt::format("{}", fmt::join(names, ", "))},
              Said{"remedy.ai_cpu"}, {{"share", of_compute}});
  }
  std::int64_t loader = 0;
  for (const StepWindow& one : scene.one.rank->loading)
    loader = std::max(loader, one.end_ns - one.start_ns);
  if (ms(loader) > threshold("loader", "ms"))
    scene.add("loader", VerdictState::kWarn, {milliseconds_text(loader)}, Said{"remedy.loader"},
              {{"longest_ms", ms(loader)}});
  std::int64_t longest = 0, sum = 0, count = 0;
  for (const StepWindow& one : scene.one.rank->collecting) {
    const std::int64_t time_ns = one.end_ns - one.start_ns;
    if (ms(time_ns) <= threshold("garbage", "ms")) continue;
    longest = std::max(longest, time_ns);
    sum += time_ns;
    ++count;
  }
  if (count > 0)
    scene.add("garbage", VerdictState::kWarn,
              {milliseconds_text(longest), std::to_string(count), milliseconds_text(sum)},
              Said{"remedy.garbage"},
              {{"longest_ms", ms(longest)}, {"count", static_cast<double>(count)}});
}

void judge_ranks(const Profile& profile, std::span<const RankFigures> all,
                 std::vector<Verdict>& verdicts) {
  const Scene scene{profile, all.front(), verdicts};
  double mean = 0;
  std::size_t count = 0;
  for (const RankFigures& one : all)
    if (one.has_parts()) {
      mean += static_cast<double>(one.parts().computing_ns);
      ++count;
    }
  if (count >= 2) {
    mean /= static_cast<double>(count);
    for (const RankFigures& one : all) {
      if (!one.has_parts() || mean <= 0) continue;
      const double over = static_cast<double>(one.parts().computing_ns) / mean - 1;
      if (over > threshold("slow_rank", "over_mean"))
        scene.add("slow_rank", VerdictState::kWarn,
                  {std::to_string(one.rank->rank), percent_text(over),
                   milliseconds_text(one.parts().computing_ns), fmt::format("{:.1f}", mean / 1e6)},
                  std::nullopt,
                  {{"rank", static_cast<double>(one.rank->rank)}, {"over_mean", over}});
    }
  }
  struct Pair {
    double megabytes = 0;
    std::int64_t time_ns = 0;
  };
  std::map<std::string, std::map<std::pair<std::int64_t, std::int64_t>, Pair>> kinds;
  for (const RankFigures& one : all)
    for (const PairUse& use : one.rank->pairs) {
      if (use.link == "LOCAL") continue;
      Pair& pair = kinds[use.link][{use.from, use.to}];
      pair.megabytes += use.megabytes;
      add_time(pair.time_ns, use.time_ns);
    }
  for (const auto& [kind, pairs] : kinds) {
    std::vector<double> rates;
    const auto rate = [](const Pair& pair) {
      return pair.time_ns > 0 ? pair.megabytes * 1e6 / static_cast<double>(pair.time_ns) : 0;
    };
    for (const auto& [ends, pair] : pairs)
      if (rate(pair) > 0) rates.push_back(rate(pair));
    if (rates.size() < 3) continue;
    std::ranges::sort(rates);
    const double median = rates[rates.size() / 2];
    for (const auto& [ends, pair] : pairs)
      if (rate(pair) > 0 && rate(pair) < threshold("slow_link", "share") * median)
        scene.add("slow_link", VerdictState::kWarn,
                  {kind, std::to_string(ends.first), std::to_string(ends.second),
                   fmt::format("{:.2f}", rate(pair)), fmt::format("{:.2f}", median)},
                  std::nullopt,
                  {{"from", static_cast<double>(ends.first)},
                   {"to", static_cast<double>(ends.second)},
                   {"gbs", rate(pair)},
                   {"median_gbs", median}});
  }
}

}  // namespace

std::span<const Threshold> thresholds() { return kThresholds; }

double threshold(std::string_view verdict, std::string_view name) {
  for (const Threshold& one : kThresholds)
    if (one.verdict == verdict && one.name == name) return one.value;
  NB_CHECK(false, "[profiler] no threshold {} of {}", name, verdict);
}

std::vector<Verdict> verdicts_of(const Profile& profile, std::span<const RankFigures> all) {
  std::vector<Verdict> verdicts;
  if (all.empty()) return verdicts;
  const Scene scene{profile, all.front(), verdicts};
  const bool is_late = judge_collectives(scene);
  judge_host(scene, is_late);
  judge_layout(scene);
  judge_siblings(scene);
  judge_links(scene);
  judge_api(scene);
  judge_ranks(profile, all, verdicts);
  return verdicts;
}

}  // namespace nb::profiler
