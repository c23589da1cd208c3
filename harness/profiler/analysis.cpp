#include "harness/profiler/analysis.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "harness/base/text_width.hpp"
#include "harness/base/visible_text.hpp"
#include "harness/doctor/lint.hpp"
#include "harness/profiler/tables.hpp"
#include "harness/profiler/time_text.hpp"

namespace nb::profiler {
namespace {

std::string headline(const Analysis& analysis, const RankFigures& one, Language language) {
  std::string text =
      one.step == "all"
          ? text_of(Said{"head.rank_all", {std::to_string(one.rank->rank)}}, language)
          : text_of(Said{"head.rank", {std::to_string(one.rank->rank), one.step}}, language);
  std::vector<std::string> facts;
  if (!one.rank->level.empty()) facts.push_back(one.rank->level);
  if (!one.rank->device.empty()) facts.push_back(one.rank->device);
  if (one.rank->with_stack.value_or(false)) facts.push_back(word("head.with_stack", language));
  if (analysis.profile->clock == Clock::kSim) facts.push_back(word("head.sim", language));
  if (!facts.empty()) {
    text += " (";
    for (std::size_t i = 0; i < facts.size(); ++i) text += (i > 0 ? ", " : "") + facts[i];
    text += ")";
  }
  return visible_line(text);
}

std::string padded(std::string text, std::size_t width) {
  const std::size_t taken = display_width(text);
  if (taken < width) text.append(width - taken, ' ');
  return text;
}

std::string part_line(std::string_view key, std::int64_t part_ns, std::int64_t whole_ns,
                      const std::string& more, Language language) {
  std::string line = fmt::format("{}{:>9} ms  {:>5.1f} %", padded(word(key, language), 27),
                                 milliseconds_text(part_ns), share(part_ns, whole_ns) * 100);
  if (!more.empty()) line += "   " + more;
  return line + "\n";
}

// What is not in the profile is not known to be unset: its metadata names a few variables.
std::vector<doctor::Check> environment_checks(const Rank& rank) {
  std::vector<doctor::Setting> settings;
  for (const auto& [name, value] : rank.environment) {
    if (value.empty()) continue;
    doctor::Setting& setting = settings.emplace_back();
    setting.name = name;
    setting.value = value;
  }
  std::vector<doctor::Check> found;
  if (settings.empty()) return found;
  doctor::Facts facts;
  facts.set("context", "train");
  for (doctor::Check& check :
       doctor::lint_environment(settings, facts, "profiler_metadata.json", false))
    if (check.state == doctor::State::kWarn || check.state == doctor::State::kFail ||
        check.state == doctor::State::kNote)
      found.push_back(std::move(check));
  doctor::sort_checks(found);
  return found;
}

Json numbers_json(const Verdict& verdict) {
  Json numbers = Json::object();
  for (const auto& [name, value] : verdict.numbers) numbers[name] = value;
  return numbers;
}

Json sources_json(const Verdict& verdict) {
  Json sources = Json::array();
  for (const Threshold& one : thresholds())
    if (one.verdict == verdict.id)
      sources.push_back(
          {{"name", one.name}, {"value", one.value}, {"unit", one.unit}, {"source", one.source}});
  return sources;
}

}  // namespace

Result<Analysis> analyse(const Profile& profile, const AnalysisOptions& options) {
  Analysis analysis;
  analysis.profile = &profile;
  for (const Rank& rank : profile.ranks) {
    if (options.rank && rank.rank != *options.rank) continue;
    NB_TRY(RankFigures figures, figures_of(profile, rank, options.step));
    analysis.figures.push_back(std::move(figures));
  }
  if (analysis.figures.empty()) {
    std::string there;
    for (const Rank& rank : profile.ranks)
      there += (there.empty() ? "" : ", ") + std::to_string(rank.rank);
    return bad_input(
        fmt::format("{}: no rank {}; its ranks are {}", profile.source, *options.rank, there));
  }
  const RankFigures& one = analysis.figures.front();
  analysis.tables = {steps_table(profile, analysis.figures),
                     classes_table(analysis.figures),
                     types_table(profile, analysis.figures),
                     kernels_table(profile, one, options.top),
                     communication_table(one, options.top),
                     traffic_table(one),
                     idle_table(profile, one),
                     host_table(one, options.top),
                     memory_table(profile, one, options.top),
                     ranks_table(analysis.figures),
                     environment_table(one)};
  if (options.device != nullptr)
    analysis.tables.push_back(expectation_table(profile, one, *options.device, options.top).table);
  analysis.verdicts = verdicts_of(profile, analysis.figures);
  analysis.environment = environment_checks(*one.rank);
  analysis.notes = profile.notes;
  for (const std::string& absent : one.rank->absent) analysis.notes.push_back({absent});
  return analysis;
}

std::string summary_text(const Analysis& analysis, Language language) {
  const RankFigures& one = analysis.figures.front();
  std::string text;
  if (!one.has_parts())
    return headline(analysis, one, language) + "\n" + word("sum.no_parts", language) + "\n";
  const Parts& parts = one.parts();
  text += fmt::format("{}  {} ms\n", padded(headline(analysis, one, language), 68),
                      milliseconds_text(parts.stage_ns));
  text += part_line("sum.computing", parts.computing_ns, parts.stage_ns, "", language);
  std::string more;
  if (one.collective.count > 0)
    more = text_of(Said{"sum.collectives",
                        {milliseconds_text(one.collective.elapse_ns),
                         milliseconds_text(one.collective.transfer_ns),
                         milliseconds_text(one.collective.wait_ns),
                         milliseconds_text(one.collective.idle_ns)}},
                   language);
  else if (parts.communication_ns() > 0)
    more = text_of(
        Said{"sum.hidden",
             {milliseconds_text(parts.overlapped_ns), milliseconds_text(parts.communication_ns()),
              percent_text(share(parts.overlapped_ns, parts.communication_ns()))}},
        language);
  text += part_line("sum.not_overlapped", parts.not_overlapped_ns, parts.stage_ns, more, language);
  if (parts.bubble_ns > 0)
    text += part_line("sum.bubble", parts.bubble_ns, parts.stage_ns, "", language);
  if (parts.copies_ns > 0)
    text += part_line("sum.copies", parts.copies_ns, parts.stage_ns, "", language);
  more.clear();
  std::int64_t long_ones = 0, long_ns = 0;
  for (const Gap& gap : one.gaps)
    if (gap.time_ns() > kLongGapNs) {
      ++long_ones;
      long_ns += gap.time_ns();
    }
  if (long_ones > 0)
    more = text_of(Said{"sum.gaps", {std::to_string(long_ones), milliseconds_text(long_ns)}},
                   language);
  text += part_line("sum.free", parts.free_ns, parts.stage_ns, more, language);
  return text;
}

std::string text_of(const Analysis& analysis, Language language) {
  std::string text = summary_text(analysis, language);
  if (analysis.figures.size() > 1)
    text += text_of(Said{"head.more_ranks",
                         {std::to_string(analysis.figures.size()),
                          std::to_string(analysis.figures.front().rank->rank)}},
                    language) +
            "\n";
  int number = 0;
  for (const Verdict& verdict : analysis.verdicts) {
    const std::string head =
        text_of(Said{"sum.verdict", {std::to_string(++number)}}, language) + "  ";
    std::string said = text_of(verdict.said, language);
    if (verdict.remedy) said += " → " + text_of(*verdict.remedy, language);
    bool is_first = true;
    for (const std::string& line : broken_lines(visible_line(said), sentence_width() - 12)) {
      text += (is_first ? padded(head, 12) : std::string(12, ' ')) + line + "\n";
      is_first = false;
    }
  }
  for (const Table& table : analysis.tables)
    if (!table.rows.empty() || !table.notes.empty()) text += "\n" + text_of(table, language);
  for (const doctor::Check& check : analysis.environment)
    text += visible_line(fmt::format("{} {}={}: {} → {}", check.id, check.variable, check.value,
                                     doctor::sentence_of(check.said, language),
                                     doctor::remedy_of(check.said, language))) +
            "\n";
  if (!analysis.notes.empty()) text += "\n";
  for (const Said& note : analysis.notes) text += visible_line(text_of(note, language)) + "\n";
  return text;
}

Json json_of(const Analysis& analysis, Language language) {
  const Profile& profile = *analysis.profile;
  Json ranks = Json::array();
  for (const RankFigures& one : analysis.figures) ranks.push_back(one.rank->rank);
  Json json = {{"schema", "npubench.profile/1"},
               {"source", utf8_text(profile.source)},
               {"kind", name(profile.kind)},
               {"clock", name(profile.clock)},
               {"rank_numbers", ranks}};
  for (const Table& table : analysis.tables) {
    json[std::string(table.key)] = json_of(table);
    Json notes = Json::array();
    for (const Said& note : table.notes) notes.push_back(utf8_text(text_of(note, language)));
    if (!notes.empty()) json["notes_of"][std::string(table.key)] = notes;
  }
  Json verdicts = Json::array();
  for (const Verdict& verdict : analysis.verdicts)
    verdicts.push_back(
        {{"id", verdict.id},
         {"state", verdict.state == VerdictState::kWarn ? "warn" : "note"},
         {"sentence", utf8_text(text_of(verdict.said, language))},
         {"arguments", verdict.said.arguments},
         {"remedy", verdict.remedy ? Json(text_of(*verdict.remedy, language)) : Json()},
         {"numbers", numbers_json(verdict)},
         {"source", sources_json(verdict)}});
  json["verdicts"] = std::move(verdicts);
  Json checks = Json::array();
  for (const doctor::Check& check : analysis.environment)
    checks.push_back(doctor::json_of(check, language));
  json["environment_checks"] = std::move(checks);
  Json notes = Json::array();
  for (const Said& note : analysis.notes) notes.push_back(utf8_text(text_of(note, language)));
  json["notes"] = std::move(notes);
  return json;
}

}  // namespace nb::profiler
