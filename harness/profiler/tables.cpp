#include "harness/profiler/tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "harness/base/table.hpp"
#include "harness/profiler/add_time.hpp"
#include "harness/profiler/time_text.hpp"

namespace nb::profiler {
namespace {

Cell known(double value) { return value >= 0 ? Cell(value) : Cell(); }

constexpr std::int64_t kAgreeNs = 100;         // file and kernels: 0.1 µs
constexpr std::int64_t kFileRoundingNs = 300;  // parts of a step in the file: 0.3 µs

// The unit that was busiest: 0 none, 1 cube, 2 loads, 3 vector.
int busiest(const Kernel& kernel) {
  int at = 0;
  float most = 0;
  int i = 0;
  for (const float share_of_time : {kernel.mac, kernel.mte2, kernel.vector}) {
    ++i;
    if (share_of_time > most) {
      most = share_of_time;
      at = i;
    }
  }
  return at;
}

std::string name_or_type(const Profile& profile, const Kernel& kernel) {
  return profile.texts[kernel.name];
}

}  // namespace

std::string bound_of(const Kernel& kernel) {
  constexpr float kCompute = 0.8F, kMemory = 0.95F;
  if (kernel.mac < 0 && kernel.mte2 < 0 && kernel.vector < 0) return "";
  if (kernel.mac >= kCompute) return "compute";
  if (kernel.mte2 >= kMemory) return "memory";
  if (kernel.vector >= kCompute) return "vector";
  return "none";
}

double rate_of(const KernelGroup& group) {
  if (group.work.bytes <= 0 || group.total_ns <= 0) return 0;
  return group.work.bytes * static_cast<double>(group.count) / static_cast<double>(group.total_ns);
}

std::vector<KernelGroup> kernel_groups(const Profile& profile, const RankFigures& figures) {
  const Rank& rank = *figures.rank;
  std::map<std::tuple<TextId, TextId, TextId, TextId, TextId>, std::size_t> at;
  std::vector<KernelGroup> groups;
  for (const std::size_t i : figures.kernels) {
    const Kernel& kernel = rank.kernels[i];
    if (!computes(kernel.op_class)) continue;
    const auto [found, is_new] = at.try_emplace(
        {kernel.name, kernel.input_shapes, kernel.output_shapes, kernel.data_types, kernel.label},
        groups.size());
    if (is_new) {
      KernelGroup& fresh = groups.emplace_back();
      fresh.example = i;
      fresh.shortest_ns = kernel.duration_ns;
      fresh.work = work_of(kernel, profile.texts);
    }
    KernelGroup& group = groups[found->second];
    ++group.count;
    group.total_ns += kernel.duration_ns;
    group.shortest_ns = std::min(group.shortest_ns, kernel.duration_ns);
  }
  std::ranges::stable_sort(
      groups, [](const KernelGroup& a, const KernelGroup& b) { return a.total_ns > b.total_ns; });
  // The best of a type, and of the first operand's data type.
  const auto kin_of = [&](const KernelGroup& group) {
    const Kernel& kernel = rank.kernels[group.example];
    const std::string& types = profile.texts[kernel.data_types];
    return std::tuple(kernel.type, kernel.op_class, types.substr(0, types.find(';')));
  };
  std::map<std::tuple<TextId, OpClass, std::string>, double> best;
  for (KernelGroup& group : groups)
    if (busiest(rank.kernels[group.example]) == 2 && rate_of(group) > 0) {
      double& rate = best[kin_of(group)];
      rate = std::max(rate, rate_of(group));
    }
  for (KernelGroup& group : groups)
    if (busiest(rank.kernels[group.example]) == 2 && rate_of(group) > 0)
      group.ratio = best[kin_of(group)] / rate_of(group);
  return groups;
}

Table steps_table(const Profile&, std::span<const RankFigures> all) {
  Table table{"steps",
              {{"rank", Unit::kCount},
               {"step", Unit::kText},
               {"from", Unit::kWord},
               {"stage", Unit::kTime},
               {"computing", Unit::kTime},
               {"computing_share", Unit::kShare, true},
               {"not_overlapped", Unit::kTime},
               {"not_overlapped_share", Unit::kShare, true},
               {"overlapped", Unit::kTime, true},
               {"communication", Unit::kTime, true},
               {"copies", Unit::kTime, true},
               {"free", Unit::kTime},
               {"free_share", Unit::kShare, true},
               {"bubble", Unit::kTime, true}},
              {},
              {}};
  for (const RankFigures& one : all) {
    const auto add = [&](const Parts& parts, const char* from) {
      table.rows.push_back({one.rank->rank, one.step, std::string(from), parts.stage_ns,
                            parts.computing_ns, share(parts.computing_ns, parts.stage_ns),
                            parts.not_overlapped_ns, share(parts.not_overlapped_ns, parts.stage_ns),
                            parts.overlapped_ns, parts.communication_ns(), parts.copies_ns,
                            parts.free_ns, share(parts.free_ns, parts.stage_ns), parts.bubble_ns});
      if (std::abs(parts.defect_ns()) > kFileRoundingNs)
        table.notes.push_back(
            {"note.parts_defect",
             {std::to_string(one.rank->rank), one.step, microseconds_text(parts.defect_ns())}});
    };
    if (one.from_file) add(*one.from_file, "from.file");
    if (one.from_kernels) add(*one.from_kernels, "from.kernels");
    if (!one.from_file || !one.from_kernels) continue;
    const std::int64_t computing = one.from_kernels->computing_ns - one.from_file->computing_ns;
    const std::int64_t free = one.from_kernels->free_ns - one.from_file->free_ns;
    if (std::abs(computing) > kAgreeNs || std::abs(free) > kAgreeNs)
      table.notes.push_back({"note.disagree",
                             {std::to_string(one.rank->rank), one.step,
                              microseconds_text(one.from_file->computing_ns),
                              microseconds_text(one.from_kernels->computing_ns),
                              microseconds_text(one.from_file->free_ns),
                              microseconds_text(one.from_kernels->free_ns)}});
  }
  return table;
}

Table classes_table(std::span<const RankFigures> all) {
  Table table{"classes",
              {{"rank", Unit::kCount},
               {"class", Unit::kWord},
               {"count", Unit::kCount},
               {"total", Unit::kTime},
               {"share", Unit::kShare},
               {"mean", Unit::kTime},
               {"shortest", Unit::kTime, true},
               {"longest", Unit::kTime}},
              {},
              {}};
  for (const RankFigures& one : all) {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < kOpClasses; ++i)
      if (one.classes[i].count > 0) order.push_back(i);
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
      return one.classes[a].total_ns > one.classes[b].total_ns;
    });
    for (const std::size_t i : order) {
      const ClassFigures& figures = one.classes[i];
      const auto op_class = static_cast<OpClass>(i);
      table.rows.push_back(
          {one.rank->rank, std::string(name(op_class)), figures.count, figures.total_ns,
           computes(op_class) ? Cell(share(figures.total_ns, one.compute_sum_ns)) : Cell(),
           figures.total_ns / figures.count, figures.shortest_ns, figures.longest_ns});
    }
    if (!one.kernels.empty()) {
      const std::int64_t both_ns = one.compute_sum_ns + one.communication_sum_ns;
      const ClassFigures& moving = one.classes[static_cast<std::size_t>(OpClass::kCommunication)];
      table.notes.push_back(
          {"note.kernels",
           {std::to_string(one.rank->rank), with_commas(one.compute_count + moving.count),
            microseconds_text(both_ns), with_commas(one.compute_count),
            microseconds_text(one.compute_sum_ns), with_commas(moving.count),
            microseconds_text(one.communication_sum_ns),
            percent_text(share(one.communication_sum_ns, both_ns))}});
    }
    const std::int64_t other = one.classes[static_cast<std::size_t>(OpClass::kOther)].total_ns;
    if (share(other, one.compute_sum_ns) >= 0.05)
      table.notes.push_back({"note.unmatched", {percent_text(share(other, one.compute_sum_ns))}});
  }
  return table;
}

