#include "harness/doctor/log_scan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstring>
#include <utility>

#include "harness/doctor/pattern.hpp"

namespace nb::doctor {
namespace {

constexpr std::size_t kLongestLine = 4096;  // bytes that are looked at
constexpr std::size_t kLookBack = 4096;     // bytes before a line that its time may stand in
constexpr std::size_t kMostKinds = 4096;    // of events
constexpr std::size_t kMostTexts = 8;       // of one event
constexpr std::int64_t kNoYear = 400LL * 86400 * 1'000'000'000;  // times before it lack a year

int integer(std::string_view text) {
  int value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// "070" → 70,000,000 ns; "0704" → 70,400,000.
std::int64_t fraction_ns(std::string_view digits) {
  std::int64_t value = 0, unit = 100'000'000;
  for (const char digit : digits) {
    if (unit == 0) break;
    value += (digit - '0') * unit;
    unit /= 10;
  }
  return value;
}

std::int64_t at(int year, int month, int day, int hour, int minute, int second) {
  using namespace std::chrono;
  const sys_days date = std::chrono::year(year) / std::clamp(month, 1, 12) / std::clamp(day, 1, 28);
  const auto days = date.time_since_epoch().count() + (day - std::clamp(day, 1, 28));
  return (static_cast<std::int64_t>(days) * 86400 + hour * 3600 + minute * 60 + second) *
         1'000'000'000;
}

std::string without_colours(std::string_view line) {
  std::string plain;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\x1b' && i + 1 < line.size() && line[i + 1] == '[') {
      i += 2;
      while (i < line.size() && (line[i] < '@' || line[i] > '~')) ++i;
      continue;
    }
    if (line[i] != '\0') plain += line[i];
  }
  return plain;
}

// Of the line that text[at] is in, or ends. The library's find_first_of of two characters takes a
// call per character.
bool ends_line(char c) { return c == '\n' || c == '\r'; }
std::size_t begin_of(std::string_view text, std::size_t at) {
  while (at > 0 && !ends_line(text[at - 1])) --at;
  return at;
}
std::size_t end_of(std::string_view text, std::size_t at) {
  while (at < text.size() && !ends_line(text[at])) ++at;
  return at;
}

// The last three parts of a path, from the package on where it is an installed one.
std::string short_path(std::string_view path) {
  for (const std::string_view folder : {"/site-packages/", "/dist-packages/"})
    if (const std::size_t at = path.rfind(folder); at != path.npos)
      return std::string(path.substr(at + folder.size()));
  std::size_t at = path.size();
  for (int parts = 0; parts < 3 && at != path.npos && at > 0; ++parts) at = path.rfind('/', at - 1);
  return std::string(at == path.npos || at == 0 ? path : path.substr(at + 1));
}

std::string rank_of_name(const std::string& name) {
  static const Pattern rank(R"((?:rank|worker|proc)[_-]?(\d{1,6})(?!.*(?:rank|worker)[_-]?\d))");
  const auto m = rank.match(name);
  return m.size() == 2 ? std::string(m[1]) : "?";
}

}  // namespace

WideText wide_of(std::string_view begin) {
  if (begin.starts_with("\xFF\xFE")) return {Wide::kLittle, 2};
  if (begin.starts_with("\xFE\xFF")) return {Wide::kBig, 2};
  // Mostly ASCII: every other byte is zero, and none of the rest.
  constexpr std::size_t kLooked = 256, kLeast = 16;
  begin = begin.substr(0, kLooked);
  if (begin.size() < kLeast) return {};
  std::size_t zeros[2] = {};
  for (std::size_t i = 0; i < begin.size(); ++i) zeros[i % 2] += begin[i] == '\0' ? 1U : 0U;
  const std::size_t most = begin.size() / 2 * 3 / 4;
  if (zeros[0] == 0 && zeros[1] > most) return {Wide::kLittle, 0};
  if (zeros[1] == 0 && zeros[0] > most) return {Wide::kBig, 0};
  return {};
}

std::optional<std::int64_t> time_in(std::string_view text) {
  static const Pattern full(
      R"((?:^|.*\D)(20\d\d)-(\d\d)-(\d\d)[-T ](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,6})(?:\.(\d{3}))?)?)");
  static const Pattern short_one(
      R"(\[?[WEIF](\d{1,2}?)(\d\d) (\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?)");
  if (const auto m = full.match(text); m.size() >= 7) {
    std::string digits(m.size() > 7 ? m[7] : "");
    if (m.size() > 8) digits += m[8];
    return at(integer(m[1]), integer(m[2]), integer(m[3]), integer(m[4]), integer(m[5]),
              integer(m[6])) +
           fraction_ns(digits);
  }
  if (const auto m = short_one.match(text); m.size() >= 6)
    return at(1970, integer(m[1]), integer(m[2]), integer(m[3]), integer(m[4]), integer(m[5])) +
           fraction_ns(m.size() > 6 ? m[6] : "");
  return std::nullopt;
}

std::string time_text(std::int64_t time_ns) {
  const std::int64_t ms = time_ns / 1'000'000;
  return fmt::format("{:02}:{:02}:{:02}.{:03}", ms / 3'600'000 % 24, ms / 60'000 % 60,
                     ms / 1000 % 60, ms % 1000);
}

struct LogScan::State {
  LogReading reading;
  std::map<std::pair<std::string, std::string>, std::size_t> places;  // rank, code → event
  std::map<std::string, std::string> rank_of_process;
  std::map<std::size_t, std::string> process_of;  // event → its process, where no rank is known

