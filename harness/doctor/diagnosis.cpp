#include "harness/doctor/diagnosis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "harness/base/visible_text.hpp"
#include "harness/doctor/pattern.hpp"

namespace nb::doctor {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kTogether = kSecond;  // causes this close: clocks of ranks differ by as much

std::optional<double> number_of(std::string_view text) {
  double value = 0;
  const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc()) return std::nullopt;
  return value;
}

// Ranks as numbers where they are numbers.
bool is_before(const std::string& a, const std::string& b) {
  return a.size() != b.size() ? a.size() < b.size() : a < b;
}
void sort_ranks(std::vector<std::string>& ranks) {
  std::sort(ranks.begin(), ranks.end(), is_before);
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
}

std::vector<std::string> all_texts(const LogEvent& event) {
  std::vector<std::string> texts = {event.text};
  texts.insert(texts.end(), event.more_texts.begin(), event.more_texts.end());
  return texts;
}

// ---- what a line says in numbers

Arguments numbers_of(const LogEvent& event) {
  struct Known {
    const char* name;
    Pattern pattern;
  };
  static const std::vector<Known> known = [] {
    std::vector<Known> all;
    for (const auto& [name, text] : std::vector<std::pair<const char*, const char*>>{
             {"port", R"(\bport(?:\[|: ?| )(\d{2,5})\b)"},
             {"address", R"(\bip\[([^\]]+)\])"},
             {"socket_type", R"(socket type\[(\d)\])"},
             {"remote_rank", R"([Rr]emote ?[Rr]ank:? ?\[(\d+)\])"},
             {"peer", R"(\] ?rank\[(\d+)\])"},
             {"timeout_s", R"(\btimeout:?\[(\d+)\b)"},
             {"device", R"(\(NPU (\d+);)"},
             {"process", R"(Killed process (\d+))"},
             {"symbol", R"(undefined symbol: (\S+))"},
             {"limit_ms", R"(Timeout\(ms\)=(\d+))"}})
      all.push_back({name, Pattern(text)});
    return all;
  }();
  Arguments numbers;
  for (const Known& one : known)
    if (const auto m = one.pattern.match(event.text); m.size() == 2)
      numbers.emplace_back(one.name, std::string(m[1]));
  if (!event.raised_in.empty()) numbers.emplace_back("raised_in", event.raised_in);
  return numbers;
}

// "5.03 GiB" in GiB.
std::optional<double> gib_of(const std::string& text) {
  const auto value = number_of(text);
  if (!value) return std::nullopt;
  if (text.ends_with("KiB")) return *value / (1024.0 * 1024.0);
  if (text.ends_with("MiB")) return *value / 1024.0;
  return *value;
}

std::string gib_text(const std::optional<double>& value) {
  return value ? fmt::format("{:.2f}", *value) : "?";
}

std::optional<Said> memory_said(const LogEvent& event) {
  if (event.code != "NPU_OOM" || event.groups.size() < 6) return std::nullopt;
  MemoryNumbers numbers;
  numbers.asked = gib_of(event.groups[0]);
  numbers.total = gib_of(event.groups[2]);
  numbers.allocated = gib_of(event.groups[3]);
  numbers.free = gib_of(event.groups[4]);
  numbers.reserved = gib_of(event.groups[5]);
  const auto verdict = memory_verdict(numbers);
  if (!verdict) return std::nullopt;
  return Said{std::string(verdict->key),
              {{"asked", gib_text(numbers.asked)},
               {"free", gib_text(numbers.free)},
               {"total", gib_text(numbers.total)},
               {"allocated", gib_text(numbers.allocated)},
               {"others", gib_text(verdict->others)},
               {"slack", gib_text(verdict->slack)}}};
}

// ---- limits that intervals may equal

