#include "harness/doctor/explain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "harness/base/fields.hpp"
#include "harness/base/text_width.hpp"
#include "harness/doctor/check.hpp"
#include "harness/doctor/signatures.hpp"
#include "harness/doctor/tables.hpp"

namespace nb::doctor {
namespace {

struct Explained {
  std::vector<const EnvironmentRow*> environment;
  std::vector<const SignatureRow*> signatures;
  std::vector<const SentenceRow*> sentences;
  std::string code_class;  // of a code; empty: it is none
  bool empty() const {
    return environment.empty() && signatures.empty() && sentences.empty() && code_class.empty();
  }
};

Explained rows_about(const std::string& name) {
  Explained found;
  for (const EnvironmentRow& row : environment_rows())
    if (row.variable == name || row.rule == name) found.environment.push_back(&row);
  for (const SignatureRow& row : signature_rows()) {
    // A code stands in the expression of its row.
    const bool is_code = name.size() >= 5 && std::any_of(name.begin(), name.end(), [](char c) {
                           return c >= '0' && c <= '9';
                         });
    if (row.id == name || (is_code && row.pattern.find(name) != std::string::npos))
      found.signatures.push_back(&row);
  }
  for (const SentenceRow& row : sentence_rows())
    if (!row.source.empty() && !row.key.starts_with("ENV") &&
        (row.key == name || row.key.starts_with(name + ".")))
      found.sentences.push_back(&row);
  found.code_class = class_of_code(name);
  return found;
}

Result<Explained> explained(const std::string& name) {
  Explained found = rows_about(name);
  if (!found.empty()) return found;
  std::vector<std::string> known;
  for (const EnvironmentRow& row : environment_rows()) {
    known.push_back(row.variable);
    if (!row.rule.empty()) known.push_back(row.rule);
  }
  for (const SignatureRow& row : signature_rows()) known.push_back(row.id);
  return bad_input(fmt::format("nothing is known of \"{}\"{}", name, did_you_mean(name, known)));
}

// label: of sentences.csv, "label.source".
void add_line(std::string& text, Language language, std::string_view label,
              const std::string& value) {
  if (value.empty()) return;
  std::string shown = sentence_of({"label." + std::string(label), {}}, language);
  constexpr std::size_t kWidth = 9;
  if (const std::size_t width = display_width(shown); width < kWidth)
    shown.append(kWidth - width, ' ');
  text += fmt::format("  {} {}\n", shown, value);
}

}  // namespace

Result<std::string> explain_text(const std::string& name, Language language) {
  NB_TRY(const Explained found, explained(name));
  const bool in_chinese = language == Language::kZh;
  std::string text;
  for (const EnvironmentRow* row : found.environment) {
    text +=
        row->variable +
        (row->rule.empty() ? ""
                           : fmt::format("  {} {}", row->rule, nb::doctor::name(row->severity))) +
        "\n";
    add_line(text, language, "what", in_chinese ? row->what_zh : row->what);
    add_line(text, language, "values", row->values);
    add_line(text, language, "default", row->fallback);
    add_line(text, language, "effect", in_chinese ? row->effect_zh : row->effect);
    if (!row->rule.empty()) {
      const Said said{row->rule, {}};
      add_line(text, language, "when", row->condition);
      add_line(text, language, "finding", sentence_of(said, language));
      add_line(text, language, "remedy", remedy_of(said, language));
    }
    add_line(text, language, "source", row->source);
  }
  for (const SignatureRow* row : found.signatures) {
    text += fmt::format("{}  {}, {}\n", row->id, row->area, nb::doctor::name(row->role));
    add_line(text, language, "meaning",
             in_chinese && !row->meaning_zh.empty() ? row->meaning_zh : row->meaning);
    add_line(text, language, "look_at",
             in_chinese && !row->check_first_zh.empty() ? row->check_first_zh : row->check_first);
    add_line(text, language, "remedy",
             in_chinese && !row->remedy_zh.empty() ? row->remedy_zh : row->remedy);
    add_line(text, language, "worked", row->what_worked);
    add_line(text, language, "example", row->example);
    add_line(text, language, "source", row->source);
  }
  for (const SentenceRow* row : found.sentences) {
    const Said said{row->key, {}};
    text += row->key + "\n";
    add_line(text, language, "finding", sentence_of(said, language));
    add_line(text, language, "remedy", remedy_of(said, language));
    add_line(text, language, "source", row->source);
  }
  if (!found.code_class.empty())
    text +=
        fmt::format("{}: {}{}\n", name, class_of_code(name, language),
                    found.signatures.empty() ? sentence_of({"label.no_row", {}}, language) : "");
  return text;
}

Result<Json> explain_json(const std::string& name) {
  NB_TRY(const Explained found, explained(name));
  Json json = {{"schema", "npubench.doctor_explain/1"},
               {"name", name},
               {"class", found.code_class.empty() ? Json(nullptr) : Json(found.code_class)},
               {"environment", Json::array()},
               {"signatures", Json::array()},
               {"checks", Json::array()}};
  for (const EnvironmentRow* row : found.environment)
    json["environment"].push_back({{"variable", row->variable},
                                   {"rule", row->rule},
                                   {"what", row->what},
                                   {"values", row->values},
                                   {"default", row->fallback},
                                   {"effect", row->effect},
                                   {"condition", row->condition},
                                   {"source", row->source}});
  for (const SignatureRow* row : found.signatures)
    json["signatures"].push_back({{"id", row->id},
                                  {"role", std::string(nb::doctor::name(row->role))},
                                  {"meaning", row->meaning},
                                  {"check_first", row->check_first},
                                  {"remedy", row->remedy},
                                  {"what_worked", row->what_worked},
                                  {"source", row->source}});
  for (const SentenceRow* row : found.sentences)
    json["checks"].push_back({{"id", row->key},
                              {"sentence", row->sentence},
                              {"remedy", row->remedy},
                              {"source", row->source}});
  return json;
}

}  // namespace nb::doctor