  std::string file, file_rank;
  std::string buffer;
  std::string tail;            // of what was read before it
  long long lines_before = 0;  // of the buffer
  bool is_first = true, is_skipping = false;
  Wide wide = Wide::kNo;
  bool has_half = false;
  char half = 0;
  std::string context_rank = "?";  // of the last line that named one
  long long context_line = 0;
  // The traceback that is being read: its lines begin as its first one does.
  struct Traceback {
    std::string prefix, raised_in;
    int left = 0;  // lines that it may still have; 0: none is read
  } traceback;

  // A collective that a rank or, where that is not known, a process began.
  struct Launch {
    std::string rank, process;
    std::int64_t time_ns;
    std::string count;
  };
  std::vector<Launch> launches;
  static std::string launched_in(std::string_view line) {
    static const Pattern count(R"(count\[(\d{1,15})\])"), type(R"(dataType\[(\w{1,12})\])");
    std::string text;
    for (const Pattern* pattern : {&count, &type})
      if (const auto m = pattern->match(line); m.size() == 2) text += std::string(m[1]) + " ";
    return text;
  }

  void add_text(std::string_view bytes) {
    if (wide == Wide::kNo) {
      buffer.append(bytes);
      return;
    }
    // What is not ASCII is no part of a message that the table knows.
    for (const char byte : bytes) {
      if (!has_half) {
        half = byte;
        has_half = true;
        continue;
      }
      has_half = false;
      const char low = wide == Wide::kLittle ? half : byte;
      const char high = wide == Wide::kLittle ? byte : half;
      buffer += high == 0 ? low : '?';
    }
  }

  void drop(std::size_t count) {
    const auto lines =
        std::count(buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(count), '\n');
    lines_before += lines;
    reading.lines += lines;
    buffer.erase(0, count);
  }