Table types_table(const Profile& profile, std::span<const RankFigures> all) {
  Table table{"types",
              {{"rank", Unit::kCount},
               {"type", Unit::kText},
               {"class", Unit::kWord, true},
               {"count", Unit::kCount},
               {"total", Unit::kTime},
               {"share", Unit::kShare},
               {"listed", Unit::kTime}},
              {},
              {},
              10};
  for (const RankFigures& one : all) {
    struct Sum {
      OpClass op_class = OpClass::kOther;
      std::int64_t count = 0, total_ns = 0;
    };
    std::map<std::string, Sum> types;
    for (const std::size_t i : one.kernels) {
      const Kernel& kernel = one.rank->kernels[i];
      const std::string& type = profile.texts[kernel.type];
      if (!computes(kernel.op_class) || type.empty() || type == "N/A") continue;
      Sum& sum = types[type];
      sum.op_class = kernel.op_class;
      ++sum.count;
      sum.total_ns += kernel.duration_ns;
    }
    if (types.empty()) continue;
    std::vector<std::pair<std::string, Sum>> order(types.begin(), types.end());
    std::ranges::stable_sort(
        order, [](const auto& a, const auto& b) { return a.second.total_ns > b.second.total_ns; });
    const auto& listed = one.rank->op_statistic_ns;
    std::int64_t listed_ns = 0;
    for (const auto& [type, sum] : order) {
      const auto found = listed.find(type);
      if (found != listed.end()) add_time(listed_ns, found->second);
      table.rows.push_back({one.rank->rank, type, std::string(name(sum.op_class)), sum.count,
                            sum.total_ns, share(sum.total_ns, one.compute_sum_ns),
                            found != listed.end() ? Cell(found->second) : Cell()});
    }
    if (!listed.empty())
      table.notes.push_back({"note.op_statistic",
                             {std::to_string(one.rank->rank), microseconds_text(listed_ns),
                              microseconds_text(one.compute_sum_ns)}});
  }
  return table;
}

