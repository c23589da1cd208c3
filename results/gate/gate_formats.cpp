#include "results/gate/gate_formats.hpp"

#include <fmt/format.h>

#include "harness/base/markdown.hpp"
#include "harness/base/visible_text.hpp"
#include "results/text/format.hpp"

namespace nb {
namespace {

// Inside an attribute or an element: what XML 1.0 forbids is shown as elsewhere.
std::string xml(std::string_view text) {
  std::string out;
  for (const char c : visible_text(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\n':
      case '\t':  // an attribute would turn them into spaces
        out += fmt::format("&#{};", static_cast<int>(c));
        break;
      default:
        out += c;
    }
  }
  return out;
}

// A cell of a table: one line, no bar that ends it.
std::string cell(std::string_view text) {
  std::string out;
  for (const char c : markdown_text(text)) {
    if (c == '|') out += '\\';
    out += c;
  }
  return out;
}

enum class Outcome { kPassed, kFailed, kBroken, kSkipped };

Outcome outcome_of(const TaskVerdict& v, bool strict) {
  switch (v.verdict) {
    case Verdict::kRegressed:
    case Verdict::kSuspicious:
      return Outcome::kFailed;
    case Verdict::kError:
    case Verdict::kIncomparable:
      return Outcome::kBroken;
    case Verdict::kInconclusive:
      return strict ? Outcome::kFailed : Outcome::kSkipped;
    case Verdict::kImproved:
    case Verdict::kPass:
      return Outcome::kPassed;
  }
  return Outcome::kBroken;
}

std::string test_case(const TaskVerdict& v, Outcome outcome) {
  std::string text =
      fmt::format("    <testcase classname=\"{}\" name=\"{}\"", xml(visible_line(v.where)),
                  xml(visible_line(v.metric.empty() ? "the record" : v.metric)));
  const std::string said = visible_line(fmt::format("{}: {}", name(v.verdict), text_of(v.reason)));
  const auto element = [&](const char* tag, bool typed) {
    return fmt::format(">\n      <{}{} message=\"{}\"/>\n    </testcase>\n", tag,
                       typed ? fmt::format(" type=\"{}\"", name(v.verdict)) : "", xml(said));
  };
  switch (outcome) {
    case Outcome::kFailed:
      return text + element("failure", true);
    case Outcome::kBroken:
      return text + element("error", true);
    case Outcome::kSkipped:
      return text + element("skipped", false);
    case Outcome::kPassed:
      break;
  }
  return text + fmt::format(">\n      <system-out>{}</system-out>\n    </testcase>\n", xml(said));
}

std::string table_row(const TaskVerdict& v) {
  const auto number = [](const std::optional<double>& value) {
    return value ? fmt::format("{:.6g}", *value) : std::string();
  };
  const std::string interval =
      v.interval95 ? fmt::format("[{:+.4g}, {:+.4g}]", v.interval95->low, v.interval95->high) : "";
  return fmt::format("| {} | {} | {} | {} | {} | {} | {} |\n", name(v.verdict),
                     cell(v.metric.empty() ? "the record" : v.metric), cell(v.where), number(v.a),
                     number(v.b), interval, cell(text_of(v.reason)));
}

constexpr const char* kTableHead =
    "| verdict | metric | where | base | candidate | 95 % interval | why |\n"
    "|---|---|---|--:|--:|---|---|\n";

std::string list_text(const std::string& title, const std::vector<Sentence>& lines) {
  if (lines.empty()) return {};
  std::string text = "\n" + title + "\n\n";
  for (const Sentence& line : lines) text += "- " + markdown_line(text_of(line)) + "\n";
  return text;
}

}  // namespace

std::string gate_junit(const GateResult& result) {
  const bool strict = result.exit_code == 2;
  std::string cases;
  std::size_t failed = 0, broken = 0, skipped = 0;
  for (const TaskVerdict& v : result.verdicts) {
    const Outcome outcome = outcome_of(v, strict);
    failed += outcome == Outcome::kFailed ? 1 : 0;
    broken += outcome == Outcome::kBroken ? 1 : 0;
    skipped += outcome == Outcome::kSkipped ? 1 : 0;
    cases += test_case(v, outcome);
  }
  const std::string counts =
      fmt::format("name=\"npubench gate\" tests=\"{}\" failures=\"{}\" errors=\"{}\"",
                  result.verdicts.size(), failed, broken);
  std::string said = visible_line(gate_headline(result));
  for (const Sentence& alert : result.alerts) said += "\n" + visible_line(text_of(alert));
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {}>\n"
      "  <testsuite {} skipped=\"{}\">\n{}    <system-out>{}</system-out>\n"
      "  </testsuite>\n</testsuites>\n",
      counts, counts, skipped, cases, xml(said));
}

std::string gate_markdown(const GateResult& result) {
  std::string text = fmt::format("**{}**\n", cell(gate_headline(result)));
  for (const Sentence& alert : result.alerts)
    text += fmt::format("\n**{}**\n", cell(text_of(alert)));
  text += list_text("What to know first:", result.findings);
  if (!result.likely_cause.empty() && result.night != Verdict::kPass)
    text += fmt::format("\nLikely cause: {}\n", cell(text_of(result.likely_cause)));
  std::string open, green;
  std::size_t passed = 0;
  for (const TaskVerdict& v : result.verdicts) {
    const bool is_green = v.verdict == Verdict::kPass || v.verdict == Verdict::kImproved;
    passed += is_green ? 1 : 0;
    (is_green ? green : open) += table_row(v);
  }
  if (!open.empty()) text += "\n" + std::string(kTableHead) + open;
  if (!green.empty())
    text += fmt::format("\n<details><summary>{} checks passed</summary>\n\n{}{}\n</details>\n",
                        passed, kTableHead, green);
  if (result.uncalibrated)
    text += "\nUncalibrated: no noise profile; margins are max(1 pp, 6/n) for answers.\n";
  if (!result.notes.empty())
    text += fmt::format("\n<details><summary>notes</summary>\n{}\n</details>\n",
                        list_text("", result.notes));
  return text;
}

}  // namespace nb