  // Lines that have ended, or all that is there.
  void scan(bool is_last) {
    std::size_t end = buffer.size();
    if (!is_last) {
      const std::size_t last = buffer.find_last_of('\n');
      if (last != std::string::npos) {
        end = last + 1;
      } else if (buffer.size() < 2 * kLongestLine) {
        return;
      } else if (is_skipping) {
        buffer.clear();
        return;
      }
    }
    const std::string_view text(buffer.data(), end);
    std::size_t from = 0;
    if (is_skipping) {
      const std::size_t line_end = text.find('\n');
      from = line_end == text.npos ? text.size() : line_end + 1;
      is_skipping = false;
    }
    std::size_t counted = 0;
    long long line_number = lines_before;
    for (;;) {
      const bool is_traceback = traceback.left > 0 && from < text.size();
      const std::size_t hit = is_traceback ? from : next_hint(text, from);
      if (hit == text.npos || hit > text.size()) break;
      std::size_t begin = is_traceback ? hit : begin_of(text, hit);
      // What a truncated file begins with: a hole of zero bytes, without a line's end.
      if (hit - begin > kLongestLine && hit > 0)
        if (const std::size_t zero = text.rfind('\0', hit - 1); zero != text.npos && zero >= begin)
          begin = zero + 1;
      const std::size_t stop = end_of(text, hit);
      line_number += std::count(text.begin() + static_cast<std::ptrdiff_t>(counted),
                                text.begin() + static_cast<std::ptrdiff_t>(begin), '\n');
      counted = begin;
      if (hit - begin <= kLongestLine) take_line(text, begin, stop, line_number + 1);
      if (stop >= text.size()) break;
      from = stop + 1;
    }
    if (end == buffer.size() && !is_last && buffer.back() != '\n') {
      is_skipping = true;  // of a line without an end the beginning has been looked at
      buffer.clear();
      return;
    }
    // The time of a line may stand in one before.
    tail.append(text.substr(text.size() > kLookBack ? text.size() - kLookBack : 0));
    if (tail.size() > kLookBack) tail.erase(0, tail.size() - kLookBack);
    drop(end);
  }

  // At most kLookBack bytes that stand before buffer[begin].
  std::string before(std::size_t begin) const {
    if (begin >= kLookBack) return buffer.substr(begin - kLookBack, kLookBack);
    const std::size_t more = std::min(kLookBack - begin, tail.size());
    return tail.substr(tail.size() - more) + buffer.substr(0, begin);
  }

  std::string process_in(std::string_view line) const {
    static const Pattern process(
        R"([A-Z_]{2,12}\((\d{1,9}),|\(PID:(\d{1,9})|\bpid[:=] ?(\d{1,9}))");
    const auto m = process.match(line);
    for (std::size_t i = 1; i < m.size(); ++i)
      if (!m[i].empty()) return std::string(m[i]);
    return "";
  }
  static std::string rank_in(std::string_view line) {
    static const Pattern rank(
        R"(\[rank(\d{1,6})\]|\bRankID:(\d{1,6})|\brank=(\d{1,6})|^\[?Rank (\d{1,6})\b|\[[Rr]ank[: ](\d{1,6})\]|\brank\s*: (\d{1,6}) \(local_rank)");
    const auto m = rank.match(line);
    for (std::size_t i = 1; i < m.size(); ++i)
      if (!m[i].empty()) return std::string(m[i]);
    return "?";
  }

  // As the first line of the traceback, digits apart: times go on.
  bool has_prefix(std::string_view line) const {
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    if (line.size() < traceback.prefix.size()) return false;
    for (std::size_t i = 0; i < traceback.prefix.size(); ++i)
      if (line[i] != traceback.prefix[i] && !(is_digit(line[i]) && is_digit(traceback.prefix[i])))
        return false;
    return true;
  }

