// Reads logs piece by piece, in memory that does not grow with them: programs' output, plog, dmesg;
// UTF-8, GBK, UTF-16, with colours, carriage returns, zero bytes, lines without an end.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "harness/doctor/signatures.hpp"

namespace nb::doctor {

// Equal ones of a rank are one, with the first's line.
struct LogEvent {
  std::string code;                   // a row's id, else a code or an exception's name
  const SignatureRow* row = nullptr;  // nullptr: not in the table
  std::string meaning, meaning_zh;    // of what is not in the table: its class
  Role role = Role::kUnknown;
  Naming naming = Naming::kRow;
  std::string raised_in;  // of an exception: "mindspeed/core/arguments.py:33 in check"
  std::string rank = "?";
  std::optional<std::int64_t> time_ns;  // of a clock without a zone, since 1970
  bool has_own_time = false;            // else that of a line shortly before
  std::string file;
  long long line = 0;                   // from 1
  std::string text;                     // at most 4,096 bytes
  std::vector<std::string> more_texts;  // some of the later ones that read differently
  std::vector<std::string> groups;
  long long count = 1;
};

struct LogReading {
  std::vector<LogEvent> events;
  std::set<std::string> ranks;  // that any file or line is of
  // When a rank began the collective that it waited in at last (opData of plog).
  std::map<std::string, std::int64_t> launch_ns;
  std::map<std::string, std::string> launch_count;  // elements and type of it: "16512 fp32"
  long long lines = 0, bytes = 0;
  long long dropped = 0;  // kinds of events beyond what is kept
};

class LogScan {
 public:
  LogScan();
  ~LogScan();
  // A new file. Its rank is in its name where that has one: rank_3, rank-3.txt, worker-3.
  void begin(const std::string& name);
  void feed(std::string_view bytes);
  void end();
  // After the last file: ranks of processes are joined.
  LogReading take();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Texts of two bytes per character, by their mark or, without one, by their zero bytes.
enum class Wide { kNo, kLittle, kBig };
struct WideText {
  Wide unit = Wide::kNo;
  std::size_t mark = 0;  // bytes of the mark
};
WideText wide_of(std::string_view begin);

// "2025-07-23-03:47:57.070.463", "2026-01-02T03:04:05.6", "[W326 11:48:12.3": the last one in the
// text.
std::optional<std::int64_t> time_in(std::string_view text);
std::string time_text(std::int64_t time_ns);  // "03:47:57.070"

}  // namespace nb::doctor
