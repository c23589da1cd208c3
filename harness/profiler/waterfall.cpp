#include "harness/profiler/waterfall.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "harness/base/text_width.hpp"
#include "harness/base/visible_text.hpp"
#include "harness/profiler/tables.hpp"

namespace nb::profiler {
namespace {

const RankFigures& first(const Analysis& analysis) { return analysis.figures.front(); }

std::int64_t scaled(std::int64_t time_ns, double factor) {
  return factor == 1 ? time_ns : std::llround(static_cast<double>(time_ns) * factor);
}

// Parts of a step's mean, under their keys; the whole under "part.all". What the division and the
// files' own rounding leave is a part too, so that nothing is lost.
std::map<std::string, std::int64_t> parts_of(const RankFigures& figures, double factor) {
  std::map<std::string, std::int64_t> parts;
  if (!figures.has_parts()) return parts;
  const double of_step = factor / static_cast<double>(figures.steps);
  const Parts& whole = figures.parts();
  std::int64_t listed = 0;
  for (std::size_t i = 0; i < kOpClasses; ++i)
    if (const ClassFigures& one = figures.classes[i]; one.exclusive_ns > 0) {
      parts[std::string(name(static_cast<OpClass>(i)))] = scaled(one.exclusive_ns, of_step);
      listed += one.exclusive_ns;
    }
  // Beyond what the file rounds (0.1 µs): kernels that its tables leave out.
  if (std::abs(whole.computing_ns - listed) > 100)
    parts["part.unlisted"] = scaled(whole.computing_ns - listed, of_step);
  parts["part.not_overlapped"] = scaled(whole.not_overlapped_ns - whole.bubble_ns, of_step);
  if (whole.copies_ns != 0) parts["part.copies"] = scaled(whole.copies_ns, of_step);
  parts["part.free"] = scaled(whole.free_ns, of_step);
  const std::int64_t all = scaled(whole.stage_ns, of_step);
  std::int64_t sum = 0;
  for (const auto& [key, time_ns] : parts) sum += time_ns;
  if (all != sum) parts["part.rest"] = all - sum;
  parts["part.all"] = all;
  return parts;
}

// Whether kernels of a backward pass or of an optimizer run in it; nullopt: too few to tell.
std::optional<bool> trains(const Analysis& analysis) {
  constexpr std::size_t kEnough = 20;
  const RankFigures& figures = first(analysis);
  const Profile& profile = *analysis.profile;
  if (figures.classes[static_cast<std::size_t>(OpClass::kOptimizer)].count > 0) return true;
  for (const std::size_t i : figures.kernels) {
    const Kernel& kernel = figures.rank->kernels[i];
    for (const TextId id : {kernel.name, kernel.type})
      for (const std::string_view sign : {"Grad", "Backprop", "ackward", "dgrad", "wgrad"})
        if (profile.texts[id].find(sign) != std::string::npos) return true;
  }
  if (figures.kernels.size() < kEnough) return std::nullopt;
  return false;
}

std::int64_t ranks_of(const Analysis& analysis) {
  const std::int64_t stated = first(analysis).rank->world_size;
  return stated > 0 ? stated : static_cast<std::int64_t>(analysis.profile->ranks.size());
}

bool has_shapes(const Analysis& analysis) {
  return std::ranges::any_of(first(analysis).kernels, [&](std::size_t i) {
    return first(analysis).rank->kernels[i].input_shapes != 0;
  });
}

// Same devices: kernels by name. Others: by class, where operands tell them apart. Operands count
// where both have them.
using PairKey = std::pair<std::string, std::string>;
PairKey key_of(const Profile& profile, const Kernel& kernel, bool is_same_world, bool with_shapes) {
  const std::string shapes =
      with_shapes ? profile.texts[kernel.input_shapes] + "|" + profile.texts[kernel.data_types]
                  : std::string();
  if (is_same_world || !with_shapes) return {profile.texts[kernel.name], shapes};
  return {std::string(name(kernel.op_class)), shapes};
}

struct PairSum {
  std::int64_t count_a = 0, count_b = 0, a_ns = 0, b_ns = 0;
};

Table pairs_of(const Analysis& a, const Analysis& b, double factor, std::size_t top) {
  const bool is_same_world =
      a.profile->kind == b.profile->kind && a.profile->is_gpu == b.profile->is_gpu;
  std::map<PairKey, PairSum> pairs;
  const bool with_shapes = has_shapes(a) && has_shapes(b);
  const auto add = [&](const Analysis& one, bool is_b) {
    for (const KernelGroup& group : kernel_groups(*one.profile, first(one))) {
      const Kernel& kernel = first(one).rank->kernels[group.example];
      PairSum& sum = pairs[key_of(*one.profile, kernel, is_same_world, with_shapes)];
      const double steps = static_cast<double>(first(one).steps);
      (is_b ? sum.count_b : sum.count_a) += group.count;
      (is_b ? sum.b_ns : sum.a_ns) += scaled(group.total_ns, (is_b ? factor : 1) / steps);
    }
  };
  add(a, false);
  add(b, true);
  std::vector<std::pair<PairKey, PairSum>> order(pairs.begin(), pairs.end());
  std::ranges::stable_sort(order, [](const auto& x, const auto& y) {
    return std::abs(x.second.b_ns - x.second.a_ns) > std::abs(y.second.b_ns - y.second.a_ns);
  });
  Table table{"pairs",
              {{"name", Unit::kText},
               {"shapes", Unit::kText, true},
               {"count_a", Unit::kCount},
               {"a", Unit::kTime},
               {"count_b", Unit::kCount},
               {"b", Unit::kTime},
               {"difference", Unit::kTime}},
              {},
              {},
              top};
  for (const auto& [key, sum] : order)
    table.rows.push_back(
        {key.first, key.second, sum.count_a, sum.a_ns, sum.count_b, sum.b_ns, sum.b_ns - sum.a_ns});
  return table;
}

std::string signed_ms(std::int64_t time_ns) {
  return fmt::format("{}{}", time_ns < 0 ? "−" : "+", milliseconds_text(std::abs(time_ns)));
}

void add_notes(const Analysis& a, const Analysis& b, const Tokens& tokens, Waterfall& result) {
  const Rank& one = *first(a).rank;
  const Rank& other = *first(b).rank;
  if (first(a).steps > 1 || first(b).steps > 1)
    result.notes.push_back(
        {"note.mean_of_steps",
         {std::to_string(first(a).steps), std::to_string(first(b).steps),
          microseconds_text(first(a).compute_sum_ns), std::to_string(first(a).compute_count),
          microseconds_text(first(b).compute_sum_ns), std::to_string(first(b).compute_count),
          microseconds_text(first(b).compute_sum_ns - first(a).compute_sum_ns)}});
  if (tokens)
    result.notes.push_back(
        {"note.per_token",
         {fmt::format("{:.0f}", tokens->first), fmt::format("{:.0f}", tokens->second)}});
  if (one.level != other.level && !one.level.empty() && !other.level.empty())
    result.notes.push_back({"note.levels", {one.level, other.level}});
  if (one.with_stack.value_or(false) != other.with_stack.value_or(false))
    result.notes.push_back({"note.stacks", {}});
  for (const Analysis* analysis : {&a, &b})
    if (first(*analysis).step == "all" && first(*analysis).steps > 1)
      result.notes.push_back({"note.first_step", {analysis->profile->source}});
  for (const Analysis* analysis : {&a, &b})
    for (const Verdict& verdict : analysis->verdicts)
      if (verdict.id == "launch_blocking") result.notes.push_back(verdict.said);
}

}  // namespace

std::optional<std::string> refusal(const Analysis& a, const Analysis& b, const Tokens& tokens) {
  if (a.profile->clock != b.profile->clock)
    return fmt::format(
        "one is of the clock {}, the other of {}: what was measured and what was simulated are not "
        "subtracted; npubench profile A --device NAME shows both side by side",
        name(a.profile->clock), name(b.profile->clock));
  if (!first(a).has_parts() || !first(b).has_parts())
    return std::string("one of them has neither times of steps nor kernels");
  if (!tokens && ranks_of(a) != ranks_of(b))
    return fmt::format(
        "{} ranks and {}: their steps are different work; --tokens-per-step A,B compares tokens",
        ranks_of(a), ranks_of(b));
  const auto a_trains = trains(a), b_trains = trains(b);
  if (a_trains && b_trains && *a_trains != *b_trains)
    return std::string("one is a step of training, the other a forward pass only");
  return std::nullopt;
}

Waterfall waterfall_of(const Analysis& a, const Analysis& b, const Tokens& tokens,
                       std::size_t top) {
  const double factor = tokens ? tokens->first / tokens->second : 1;
  const auto of_a = parts_of(first(a), 1), of_b = parts_of(first(b), factor);
  Waterfall result;
  std::map<std::string, WaterfallPart> parts;
  for (const auto& [key, time_ns] : of_a) parts[key].a_ns = time_ns;
  for (const auto& [key, time_ns] : of_b) parts[key].b_ns = time_ns;
  for (auto& [key, part] : parts) {
    part.key = key;
    if (key == "part.all") {
      result.a_ns = part.a_ns;
      result.b_ns = part.b_ns;
    } else {
      result.parts.push_back(part);
    }
  }
  std::ranges::stable_sort(result.parts, [](const WaterfallPart& x, const WaterfallPart& y) {
    return std::abs(x.difference_ns()) > std::abs(y.difference_ns());
  });
  const std::int64_t all = result.b_ns - result.a_ns;
  std::int64_t gathered = 0;
  for (const WaterfallPart& part : result.parts) {
    if (all == 0 || std::abs(gathered) * 10 >= std::abs(all) * 8) break;
    if ((part.difference_ns() > 0) != (all > 0) || part.difference_ns() == 0) continue;
    gathered += part.difference_ns();
    result.largest.push_back(part.key);
  }
  result.table = {
      "waterfall",
      {{"part", Unit::kWord}, {"a", Unit::kTime}, {"b", Unit::kTime}, {"difference", Unit::kTime}},
      {},
      {}};
  for (const WaterfallPart& part : result.parts)
    result.table.rows.push_back({part.key, part.a_ns, part.b_ns, part.difference_ns()});
  result.table.rows.push_back({std::string("part.all"), result.a_ns, result.b_ns, all});
  result.pairs = pairs_of(a, b, factor, top);
  add_notes(a, b, tokens, result);
  return result;
}

std::string text_of(const Waterfall& waterfall, Language language) {
  const std::int64_t all = waterfall.b_ns - waterfall.a_ns;
  std::string line = fmt::format("A {} ms   B {} ms   {}:", milliseconds_text(waterfall.a_ns),
                                 milliseconds_text(waterfall.b_ns), signed_ms(all));
  for (const WaterfallPart& part : waterfall.parts)
    if (part.difference_ns() != 0)
      line += fmt::format("  {} {}", word(part.key, language), signed_ms(part.difference_ns()));
  std::string text;
  for (const std::string& one : broken_lines(line, sentence_width())) text += one + "\n";
  if (all == 0) text += word("verdict.equal", language) + "\n";
  int number = 0;
  for (const WaterfallPart& part : waterfall.parts)
    if (std::ranges::find(waterfall.largest, part.key) != waterfall.largest.end())
      text += text_of(Said{"sum.verdict", {std::to_string(++number)}}, language) + "  " +
              text_of(Said{"verdict.part",
                           {word(part.key, language), signed_ms(part.difference_ns()),
                            percent_text(static_cast<double>(part.difference_ns()) /
                                         static_cast<double>(all))}},
                      language) +
              "\n";
  text += "\n" + text_of(waterfall.table, language) + "\n" + text_of(waterfall.pairs, language);
  for (const Said& note : waterfall.notes) text += visible_line(text_of(note, language)) + "\n";
  return text;
}

Json json_of(const Waterfall& waterfall, const Analysis& a, const Analysis& b, Language language) {
  Json notes = Json::array();
  for (const Said& note : waterfall.notes) notes.push_back(text_of(note, language));
  return {{"schema", "npubench.profile/1"},
          {"a", json_of(a, language)},
          {"b", json_of(b, language)},
          {"a_ns", waterfall.a_ns},
          {"b_ns", waterfall.b_ns},
          {"difference_ns", waterfall.b_ns - waterfall.a_ns},
          {"waterfall", json_of(waterfall.table)},
          {"largest", waterfall.largest},
          {"pairs", json_of(waterfall.pairs)},
          {"notes", notes}};
}

}  // namespace nb::profiler