  // Its last line is the first that is not indented, and names the exception.
  std::optional<Matched> match_in_traceback(std::string_view line) {
    --traceback.left;
    std::string_view own = line;
    if (has_prefix(line))
      own.remove_prefix(traceback.prefix.size());
    else if (!line.empty())
      return match_line(line);  // of another process
    if (own.empty()) return std::nullopt;
    if (own.front() == ' ' || own.front() == '\t') {
      static const Pattern frame(
          R"re(^\s+File "([^"]{1,1024})", line (\d{1,9})(?:, in (\S{1,80}))?)re");
      if (const auto m = frame.match(own); m.size() >= 3) {
        traceback.raised_in = fmt::format("{}:{}", short_path(m[1]), m[2]);
        if (m.size() > 3) traceback.raised_in += fmt::format(" in {}", m[3]);
        return std::nullopt;
      }
      return match_line(line);
    }
    traceback.left = 0;
    raised_in = std::exchange(traceback.raised_in, "");
    auto matched = match_line(line);
    if (matched && matched->naming != Naming::kLogger) return matched;
    auto exception = match_exception(own);
    return exception ? exception : matched;
  }
  std::string raised_in;  // of the line that is being taken

  void take_line(std::string_view text, std::size_t begin, std::size_t stop, long long number) {
    std::string_view line = text.substr(begin, std::min(stop - begin, kLongestLine));
    std::string plain;
    if (line.find('\x1b') != line.npos || line.find('\0') != line.npos) {
      plain = without_colours(line);
      line = plain;
    }
    raised_in.clear();
    const auto matched = traceback.left > 0 ? match_in_traceback(line) : match_line(line);
    if (const std::size_t at = line.find(kTracebackBegins); at != line.npos) {
      constexpr int kMostLines = 2000;
      traceback = {std::string(line.substr(0, at)), "", kMostLines};
    }
    const std::size_t launch = line.find(kLaunchHint);
    if (!matched && launch == line.npos && line.find(kWhatHint) == line.npos &&
        line.find("RankID:") == line.npos && line.find("rank=") == line.npos)
      return;
    const std::string process = process_in(line);
    std::string rank = rank_in(line);
    if (rank != "?" && !process.empty()) rank_of_process.emplace(process, rank);
    if (const std::size_t what = line.find(kWhatHint); what != line.npos && !matched)
      return add_what(line.substr(what), number);
    if (launch != line.npos) {
      const std::string& owner = rank != "?" ? rank : file_rank;
      const auto time = time_in(line.substr(launch, 80));
      if (time && (owner != "?" || !process.empty()))
        launches.push_back({owner, process, *time, launched_in(line.substr(launch))});
    }
    if (!matched) return;
    if (rank == "?" && (matched->code == "EXIT_NEG9" || matched->code.starts_with("signal "))) {
      // torchrun's summary has the rank on a line of its own.
      const std::string all = before(begin);
      const std::size_t near = all.size() > 400 ? all.size() - 400 : 0;
      static const Pattern summary(R"((?s).*\brank\s*: (\d{1,6}) \(local_rank)");
      if (const auto m = summary.match(std::string_view(all).substr(near)); m.size() == 2)
        rank = m[1];
    }
    constexpr long long kNear = 5;  // lines of one message
    if (matched->code == "AGENT_SIGNAL") {
      rank = "?";  // of the launcher, which is no rank
    } else if (rank != "?") {
      context_rank = rank;
      context_line = number;
    } else if (file_rank != "?") {
      rank = file_rank;
    } else if (process.empty() && context_rank != "?" && number - context_line <= kNear) {
      rank = context_rank;
    }
    if (rank != "?") reading.ranks.insert(rank);
    add(*matched, rank, process, line, begin, number);
  }

  // What a C++ exception said, on the line behind its name.
  void add_what(std::string_view what, long long number) {
    if (reading.events.empty()) return;
    LogEvent& event = reading.events.back();
    if (event.naming == Naming::kCrash && event.file == file && number - event.line == 1)
      event.text += fmt::format(" {}", what);
  }

  void add(const Matched& matched, const std::string& rank, const std::string& process,
           std::string_view line, std::size_t begin, long long number) {
    // Of exceptions that no row knows the last one of a program counts.
    const bool is_exception = matched.naming == Naming::kException;
    const std::string key = is_exception ? "exception" : matched.code;
    const std::string place_of_raise = std::exchange(raised_in, "");
    const std::string owner = rank == "?" ? fmt::format("?{}/{}", file, process) : rank;
    const auto place = places.find({owner, key});
    if (place != places.end()) {
      LogEvent& event = reading.events[place->second];
      ++event.count;
      if (is_exception) {
        event.code = matched.code;
        event.text = line;
        event.line = number;
        event.count = 1;
        event.raised_in = place_of_raise;
      } else if (event.more_texts.size() < kMostTexts && event.text != line) {
        event.more_texts.emplace_back(line);
      }
      return;
    }
    if (reading.events.size() >= kMostKinds) {
      ++reading.dropped;
      return;
    }
    LogEvent event;
    event.code = matched.code;
    event.row = matched.row;
    event.meaning = matched.meaning;
    event.meaning_zh = matched.meaning_zh;
    event.naming = matched.naming;
    event.raised_in = place_of_raise;
    event.role = matched.row == nullptr ? Role::kUnknown : matched.row->role;
    event.rank = rank;
    event.file = file;
    event.line = number;
    event.text = line;
    event.groups = matched.groups;
    event.time_ns = time_in(line);
    event.has_own_time = event.time_ns.has_value();
    // The nearest line before that has a time.
    const std::string all = event.time_ns ? "" : before(begin);
    for (std::string_view rest = all; !event.time_ns && !rest.empty();) {
      const std::size_t cut = rest.find_last_of('\n', rest.size() - 1);
      const std::string_view one = cut == rest.npos ? rest : rest.substr(cut + 1);
      event.time_ns = time_in(one.substr(0, 256));
      rest = cut == rest.npos || cut == 0 ? std::string_view() : rest.substr(0, cut);
    }
    if (rank == "?" && !process.empty()) process_of[reading.events.size()] = process;
    places[{owner, key}] = reading.events.size();
    reading.events.push_back(std::move(event));
  }
};

LogScan::LogScan() : state_(std::make_unique<State>()) {}
LogScan::~LogScan() = default;

void LogScan::begin(const std::string& name) {
  State& s = *state_;
  s.file = name;
  s.file_rank = rank_of_name(name);
  if (s.file_rank != "?") s.reading.ranks.insert(s.file_rank);
  s.buffer.clear();
  s.tail.clear();
  s.lines_before = 0;
  s.is_first = true;
  s.is_skipping = s.has_half = false;
  s.wide = Wide::kNo;
  s.context_rank = "?";
  s.traceback = {};
}

void LogScan::feed(std::string_view bytes) {
  State& s = *state_;
  s.reading.bytes += static_cast<long long>(bytes.size());
  if (s.is_first && bytes.size() >= 2) {
    s.is_first = false;
    const WideText wide = wide_of(bytes);
    s.wide = wide.unit;
    bytes.remove_prefix(wide.mark);
  }
  s.add_text(bytes);
  s.scan(false);
}

void LogScan::end() {
  state_->scan(true);
  state_->buffer.clear();
}

LogReading LogScan::take() {
  State& s = *state_;
  for (const auto& [index, process] : s.process_of) {
    const auto rank = s.rank_of_process.find(process);
    if (rank == s.rank_of_process.end()) continue;
    s.reading.events[index].rank = rank->second;
    s.reading.ranks.insert(rank->second);
  }
  for (const State::Launch& launch : s.launches) {
    const auto joined = s.rank_of_process.find(launch.process);
    const std::string rank = launch.rank != "?"                  ? launch.rank
                             : joined == s.rank_of_process.end() ? "?"
                                                                 : joined->second;
    if (rank == "?") continue;
    s.reading.launch_ns[rank] = launch.time_ns;
    if (!launch.count.empty()) s.reading.launch_count[rank] = launch.count;
  }
  s.launches.clear();
  // Times without a year belong to the day of those that have one.
  std::optional<std::int64_t> dated;
  for (const LogEvent& event : s.reading.events)
    if (event.time_ns && *event.time_ns > kNoYear && !dated) dated = event.time_ns;
  constexpr std::int64_t kDay = 86400LL * 1'000'000'000;
  if (dated)
    for (LogEvent& event : s.reading.events)
      if (event.time_ns && *event.time_ns <= kNoYear)
        event.time_ns = *dated / kDay * kDay + *event.time_ns % kDay;
  LogReading reading = std::move(s.reading);
  s.reading = {};
  return reading;
}

}  // namespace nb::doctor