Table kernels_table(const Profile& profile, const RankFigures& figures, std::size_t top) {
  Table table{"kernels",
              {{"name", Unit::kText},
               {"type", Unit::kText, true},
               {"class", Unit::kWord, true},
               {"shapes", Unit::kText, true},
               {"data_types", Unit::kText, true},
               {"count", Unit::kCount},
               {"total", Unit::kTime},
               {"share", Unit::kShare},
               {"mean", Unit::kTime, true},
               {"flop", Unit::kFlop, true},
               {"bytes", Unit::kBytes, true},
               {"tflops", Unit::kTflops},
               {"tbs", Unit::kTbs},
               {"bound", Unit::kWord},
               {"sibling_ratio", Unit::kRatio},
               {"l2_hit", Unit::kShare, true},
               {"block_dim", Unit::kCount, true}},
              {},
              {},
              top};
  for (const KernelGroup& group : kernel_groups(profile, figures)) {
    const Kernel& kernel = figures.rank->kernels[group.example];
    const double mean_ns = static_cast<double>(group.total_ns) / static_cast<double>(group.count);
    std::string shapes = profile.texts[kernel.input_shapes];
    if (shapes.empty()) shapes = profile.texts[kernel.label];
    table.rows.push_back(
        {name_or_type(profile, kernel), profile.texts[kernel.type],
         std::string(name(kernel.op_class)), shapes, profile.texts[kernel.data_types], group.count,
         group.total_ns, share(group.total_ns, figures.compute_sum_ns),
         group.total_ns / group.count, known(group.work.flop), known(group.work.bytes),
         group.work.flop > 0 && mean_ns > 0 ? Cell(group.work.flop / mean_ns / 1000) : Cell(),
         rate_of(group) > 0 ? Cell(rate_of(group) / 1000) : Cell(),
         bound_of(kernel).empty() ? Cell() : Cell("bound." + bound_of(kernel)),
         group.ratio > 0 ? Cell(group.ratio) : Cell(), known(kernel.l2_hit),
         kernel.block_dim > 0 ? Cell(std::int64_t{kernel.block_dim}) : Cell()});
  }
  std::int64_t cached_ns = 0, cached = 0;
  double hit_ns = 0;
  for (const std::size_t i : figures.kernels)
    if (const Kernel& kernel = figures.rank->kernels[i]; kernel.l2_hit >= 0) {
      ++cached;
      cached_ns += kernel.duration_ns;
      hit_ns += static_cast<double>(kernel.l2_hit) * static_cast<double>(kernel.duration_ns);
    }
  if (cached_ns > 0)
    table.notes.push_back(
        {"note.l2",
         {std::to_string(cached), percent_text(hit_ns / static_cast<double>(cached_ns)),
          microseconds_text(cached_ns)}});
  return table;
}

