#include "results/audit/table.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "harness/base/ascii.hpp"
#include "harness/base/portable_math.hpp"

namespace nb {
namespace {

constexpr std::size_t kLongest = 64;  // characters of a number; a cell of more is prose

// Marks around a number in tables: bold, code, "approximately".
std::string_view without_marks(std::string_view text, bool& is_rough) {
  constexpr auto kRough = std::to_array<std::string_view>({"~", "≈", "about ", "ca. "});
  for (bool changed = true; changed;) {
    changed = false;
    text = trimmed(text);
    for (const std::string_view mark : {"**", "*", "`"}) {
      if (!text.starts_with(mark)) continue;
      text.remove_prefix(mark.size());
      if (text.ends_with(mark)) text.remove_suffix(mark.size());
      changed = true;
    }
    for (const std::string_view mark : kRough) {
      if (!text.starts_with(mark)) continue;
      text.remove_prefix(mark.size());
      is_rough = changed = true;
    }
  }
  return text;
}

struct Digits {
  std::string plain;  // without separators
  int decimals = 0;
  std::size_t length = 0;  // characters taken; 0: no number
  bool has_bad_comma = false;
};

Digits digits_of(std::string_view text) {
  Digits digits;
  std::size_t at = 0;
  if (text.starts_with("−")) {  // U+2212
    digits.plain = "-";
    at = std::string_view("−").size();
  } else if (at < text.size() && (text[at] == '-' || text[at] == '+')) {
    if (text[at] == '-') digits.plain = "-";
    ++at;
  }
  std::size_t whole = 0, since_comma = 0;
  bool has_comma = false, has_fraction = false;
  for (; at < text.size() && (is_digit(text[at]) || text[at] == ','); ++at) {
    if (text[at] == ',') {
      if (at + 1 >= text.size() || !is_digit(text[at + 1])) break;
      if (has_comma ? since_comma != 3 : (whole == 0 || whole > 3)) digits.has_bad_comma = true;
      has_comma = true;
      since_comma = 0;
      continue;
    }
    digits.plain += text[at];
    ++whole;
    ++since_comma;
  }
  if (has_comma && since_comma != 3) digits.has_bad_comma = true;
  if (at < text.size() && text[at] == '.' &&
      (whole > 0 || (at + 1 < text.size() && is_digit(text[at + 1])))) {
    digits.plain += whole == 0 ? "0." : ".";
    for (++at; at < text.size() && is_digit(text[at]); ++at) {
      digits.plain += text[at];
      ++digits.decimals;
      has_fraction = true;
    }
  }
  if (whole == 0 && !has_fraction) return {};
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    std::size_t end = at + 1;
    if (end < text.size() && (text[end] == '+' || text[end] == '-')) ++end;
    const std::size_t first = end;
    while (end < text.size() && is_digit(text[end])) ++end;
    if (end > first && end - first <= 3) {
      const std::string exponent(text.substr(at + 1, end - at - 1));
      digits.plain += "e" + exponent;
      digits.decimals -= std::atoi(exponent.c_str());
      at = end;
    }
  }
  digits.length = at;
  return digits;
}

}  // namespace

bool is_blank_cell(std::string_view text) {
  static constexpr auto kBlank =
      std::to_array<std::string_view>({"", "-", "—", "–", "n/a", "na", "none", "null", "--", "?"});
  return std::ranges::find(kBlank, lowered(trimmed(text))) != kBlank.end();
}

Result<Printed> parse_printed(std::string_view text, const std::string& where) {
  Printed printed;
  printed.text = std::string(trimmed(text));
  const auto refused = [&](const char* why) {
    const std::string shown =
        printed.text.size() <= kLongest ? printed.text : printed.text.substr(0, kLongest) + "…";
    return bad_input(fmt::format("{}: \"{}\" {}", where, shown, why));
  };
  if (printed.text.size() > kLongest) return refused("is not a number");
  const std::string_view content = without_marks(printed.text, printed.is_rough);
  const std::string word = lowered(content);
  for (const std::string_view name : {"nan", "inf", "-inf", "+inf", "infinity", "-infinity"})
    if (word == name)
      return refused("is not a finite number; leave the cell empty where nothing was measured");
  const Digits digits = digits_of(content);
  if (digits.length == 0) return refused("is not a number");
  if (digits.has_bad_comma)
    return refused("has a comma that separates no thousands; write the decimal point as a point");
  const char* const end = digits.plain.data() + digits.plain.size();
  const auto [rest, error] = std::from_chars(digits.plain.data(), end, printed.value);
  if (error != std::errc() || rest != end || !std::isfinite(printed.value))
    return refused("is not a finite number");
  printed.decimals = digits.decimals;
  std::string_view unit = trimmed(content.substr(digits.length));
  if (unit.ends_with('+')) {
    printed.is_rough = true;
    unit = trimmed(unit.substr(0, unit.size() - 1));
  }
  if (unit.starts_with('%')) {
    printed.value /= 100;
    printed.decimals += 2;
    unit = trimmed(unit.substr(1));
    if (unit.starts_with('+')) {
      printed.is_rough = true;
      unit = trimmed(unit.substr(1));
    }
  }
  printed.unit = std::string(unit);
  printed.half_unit = .5 * pm::pow(10, -printed.decimals);
  return printed;
}

const ReportedCell* ReportedStage::find(std::string_view task) const {
  const auto found =
      std::ranges::find_if(cells, [&](const ReportedCell& cell) { return cell.task == task; });
  return found == cells.end() ? nullptr : &*found;
}

const Printed* ReportedStage::fact(std::string_view name_of_fact) const {
  const auto found = facts.find(std::string(name_of_fact));
  return found == facts.end() ? nullptr : &found->second;
}

const ReportedStage* ReportedRun::stage(std::string_view name_of_stage) const {
  const auto found = std::ranges::find_if(
      stages, [&](const ReportedStage& stage) { return stage.name == name_of_stage; });
  return found == stages.end() ? nullptr : &*found;
}

const Printed* ReportedRun::fact(const ReportedStage& stage, std::string_view name_of_fact) const {
  if (const Printed* own = stage.fact(name_of_fact)) return own;
  const auto found = facts.find(std::string(name_of_fact));
  return found == facts.end() ? nullptr : &found->second;
}

const ReportedRun* ReportedTable::run(std::string_view name_of_run) const {
  const auto found =
      std::ranges::find_if(runs, [&](const ReportedRun& run) { return run.name == name_of_run; });
  return found == runs.end() ? nullptr : &*found;
}

ReportedTable with_stages(const ReportedTable& table) {
  ReportedTable judged = table;
  for (ReportedRun& run : judged.runs) {
    const bool is_said = std::ranges::any_of(
        run.stages, [](const ReportedStage& stage) { return !stage.facts.empty(); });
    if (is_said || run.facts.empty()) continue;
    run.stages.emplace_back();
    run.stages.back().facts = run.facts;
  }
  return judged;
}

std::string cell_name(const ReportedStage& stage, std::string_view label) {
  return stage.name.empty() ? std::string(label) : fmt::format("{} {}", stage.name, label);
}

}  // namespace nb
