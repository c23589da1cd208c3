#include "harness/doctor/rules_text.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "harness/doctor/check.hpp"
#include "harness/doctor/tables.hpp"

namespace nb::doctor {

std::string rules_text(Language language) {
  std::string text;
  for (const EnvironmentRow& row : environment_rows()) {
    if (row.rule.empty()) continue;
    const Said said{row.rule, {}};
    text +=
        fmt::format("{}  {}  {}  {}\n", row.rule, name(row.severity), row.variable, row.condition);
    text += fmt::format("        {}\n", sentence_of(said, language));
    if (const std::string remedy = remedy_of(said, language); !remedy.empty())
      text += fmt::format("        → {}\n", remedy);
    text += fmt::format("        {}\n", row.source);
  }
  for (const SentenceRow& row : sentence_rows()) {
    if (row.key.starts_with("ENV") || row.source.empty()) continue;
    const Said said{row.key, {}};
    text += fmt::format("{}\n        {}\n        {}\n", row.key, sentence_of(said, language),
                        row.source);
  }
  text += fmt::format("{} rows of versions\n", version_rows().size());
  return text;
}

Json rules_json() {
  Json rules = Json::array();
  for (const EnvironmentRow& row : environment_rows())
    rules.push_back({{"variable", row.variable},
                     {"values", row.values},
                     {"default", row.fallback},
                     {"what", row.what},
                     {"effect", row.effect},
                     {"rule", row.rule.empty() ? Json(nullptr) : Json(row.rule)},
                     {"severity", row.rule.empty() ? Json(nullptr) : Json(name(row.severity))},
                     {"condition", row.condition},
                     {"example", row.example},
                     {"source", row.source}});
  Json sentences = Json::array();
  for (const SentenceRow& row : sentence_rows())
    sentences.push_back({{"key", row.key},
                         {"sentence", row.sentence},
                         {"remedy", row.remedy},
                         {"source", row.source}});
  Json versions = Json::array();
  for (const VersionRow& row : version_rows())
    versions.push_back({{"component", row.component},
                        {"version", row.version},
                        {"requires", row.requires_component},
                        {"required_version", row.required},
                        {"level", row.level},
                        {"source", row.cited()},
                        {"note", row.note}});
  return {{"schema", "npubench.doctor_rules/1"},
          {"environment", rules},
          {"sentences", sentences},
          {"versions", versions}};
}

}  // namespace nb::doctor