Table communication_table(const RankFigures& figures, std::size_t top) {
  Table table{"communication",
              {{"name", Unit::kText},
               {"kind", Unit::kWord, true},
               {"group", Unit::kText, true},
               {"elapse", Unit::kTime},
               {"transfer", Unit::kTime},
               {"wait", Unit::kTime},
               {"idle", Unit::kTime},
               {"link", Unit::kText, true},
               {"megabytes", Unit::kMegabytes},
               {"gbs", Unit::kGbs},
               {"small_share", Unit::kShare}},
              {},
              {},
              top};
  std::vector<Collective> longest = figures.rank->collectives;
  std::ranges::stable_sort(
      longest, [](const Collective& a, const Collective& b) { return a.elapse_ns > b.elapse_ns; });
  for (const Collective& one : longest) {
    const std::string kind = one.is_point_to_point ? "kind.p2p" : "kind.collective";
    // SDMA repeats what HCCS and PCIE carry.
    const LinkUse* link = nullptr;
    for (const LinkUse& use : one.links)
      if (link == nullptr || link->link == "SDMA") link = &use;
    table.rows.push_back({one.name, kind, one.group, one.elapse_ns, one.transfer_ns, one.wait_ns,
                          one.idle_ns, link != nullptr ? Cell(link->link) : Cell(),
                          link != nullptr ? Cell(link->megabytes) : Cell(),
                          link != nullptr ? Cell(link->gigabytes_per_s) : Cell(),
                          link != nullptr ? Cell(link->small_share) : Cell()});
  }
  const auto sum = [&](const CollectiveFigures& all, const char* kind) {
    if (all.count == 0) return;
    table.notes.push_back(
        {"note.communication_sum",
         {text_of(Said{kind}), std::to_string(all.count), milliseconds_text(all.elapse_ns, 3),
          milliseconds_text(all.transfer_ns, 3), milliseconds_text(all.wait_ns, 3),
          milliseconds_text(all.idle_ns, 3)}});
  };
  sum(figures.collective, "kind.collective");
  sum(figures.point_to_point, "kind.p2p");
  if (figures.has_parts() && figures.parts().communication_ns() > 0)
    table.notes.push_back(
        {"note.overlap",
         {microseconds_text(figures.parts().overlapped_ns),
          microseconds_text(figures.parts().communication_ns()),
          percent_text(share(figures.parts().overlapped_ns, figures.parts().communication_ns()))}});
  return table;
}

Table traffic_table(const RankFigures& figures) {
  Table table{"traffic",
              {{"link", Unit::kText},
               {"mode", Unit::kText},
               {"lowest", Unit::kMegabytes},
               {"highest", Unit::kMegabytes},
               {"average", Unit::kMegabytes},
               {"samples", Unit::kCount, true}},
              {},
              {}};
  for (const Traffic& one : figures.rank->traffic)
    table.rows.push_back({one.link, one.mode, one.lowest, one.highest, one.mean,
                          one.samples > 0 ? Cell(one.samples) : Cell()});
  return table;
}

