// A table of figures as a value: text, JSON and CSV are three views of it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "harness/base/json_io.hpp"
#include "harness/base/language.hpp"
#include "harness/base/table.hpp"
#include "harness/profiler/sentences.hpp"

namespace nb::profiler {

enum class Unit {
  kText,
  kWord,  // a key of the table of sentences
  kCount,
  kTime,       // ns; shown as µs with three decimals
  kShare,      // of 1; shown as %
  kMegabytes,  // shown with two decimals
  kFlop,
  kBytes,
  kTflops,
  kTbs,  // TB/s
  kGbs,  // GB/s
  kRatio,
};

struct Column {
  std::string_view key;  // JSON's key, and the key of the header's sentence ("column." in front)
  Unit unit = Unit::kText;
  bool is_detail = false;  // in JSON and CSV alone: a terminal is 80 columns wide
};

// monostate: not known.
using Cell = std::variant<std::monostate, std::string, std::int64_t, double>;

struct Table {
  std::string_view key;  // "steps"
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;
  std::vector<Said> notes;
  std::size_t shown = 0;  // of a long table, as text: the first rows; 0: all
};

// The columns and rows that people see.
TextTable shown_table(const Table& table, Language language);
std::string text_of(const Table& table, Language language);
Json json_of(const Table& table);  // a list of objects; what is not known is null
std::string csv_of(const Table& table);
// "8,873.756": ns as µs, to the last digit.
std::string microseconds_text(std::int64_t time_ns);
std::string milliseconds_text(std::int64_t time_ns, int decimals = 1);
std::string percent_text(double share);

}  // namespace nb::profiler
