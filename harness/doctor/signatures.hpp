// What lines of logs mean: the rows of signatures.csv, and for codes without a row their class.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/language.hpp"

namespace nb::doctor {

enum class Role { kCause, kConsequence, kWrapper, kWarning, kUnknown };
std::string_view name(Role role);  // "cause", "consequence", "wrapper", "warning", "unknown"

struct SignatureRow {
  std::string id, area;
  Role role = Role::kUnknown;
  std::string pattern, meaning, check_first, remedy, what_worked, source, example;
  std::string meaning_zh, check_first_zh, remedy_zh;  // of signatures_zh.csv
};
std::span<const SignatureRow> signature_rows();

// What the first line of a Python traceback has.
constexpr std::string_view kTracebackBegins = "Traceback (most recent call last)";

// What a C++ exception that nobody caught said: libstdc++ vterminate.cc.
constexpr std::string_view kWhatHint = "what():  ";
// When a collective that timed out was begun: hicann/hccl, TaskExceptionHandler.
constexpr std::string_view kLaunchHint = "opData information is timeStamp:[";

// How a line is known, from what says most to what says least.
enum class Naming {
  kRow,        // a row of the table
  kCode,       // a code without a row
  kCrash,      // crash_lines.hpp
  kException,  // an exception's name
  kPassedOn,   // of one that only says that another process failed
  kLogger,     // a line that its program calls an error
};

// What one line says.
struct Matched {
  Naming naming = Naming::kRow;
  const SignatureRow* row = nullptr;  // nullptr: a code without a row
  std::string code;                   // of a row its id; else "EI0022", "507021", "ValueError"
  std::string meaning;                // of a class: "HCCL, collective communication"
  std::string meaning_zh;
  std::vector<std::string> groups;  // what the row's expression captured
};
// line: without its line break, colours taken off. The first row of the table that matches it wins,
// one that only passes on an error last, then classes of codes, then an exception's name. Nothing:
// an ordinary line. Not for two threads at once.
std::optional<Matched> match_line(std::string_view line);
// Where a line that match_line may know something of ends, at or behind `from`: a text without any
// is passed over quickly. npos: none is left.
std::size_t next_hint(std::string_view text, std::size_t from);

// What the class of a code is ("EI0022" → HCCL …); empty: no class is known.
std::string class_of_code(std::string_view code, Language language = Language::kEn);

// The last line of a traceback, whatever its exception's name ends in.
std::optional<Matched> match_exception(std::string_view line);

}  // namespace nb::doctor