Table idle_table(const Profile& profile, const RankFigures& figures) {
  Table table{"idle",
              {{"cause", Unit::kWord},
               {"count", Unit::kCount},
               {"total", Unit::kTime},
               {"longest", Unit::kTime},
               {"before", Unit::kText},
               {"after", Unit::kText}},
              {},
              {}};
  std::int64_t all = 0, long_ones = 0, long_ns = 0;
  std::array<std::int64_t, kGapCauses> count{}, total{}, longest{};
  for (const Gap& gap : figures.gaps) {
    const auto i = static_cast<std::size_t>(gap.cause);
    ++count[i];
    total[i] += gap.time_ns();
    longest[i] = std::max(longest[i], gap.time_ns());
    all += gap.time_ns();
    if (gap.time_ns() > kLongGapNs) {
      ++long_ones;
      long_ns += gap.time_ns();
    }
  }
  for (std::size_t i = 0; i < kGapCauses; ++i)
    if (count[i] > 0)
      table.rows.push_back({std::string(name(static_cast<GapCause>(i))), count[i], total[i],
                            longest[i], Cell(), Cell()});
  std::vector<Gap> gaps = figures.gaps;
  std::ranges::stable_sort(gaps,
                           [](const Gap& a, const Gap& b) { return a.time_ns() > b.time_ns(); });
  if (gaps.size() > 5) gaps.resize(5);
  for (const Gap& gap : gaps)
    table.rows.push_back({std::string(name(gap.cause)), std::int64_t{1}, gap.time_ns(),
                          gap.time_ns(), profile.texts[figures.rank->kernels[gap.before].name],
                          profile.texts[figures.rank->kernels[gap.after].name]});
  if (!figures.gaps.empty())
    table.notes.push_back({"note.gaps",
                           {std::to_string(figures.gaps.size()), microseconds_text(all),
                            std::to_string(long_ones), microseconds_text(long_ns)}});
  return table;
}

Table host_table(const RankFigures& figures, std::size_t top) {
  Table table{"host",
              {{"kind", Unit::kWord},
               {"name", Unit::kText},
               {"count", Unit::kCount},
               {"total", Unit::kTime},
               {"longest", Unit::kTime}},
              {},
              {},
              top};
  struct Row {
    const char* kind;
    const std::string* name;
    const HostCall* call;
  };
  std::vector<Row> rows;
  for (const auto& [name, call] : figures.rank->apis) rows.push_back({"kind.api", &name, &call});
  for (const auto& [name, call] : figures.rank->operators)
    rows.push_back({"kind.operator", &name, &call});
  std::ranges::stable_sort(
      rows, [](const Row& a, const Row& b) { return a.call->total_ns > b.call->total_ns; });
  for (const Row& row : rows)
    table.rows.push_back({std::string(row.kind), *row.name, row.call->count, row.call->total_ns,
                          row.call->longest_ns});
  return table;
}

const Allocation* peak_of(const Rank& rank) {
  const Allocation* peak = nullptr;
  for (const Allocation& one : rank.allocations)
    if (peak == nullptr || one.allocated_mb > peak->allocated_mb) peak = &one;
  return peak;
}