struct Limit {
  std::string name;
  double seconds;
};
std::vector<Limit> limits_of(const Facts& facts) {
  const auto set = [&](const char* name, double otherwise) {
    const auto value = facts.number(name);
    return value && *value > 0 ? static_cast<double>(*value) : otherwise;
  };
  const double connect = set("HCCL_CONNECT_TIMEOUT", 120), exec = set("HCCL_EXEC_TIMEOUT", 1836);
  return {{"HCCL_CONNECT_TIMEOUT", connect},
          {"HCCL_CONNECT_TIMEOUT + 20 s", connect + 20},
          {"HCCL_EXEC_TIMEOUT", exec},
          {"HCCL_EVENT_TIMEOUT", set("HCCL_EVENT_TIMEOUT", exec + 30)},
          {"AIV limit", 1091},
          {"watchdog", exec + 1800}};
}
std::string limit_equal_to(double seconds, const std::vector<Limit>& limits) {
  const Limit* nearest = nullptr;
  for (const Limit& limit : limits)
    if (nearest == nullptr ||
        std::abs(limit.seconds - seconds) < std::abs(nearest->seconds - seconds))
      nearest = &limit;
  const double tolerance = std::max(2.0, 0.004 * nearest->seconds);
  return std::abs(nearest->seconds - seconds) <= tolerance ? nearest->name : "";
}

// ---- the root

class Diagnostician {
 public:
  Diagnostician(const LogReading& reading, const Facts& facts) : reading_(reading), facts_(facts) {
    for (const LogEvent& event : reading.events) {
      if (event.role == Role::kCause) causes_.push_back(&event);
      if (event.role == Role::kConsequence) consequences_.push_back(&event);
      if (event.role == Role::kWarning) diagnosis_.warnings.push_back(event);
      if (event.role == Role::kUnknown) diagnosis_.unmatched.push_back(event);
      if (event.role != Role::kWarning) reporting_.push_back(event.rank);
    }
    sort_ranks(reporting_);
    const auto by_time = [](const LogEvent* a, const LogEvent* b) {
      const auto order = [](const LogEvent* e) {
        return std::make_tuple(!e->time_ns.has_value(), e->time_ns.value_or(0));
      };
      return order(a) < order(b);
    };
    std::stable_sort(causes_.begin(), causes_.end(), by_time);
    std::stable_sort(consequences_.begin(), consequences_.end(), by_time);
  }

  Diagnosis run() {
    find_missing();
    if (!causes_.empty()) {
      root_of_causes();
    } else if (!waits() && root_of_unknown_code(false)) {
      // Who was only ended by the launcher waited for nobody.
    } else if (!consequences_.empty() && !root_of_unknown_code(true)) {
      if (!root_of_unknown_while_others_wait()) root_of_consequences();
    } else if (diagnosis_.roots.empty()) {
      if (!root_of_unknown_code(false)) root_of_wrapper();
    }
    make_chain();
    return std::move(diagnosis_);
  }

 private:
  void add_root(const LogEvent& event) {
    Root root;
    root.event = event;
    root.numbers = numbers_of(event);
    // The code that a wrapper passes on at the same moment.
    for (const LogEvent& other : reading_.events)
      if (other.code == "HCCL_RET" && other.rank == event.rank && other.time_ns && event.time_ns &&
          std::abs(*other.time_ns - *event.time_ns) < kSecond)
        for (const std::string& group : other.groups)
          if (!group.empty()) root.numbers.emplace_back("hccl_result", group);
    root.verdict = memory_said(event);
    diagnosis_.roots.push_back(std::move(root));
  }
  void why(std::string key, Arguments arguments = {}) {
    diagnosis_.why.push_back({std::move(key), std::move(arguments)});
  }

  bool has_consequence(const std::string& rank) const {
    return std::any_of(consequences_.begin(), consequences_.end(),
                       [&](const LogEvent* e) { return e->rank == rank; });
  }

  bool waits() const {
    return std::any_of(consequences_.begin(), consequences_.end(),
                       [](const LogEvent* e) { return e->code != "AGENT_SIGNAL"; });
  }

