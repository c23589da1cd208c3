#include "harness/doctor/tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "harness/base/check.hpp"
#include "harness/base/csv.hpp"

namespace nb::doctor {
namespace {

// A table, cell by cell under the names of its columns.
class Table {
 public:
  explicit Table(std::string_view wanted) {
    const auto texts = table_texts();
    const auto text = std::find_if(texts.begin(), texts.end(),
                                   [&](const TableText& table) { return table.name == wanted; });
    NB_CHECK(text != texts.end(), "no table {}", wanted);
    auto parsed = parse_csv(text->text, std::string(wanted) + ".csv");
    NB_CHECK(parsed.has_value(), "{}", parsed.error().message);
    table_ = std::move(*parsed);
  }
  std::size_t size() const { return table_.rows.size(); }
  const std::string& at(std::size_t row, std::string_view column) const {
    const auto index = table_.column(column);
    NB_CHECK(index.has_value(), "{}", index.error().message);
    return table_.rows[row][*index];
  }

 private:
  CsvTable table_;
};

State severity_of(const std::string& text) {
  if (text == "FAIL") return State::kFail;
  if (text == "WARN") return State::kWarn;
  NB_CHECK(text == "NOTE", "severity {}", text);
  return State::kNote;
}

std::vector<EnvironmentRow> read_environment() {
  const Table table("environment");
  const Table terms("environment_terms_zh");
  std::map<std::string, std::string> chinese;
  for (std::size_t i = 0; i < terms.size(); ++i)
    chinese[terms.at(i, "text")] = terms.at(i, "text_zh");
  std::vector<EnvironmentRow> rows;
  for (std::size_t i = 0; i < table.size(); ++i) {
    EnvironmentRow row;
    row.variable = table.at(i, "variable");
    row.values = table.at(i, "values");
    row.fallback = table.at(i, "default");
    row.what = table.at(i, "what");
    row.effect = table.at(i, "effect");
    row.what_zh = chinese[row.what];
    row.effect_zh = chinese[row.effect];
    row.source = table.at(i, "source");
    row.rule = table.at(i, "rule");
    if (!row.rule.empty()) row.severity = severity_of(table.at(i, "severity"));
    row.condition = table.at(i, "condition");
    row.example = table.at(i, "example");
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<VersionRow> read_versions() {
  const Table table("versions");
  std::vector<VersionRow> rows;
  for (std::size_t i = 0; i < table.size(); ++i)
    rows.push_back({table.at(i, "component"), table.at(i, "version"), table.at(i, "requires"),
                    table.at(i, "required_version"), table.at(i, "level"), table.at(i, "source"),
                    table.at(i, "commit"), table.at(i, "note")});
  return rows;
}

std::vector<SentenceRow> read_sentences() {
  std::vector<SentenceRow> rows;
  const Table table("sentences");
  for (std::size_t i = 0; i < table.size(); ++i)
    rows.push_back({table.at(i, "key"), table.at(i, "sentence"), table.at(i, "remedy"),
                    table.at(i, "sentence_zh"), table.at(i, "remedy_zh"), table.at(i, "source")});
  const Table chinese("environment_zh");
  std::map<std::string, std::pair<std::string, std::string>> translated;
  for (std::size_t i = 0; i < chinese.size(); ++i)
    translated[chinese.at(i, "rule")] = {chinese.at(i, "sentence"), chinese.at(i, "remedy")};
  const Table environment("environment");
  for (std::size_t i = 0; i < environment.size(); ++i) {
    const std::string& rule = environment.at(i, "rule");
    if (rule.empty()) continue;
    const auto& [sentence, remedy] = translated[rule];
    rows.push_back({rule, environment.at(i, "sentence"), environment.at(i, "remedy"), sentence,
                    remedy, environment.at(i, "source")});
  }
  std::sort(rows.begin(), rows.end(),
            [](const SentenceRow& a, const SentenceRow& b) { return a.key < b.key; });
  return rows;
}

}  // namespace

std::string_view name(State state) {
  switch (state) {
    case State::kPass:
      return "pass";
    case State::kNote:
      return "note";
    case State::kWarn:
      return "warn";
    case State::kFail:
      return "fail";
    case State::kSkip:
      return "skip";
    case State::kUnknown:
      return "unknown";
  }
  return "unknown";
}

std::string VersionRow::cited() const {
  const bool has_commit = !commit.empty() && commit != "page" && commit != "issue";
  return has_commit ? source + "@" + commit : source;
}

std::span<const EnvironmentRow> environment_rows() {
  static const std::vector<EnvironmentRow> rows = read_environment();
  return rows;
}

const EnvironmentRow* find_variable(std::string_view variable) {
  const auto rows = environment_rows();
  // Of several the first says what it is, the others are rules.
  const auto row = std::find_if(rows.begin(), rows.end(),
                                [&](const EnvironmentRow& r) { return r.variable == variable; });
  return row == rows.end() ? nullptr : &*row;
}

const EnvironmentRow* find_rule(std::string_view rule) {
  const auto rows = environment_rows();
  const auto row = std::find_if(rows.begin(), rows.end(),
                                [&](const EnvironmentRow& r) { return r.rule == rule; });
  return row == rows.end() || rule.empty() ? nullptr : &*row;
}

std::span<const VersionRow> version_rows() {
  static const std::vector<VersionRow> rows = read_versions();
  return rows;
}

std::span<const SentenceRow> sentence_rows() {
  static const std::vector<SentenceRow> rows = read_sentences();
  return rows;
}

const SentenceRow* find_sentence(std::string_view key) {
  const auto rows = sentence_rows();
  const auto row =
      std::lower_bound(rows.begin(), rows.end(), key,
                       [](const SentenceRow& r, std::string_view k) { return r.key < k; });
  return row == rows.end() || row->key != key ? nullptr : &*row;
}

}  // namespace nb::doctor