Table memory_table(const Profile& profile, const RankFigures& figures, std::size_t top) {
  Table table{"memory",
              {{"kind", Unit::kWord},
               {"name", Unit::kText},
               {"allocated_mb", Unit::kMegabytes},
               {"reserved_mb", Unit::kMegabytes}},
              {},
              {},
              0};
  const Rank& rank = *figures.rank;
  for (const auto& [name, one] : rank.components)
    table.rows.push_back({std::string("memory.component"), name,
                          one.allocated_mb > 0 ? Cell(one.allocated_mb) : Cell(), one.reserved_mb});
  for (const auto& [name, peak] : rank.module_mb)
    if (peak > 0) table.rows.push_back({std::string("memory.module"), name, Cell(), peak});
  std::set<std::string> groups;
  for (const Collective& one : rank.collectives) groups.insert(one.group);
  if (const auto hccl = rank.module_mb.find("HCCL");
      hccl != rank.module_mb.end() && hccl->second > 0 && !groups.empty()) {
    // Two buffers a communicator, each of HCCL_BUFFSIZE MB; 200 unless set (HCCL user guide).
    const auto set = rank.environment.find("HCCL_BUFFSIZE");
    const double size = set != rank.environment.end() ? number_of(set->second).value_or(200) : 200;
    table.notes.push_back({"note.hccl",
                           {fmt::format("{:.2f}", hccl->second), fmt::format("{:.0f}", size),
                            std::to_string(groups.size()),
                            fmt::format("{:.0f}", 2 * size * static_cast<double>(groups.size()))}});
  }
  const Allocation* peak = peak_of(rank);
  if (peak == nullptr) return table;
  std::vector<const Allocation*> alive;
  std::size_t kept = 0;
  double alive_kb = 0;
  for (const Allocation& one : rank.allocations) {
    if (one.release_ns == kUnknownTime) ++kept;
    if (one.start_ns <= peak->start_ns &&
        (one.release_ns == kUnknownTime || one.release_ns > peak->start_ns)) {
      alive.push_back(&one);
      alive_kb += one.kilobytes;
    }
  }
  std::ranges::stable_sort(
      alive, [](const Allocation* a, const Allocation* b) { return a->kilobytes > b->kilobytes; });
  for (std::size_t i = 0; i < alive.size() && i < top; ++i)
    table.rows.push_back({std::string("memory.alive"), profile.texts[alive[i]->name],
                          alive[i]->kilobytes / 1024, Cell()});
  table.notes.push_back({"note.memory_peak",
                         {fmt::format("{:.2f}", peak->allocated_mb),
                          fmt::format("{:.2f}", peak->reserved_mb), profile.texts[peak->name],
                          std::to_string(alive.size()), fmt::format("{:.1f}", alive_kb / 1024),
                          fmt::format("{:.1f}", peak->allocated_mb - alive_kb / 1024),
                          std::to_string(kept), std::to_string(rank.allocations.size())}});
  return table;
}

Table ranks_table(std::span<const RankFigures> all) {
  Table table{"ranks",
              {{"rank", Unit::kCount},
               {"computing", Unit::kTime},
               {"over_mean", Unit::kShare, true},
               {"not_overlapped", Unit::kTime},
               {"wait", Unit::kTime},
               {"free", Unit::kTime},
               {"stage", Unit::kTime}},
              {},
              {}};
  std::vector<const RankFigures*> known_ones;
  double mean = 0;
  for (const RankFigures& one : all)
    if (one.has_parts()) {
      known_ones.push_back(&one);
      mean += static_cast<double>(one.parts().computing_ns);
    }
  if (known_ones.size() < 2) return table;
  mean /= static_cast<double>(known_ones.size());
  for (const RankFigures* one : known_ones) {
    const Parts& parts = one->parts();
    table.rows.push_back(
        {one->rank->rank, parts.computing_ns,
         mean > 0 ? Cell(static_cast<double>(parts.computing_ns) / mean - 1) : Cell(),
         parts.not_overlapped_ns,
         one->collective.count > 0 ? Cell(one->collective.wait_ns) : Cell(), parts.free_ns,
         parts.stage_ns});
  }
  return table;
}

Table environment_table(const RankFigures& figures) {
  Table table{"environment", {{"name", Unit::kText}, {"value", Unit::kText}}, {}, {}};
  for (const auto& [name, value] : figures.rank->environment)
    if (!value.empty()) table.rows.push_back({name, value});
  return table;
}

}  // namespace nb::profiler