  void root_of_causes() {
    diagnosis_.confidence = Confidence::kCertain;
    const LogEvent* first = causes_.front();
    if (first->time_ns) {
      for (const LogEvent* cause : causes_) {
        if (!cause->time_ns || *cause->time_ns - *first->time_ns >= kTogether) continue;
        const bool is_other_rank =
            std::none_of(diagnosis_.roots.begin(), diagnosis_.roots.end(),
                         [&](const Root& root) { return root.event.rank == cause->rank; });
        if (is_other_rank) add_root(*cause);
      }
      if (diagnosis_.roots.size() > 1) why("diag.together");
      for (const LogEvent* consequence : consequences_)
        if (consequence->time_ns && *consequence->time_ns < *first->time_ns - kTogether) {
          diagnosis_.confidence = Confidence::kLikely;
          why("diag.earlier", {{"rank", consequence->rank}, {"code", consequence->code}});
          break;
        }
      return;
    }
    // No times: a rank that waited for another is not the first.
    for (const LogEvent* cause : causes_)
      if (!has_consequence(cause->rank)) {
        add_root(*cause);
        break;
      }
    if (diagnosis_.roots.empty()) add_root(*first);
    std::vector<std::string> ranks;
    for (const LogEvent* cause : causes_) ranks.push_back(cause->rank);
    sort_ranks(ranks);
    if (ranks.size() > 1) {
      diagnosis_.confidence = Confidence::kLikely;
      why("diag.untimed");
    }
  }

  // A code that the table does not have may still be the first.
  bool root_of_unknown_code(bool must_be_earlier) {
    const LogEvent* first = nullptr;
    for (const LogEvent& event : diagnosis_.unmatched) {
      if (event.naming == Naming::kLogger) continue;
      if (must_be_earlier &&
          (event.naming >= Naming::kException || !event.time_ns ||
           !consequences_.front()->time_ns || *event.time_ns >= *consequences_.front()->time_ns))
        continue;
      const auto order = [](const LogEvent& e) {
        const Naming strength = std::max(e.naming, Naming::kCrash);
        // torch_npu's own code stands around the one that it was given.
        return std::make_tuple(strength, e.code.starts_with("ERR"), !e.time_ns.has_value(),
                               e.time_ns.value_or(0));
      };
      if (first == nullptr || order(event) < order(*first)) first = &event;
    }
    if (first == nullptr) return false;
    add_root(*first);
    diagnosis_.confidence = Confidence::kUnknown;
    return true;
  }

  // A rank that waited for nobody and died of what the table does not have, while others waited.
  bool root_of_unknown_while_others_wait() {
    for (const LogEvent& event : diagnosis_.unmatched) {
      if (event.naming >= Naming::kPassedOn || event.rank == "?" || has_consequence(event.rank))
        continue;
      if (std::any_of(reading_.events.begin(), reading_.events.end(), [&](const LogEvent& e) {
            return e.role == Role::kWrapper && e.rank == event.rank;
          }))
        continue;
      add_root(event);
      diagnosis_.confidence = Confidence::kLikely;
      why("diag.own_error");
      return true;
    }
    return false;
  }

  void root_of_wrapper() {
    for (const LogEvent& event : reading_.events)
      if (event.role == Role::kWrapper) {
        add_root(event);
        why("diag.wrapper");
        return;
      }
  }

  // ---- rule 3: no cause was logged

  void conclude(std::vector<std::string> ranks, const LogEvent& from, const char* key,
                Arguments arguments = {}) {
    sort_ranks(ranks);
    for (const std::string& rank : ranks) {
      LogEvent event = from;
      event.rank = rank;
      event.text.clear();
      event.time_ns.reset();
      diagnosis_.roots.push_back({event, {}, std::nullopt});
    }
    diagnosis_.confidence = Confidence::kLikely;
    why(key, std::move(arguments));
  }

  void root_of_consequences() {
    if (by_heartbeat() || by_agents() || by_tags() || by_launch() || by_silence() ||
        by_named_peer())
      return;
    add_root(*consequences_.front());
    diagnosis_.confidence = Confidence::kUnknown;
    why("diag.only_waiting");
  }

  bool by_heartbeat() {
    static const Pattern location(
        R"(Cluster Exception Location\s?\[[^\]]*\]:\s?\[([^\]]+)\].*ExceptionType:\s?\[([^\]]+)\])");
    static const Pattern criminal(R"(crimer rank \[([^\]]+)\] status\[(LOST|STUCK|ERROR CQE)\])");
    constexpr std::string_view kOrder[] = {"CQE", "tuck", "STUCK", "ost", "LOST"};
    std::size_t best = std::size(kOrder);
    std::string rank, type;
    const LogEvent* from = nullptr;
    for (const LogEvent* event : consequences_)
      for (const std::string& text : all_texts(*event))
        for (const Pattern* pattern : {&location, &criminal})
          if (const auto m = pattern->match(text); m.size() == 3)
            for (std::size_t i = 0; i < best; ++i)
              if (m[2].find(kOrder[i]) != m[2].npos) {
                best = i;
                rank = m[1];
                type = m[2];
                from = event;
              }
    if (from == nullptr) return false;
    conclude({rank}, *from, "diag.heartbeat", {{"type", type}});
    return true;
  }

