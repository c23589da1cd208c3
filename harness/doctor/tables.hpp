// The tables of this folder (*.csv, built into the program): what variables, versions and messages
// mean, with the source of each row. They are read once; a broken one is our own mistake.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "harness/base/language.hpp"

namespace nb::doctor {

struct TableText {
  std::string_view name;  // "environment"
  std::string_view text;  // the CSV
};
std::span<const TableText> table_texts();

enum class State { kPass, kNote, kWarn, kFail, kSkip, kUnknown };
std::string_view name(State state);  // "pass", "note", "warn", "fail", "skip", "unknown"

// environment.csv: a variable that programs read, and at most one rule about it.
struct EnvironmentRow {
  std::string variable;  // "HCCL_IF_IP"; "NCCL_*" and "A_*|B_*": by beginnings; "script": a line
  std::string values, fallback, what, effect, source;
  std::string what_zh, effect_zh;  // of environment_terms_zh.csv
  std::string rule;                // "ENV160"; empty: the row only says what the variable is
  State severity = State::kNote;
  std::string condition;  // condition.hpp
  std::string example;    // a text that the rule finds something in; read by tests alone
};
std::span<const EnvironmentRow> environment_rows();
// The row that describes the variable; nullptr: unknown.
const EnvironmentRow* find_variable(std::string_view variable);
const EnvironmentRow* find_rule(std::string_view rule);  // nullptr: unknown

// versions.csv: what a version of a component was released for.
struct VersionRow {
  std::string component, version, requires_component, required, level, source, commit, note;
  std::string cited() const;  // "Ascend/pytorch@9e73e708ab93"
};
std::span<const VersionRow> version_rows();

// sentences.csv and the sentences of environment.csv, whose Chinese is in environment_zh.csv.
struct SentenceRow {
  std::string key;  // "VER1", "ENV160"
  std::string sentence, remedy, sentence_zh, remedy_zh;
  std::string source;
};
const SentenceRow* find_sentence(std::string_view key);  // nullptr: none
std::span<const SentenceRow> sentence_rows();

}  // namespace nb::doctor