  bool by_agents() {
    static const Pattern failed(R"(Failed to connect agent\s?\[([\d, ]+)\])");
    std::vector<std::string> ranks;
    const LogEvent* from = nullptr;
    for (const LogEvent* event : consequences_)
      for (const std::string& text : all_texts(*event))
        if (const auto m = failed.match(text); m.size() == 2) {
          from = event;
          std::string digits;
          for (const char c : std::string(m[1]) + ",") {
            if (c >= '0' && c <= '9') {
              digits += c;
            } else if (!digits.empty()) {
              ranks.push_back(std::exchange(digits, ""));
            }
          }
        }
    if (ranks.empty()) return false;
    conclude(std::move(ranks), *from, "diag.agents");
    return true;
  }

  // Ranks that wait in another collective than most.
  bool by_tags() {
    static const Pattern tag(R"(tag\s?\[([A-Za-z]+))");
    std::map<std::string, std::vector<std::string>> ranks_of;
    const LogEvent* from = nullptr;
    for (const LogEvent* event : consequences_)
      if (event->code == "HCCL_NOTIFY_TIMEOUT")
        if (const auto m = tag.match(event->text); m.size() == 2 && event->rank != "?") {
          ranks_of[std::string(m[1])].push_back(event->rank);
          from = event;
        }
    if (ranks_of.size() < 2) return false;
    const auto fewest = std::min_element(
        ranks_of.begin(), ranks_of.end(),
        [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
    const std::string op = fewest->first;
    conclude(fewest->second, *from, "diag.tags", {{"op", op}});
    return true;
  }

  // A rank that began its collective later than the others by more than they wait.
  bool by_launch() {
    const LogEvent* from = nullptr;
    for (const LogEvent* event : consequences_)
      if (event->code == "HCCL_NOTIFY_TIMEOUT") from = event;
    if (from == nullptr || reading_.launch_ns.size() < 2) return false;
    std::vector<std::int64_t> times;
    for (const auto& [rank, time] : reading_.launch_ns) times.push_back(time);
    std::sort(times.begin(), times.end());
    const double limit = static_cast<double>(facts_.number("HCCL_EXEC_TIMEOUT").value_or(1836));
    const std::int64_t usual = times[(times.size() - 1) / 2];
    std::vector<std::string> late;
    for (const auto& [rank, time] : reading_.launch_ns)
      if (static_cast<double>(time - usual) / kSecond > limit) late.push_back(rank);
    if (late.empty()) return false;
    const auto behind = static_cast<double>(times.back() - usual) / kSecond;
    conclude(std::move(late), *from, "diag.late", {{"s", fmt::format("{:.0f}", behind)}});
    return true;
  }

  // Ranks that are known and say nothing while others wait.
  bool by_silence() {
    std::vector<std::string> silent = diagnosis_.missing_ranks;
    for (const std::string& rank : reading_.ranks)
      if (!has_consequence(rank)) silent.push_back(rank);
    sort_ranks(silent);
    const bool is_one_rank =
        std::all_of(consequences_.begin(), consequences_.end(),
                    [&](const LogEvent* e) { return e->rank == consequences_.front()->rank; });
    if (silent.empty() || is_one_rank) return false;
    conclude(silent, *consequences_.front(), "diag.silent");
    return true;
  }

  bool by_named_peer() {
    std::vector<std::string> peers;
    for (const LogEvent* event : consequences_)
      for (const std::string& text : all_texts(*event)) {
        LogEvent one = *event;
        one.text = text;
        for (const auto& [name, value] : numbers_of(one))
          if ((name == "remote_rank" || name == "peer") && !has_consequence(value))
            peers.push_back(value);
      }
    if (peers.empty()) return false;
    conclude(std::move(peers), *consequences_.front(), "diag.peer");
    return true;
  }

  void find_missing() {
    long long expected = facts_.number("ranks").value_or(0);
    static const Pattern of(R"(connected \d+ of (\d{1,6})\b)");
    for (const LogEvent* event : consequences_)
      if (const auto m = of.match(event->text); m.size() == 2)
        expected = std::max(expected, static_cast<long long>(number_of(m[1]).value_or(0)));
    if (reading_.ranks.size() > 1)
      for (const std::string& rank : reading_.ranks)
        if (const auto value = number_of(rank))
          expected = std::max(expected, static_cast<long long>(*value) + 1);
    constexpr long long kMost = 4096;
    if (reading_.ranks.empty() || expected > kMost) return;
    for (long long rank = 0; rank < expected; ++rank)
      if (!reading_.ranks.contains(std::to_string(rank)))
        diagnosis_.missing_ranks.push_back(std::to_string(rank));
  }

  bool is_root(const LogEvent& event) const {
    return std::any_of(diagnosis_.roots.begin(), diagnosis_.roots.end(), [&](const Root& root) {
      return root.event.rank == event.rank && root.event.code == event.code;
    });
  }

  void make_chain() {
    const auto limits = limits_of(facts_);
    std::optional<std::int64_t> start;
    for (const Root& root : diagnosis_.roots)
      if (root.event.time_ns && (!start || *root.event.time_ns < *start))
        start = root.event.time_ns;
    std::vector<const LogEvent*> rest = causes_;
    rest.insert(rest.end(), consequences_.begin(), consequences_.end());
    for (const LogEvent* event : rest) {
      if (is_root(*event)) continue;
      const auto link = std::find_if(diagnosis_.chain.begin(), diagnosis_.chain.end(),
                                     [&](const Link& l) { return l.event.code == event->code; });
      if (link != diagnosis_.chain.end()) {
        link->ranks.push_back(event->rank);
        link->event.count += event->count;
        continue;
      }
      Link made;
      made.ranks = {event->rank};
      made.event = *event;
      if (start && event->time_ns) {
        made.after_s = static_cast<double>(*event->time_ns - *start) / static_cast<double>(kSecond);
        made.equals = limit_equal_to(*made.after_s, limits);
      }
      diagnosis_.chain.push_back(std::move(made));
    }
    for (Link& link : diagnosis_.chain) sort_ranks(link.ranks);
  }

  const LogReading& reading_;
  const Facts& facts_;
  std::vector<const LogEvent*> causes_, consequences_;
  std::vector<std::string> reporting_;
  Diagnosis diagnosis_;
};

// ---- text

std::string said(std::string_view key, Language language, Arguments arguments = {}) {
  return sentence_of({std::string(key), std::move(arguments)}, language);
}

// "0-2, 4-7"
std::string ranges(const std::vector<std::string>& ranks) {
  std::string text;
  for (std::size_t i = 0; i < ranks.size();) {
    const auto first = number_of(ranks[i]);
    std::size_t end = i + 1;
    while (first && end < ranks.size() &&
           number_of(ranks[end]) == *first + static_cast<double>(end - i))
      ++end;
    text += text.empty() ? "" : ", ";
    text += end - i > 1 ? ranks[i] + "-" + ranks[end - 1] : ranks[i];
    i = end;
  }
  return text;
}

std::string meaning_of(const LogEvent& event, Language language) {
  if (event.row == nullptr)
    return said("diag.not_in_table", language,
                {{"class", language == Language::kZh ? event.meaning_zh : event.meaning}});
  return language == Language::kZh && !event.row->meaning_zh.empty() ? event.row->meaning_zh
                                                                     : event.row->meaning;
}

std::string rank_words(const std::string& rank, Language language) {
  return rank == "?" ? "" : said("diag.rank", language, {{"rank", rank}});
}

std::string times(long long count) { return count > 1 ? fmt::format(" (x {})", count) : ""; }

// What the line itself says, of one that the table does not explain.
std::string quoted(const LogEvent& event) {
  constexpr std::size_t kMost = 240;
  std::string text = visible_line(event.text);
  if (text.size() > kMost) text = utf8_text(text.substr(0, kMost)) + " …";
  return fmt::format("  {}:{}: {}\n", event.file, event.line, text);
}

std::string root_line(const Root& root, const Diagnosis& diagnosis, Language language) {
  std::string where = rank_words(root.event.rank, language);
  if (root.event.time_ns) where += (where.empty() ? "" : ", ") + time_text(*root.event.time_ns);
  if (!root.event.file.empty() && root.event.line > 0 && !root.event.text.empty())
    where += fmt::format("{}{}:{}", where.empty() ? "" : ", ", root.event.file, root.event.line);
  std::string text;
  if (!diagnosis.why.empty() && root.event.text.empty()) {
    text = fmt::format("{} {}", said("diag.root", language), where);
  } else {
    text = fmt::format(
        "{} {}{}{}: {}", said("diag.root", language), where, where.empty() ? "" : ", ",
        root.event.code,
        root.verdict ? sentence_of(*root.verdict, language) : meaning_of(root.event, language));
  }
  for (const auto& [name, value] : root.numbers) {
    std::string shown = name;
    std::replace(shown.begin(), shown.end(), '_', ' ');
    text += fmt::format("; {} {}", shown, value);
  }
  return text +
         fmt::format("    {}\n", said("diag." + std::string(name(diagnosis.confidence)), language));
}

Json event_json(const LogEvent& event) {
  return {{"rank", event.rank == "?" ? Json(nullptr) : Json(event.rank)},
          {"time", event.time_ns ? Json(time_text(*event.time_ns)) : Json(nullptr)},
          {"signature", utf8_text(event.code)},
          {"in_table", event.row != nullptr},
          {"role", std::string(name(event.role))},
          {"meaning", event.row == nullptr ? event.meaning : event.row->meaning},
          {"file", utf8_text(event.file)},
          {"line", event.line},
          {"text", utf8_text(event.text.substr(0, 512))},
          {"count", event.count}};
}
Json numbers_json(const Arguments& numbers) {
  Json json = Json::object();
  for (const auto& [name, value] : numbers) json[name] = utf8_text(value);
  return json;
}

}  // namespace

std::string_view name(Confidence confidence) {
  switch (confidence) {
    case Confidence::kCertain:
      return "certain";
    case Confidence::kLikely:
      return "likely";
    case Confidence::kUnknown:
      return "unknown";
  }
  return "unknown";
}

std::optional<MemoryVerdict> memory_verdict(const MemoryNumbers& numbers) {
  if (!numbers.total || !numbers.reserved || !numbers.free) return std::nullopt;
  constexpr double kLeastOthers = 4;  // GiB: more than the driver and a context take
  MemoryVerdict verdict;
  verdict.others = *numbers.total - *numbers.reserved - *numbers.free;
  if (numbers.allocated) verdict.slack = *numbers.reserved - *numbers.allocated;
  if (*verdict.others > std::max(kLeastOthers, 0.1 * *numbers.total))
    verdict.key = "OOM.others";
  else if (verdict.slack && numbers.asked && *verdict.slack >= *numbers.asked)
    verdict.key = "OOM.fragmentation";
  else if (numbers.allocated && numbers.asked &&
           *numbers.allocated + *numbers.asked > *numbers.total)
    verdict.key = "OOM.large";
  else
    verdict.key = "OOM.mixed";
  return verdict;
}

Diagnosis diagnose(const LogReading& reading, const Facts& facts) {
  return Diagnostician(reading, facts).run();
}

std::string text_of(const Diagnosis& diagnosis, Language language) {
  std::string text;
  for (const Root& root : diagnosis.roots) {
    text += root_line(root, diagnosis, language);
    if (root.event.row == nullptr && !root.event.text.empty()) text += quoted(root.event);
  }
  for (const Said& why : diagnosis.why) text += "  " + sentence_of(why, language) + "\n";
  for (const Link& link : diagnosis.chain) {
    const std::string ranks = ranges(link.ranks);
    std::string line =
        "  " + said("diag.then", language) + " " +
        (ranks == "?" ? "" : said("diag.ranks", language, {{"ranks", ranks}}) + ": ") +
        link.event.code;
    for (const auto& [name, value] : numbers_of(link.event))
      if (name == "peer" || name == "remote_rank") line += fmt::format(" ({} {})", name, value);
    if (link.after_s) line += fmt::format(" {:+.1f} s", *link.after_s);
    if (!link.equals.empty()) line += " = " + link.equals;
    text += line + times(link.event.count) + "\n";
  }
  for (const Root& root : diagnosis.roots) {
    if (root.event.row == nullptr) continue;
    const bool is_zh = language == Language::kZh && !root.event.row->remedy_zh.empty();
    const std::string& check = is_zh ? root.event.row->check_first_zh : root.event.row->check_first;
    const std::string& remedy = is_zh ? root.event.row->remedy_zh : root.event.row->remedy;
    if (!check.empty()) text += fmt::format("{} {}\n", said("diag.look", language), check);
    const std::string verdict_remedy = root.verdict ? remedy_of(*root.verdict, language) : "";
    const std::string& first = verdict_remedy.empty() ? remedy : verdict_remedy;
    if (!first.empty())
      text += said("diag.first", language, {{"remedy", first}, {"code", root.event.code}}) + "\n";
    if (!root.event.row->what_worked.empty())
      text += fmt::format("  {} ({})\n", root.event.row->what_worked, root.event.row->source);
    break;  // several roots at once: the first's
  }
  for (const LogEvent& event : diagnosis.unmatched) {
    if (std::any_of(diagnosis.roots.begin(), diagnosis.roots.end(), [&](const Root& root) {
          return root.event.code == event.code && root.event.line == event.line;
        }))
      continue;
    if (event.naming >= Naming::kException && !diagnosis.roots.empty()) continue;
    const std::string rank = rank_words(event.rank, language);
    text += fmt::format("{}{}{}{}: {}\n", event.code, rank.empty() ? "" : " ", rank,
                        times(event.count), meaning_of(event, language));
    text += quoted(event);
  }
  for (const LogEvent& event : diagnosis.warnings)
    text += fmt::format("{} {}{}: {}\n", said("diag.warning", language), event.code,
                        times(event.count), meaning_of(event, language));
  if (!diagnosis.missing_ranks.empty())
    text += said("diag.missing", language, {{"ranks", ranges(diagnosis.missing_ranks)}}) + "\n";
  return text;
}

Json json_of(const Diagnosis& diagnosis, Language language) {
  Json json = {{"root", nullptr},
               {"other_roots", Json::array()},
               {"confidence", std::string(name(diagnosis.confidence))},
               {"chain", Json::array()},
               {"why", Json::array()},
               {"remedy", nullptr},
               {"unmatched", Json::array()},
               {"warnings", Json::array()},
               {"missing_ranks", diagnosis.missing_ranks}};
  for (std::size_t i = 0; i < diagnosis.roots.size(); ++i) {
    const Root& root = diagnosis.roots[i];
    Json one = event_json(root.event);
    one["numbers"] = numbers_json(root.numbers);
    if (root.verdict) {
      one["verdict"] = root.verdict->key;
      one["verdict_numbers"] = numbers_json(root.verdict->arguments);
      one["sentence"] = sentence_of(*root.verdict, language);
    }
    if (i == 0) {
      if (root.event.row != nullptr) json["remedy"] = root.event.row->remedy;
      json["root"] = std::move(one);
    } else {
      json["other_roots"].push_back(std::move(one));
    }
  }
  for (const Link& link : diagnosis.chain)
    json["chain"].push_back({{"ranks", link.ranks},
                             {"signature", link.event.code},
                             {"numbers", numbers_json(numbers_of(link.event))},
                             {"after_s", link.after_s ? Json(*link.after_s) : Json(nullptr)},
                             {"equals", link.equals.empty() ? Json(nullptr) : Json(link.equals)},
                             {"count", link.event.count}});
  for (const Said& why : diagnosis.why) json["why"].push_back(sentence_of(why, language));
  for (const LogEvent& event : diagnosis.unmatched) json["unmatched"].push_back(event_json(event));
  for (const LogEvent& event : diagnosis.warnings) json["warnings"].push_back(event_json(event));
  return json;
}

}  // namespace nb::doctor
