#include "harness/doctor/conclusion.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "harness/doctor/event_numbers.hpp"
#include "harness/doctor/pattern.hpp"

namespace nb::doctor {
namespace {

constexpr double kSecondNs = 1e9;

class Concluder {
 public:
  Concluder(std::span<const LogEvent* const> consequences,
            std::span<const std::string> missing_ranks, const LogReading& reading,
            const Facts& facts)
      : consequences_(consequences),
        missing_ranks_(missing_ranks),
        reading_(reading),
        facts_(facts) {}

  std::optional<Conclusion> run() {
    if (by_heartbeat() || by_agents() || by_tags() || by_watchdog() || by_launch() || by_counts() ||
        by_silence() || by_named_peer() || by_first_peer())
      return std::move(conclusion_);
    return std::nullopt;
  }

 private:
  bool conclude(std::vector<std::string> ranks, const LogEvent& from, const char* key,
                Arguments arguments = {}) {
    sort_ranks(ranks);
    conclusion_ = {std::move(ranks), &from, {key, std::move(arguments)}};
    return true;
  }
  bool has_consequence(const std::string& rank) const {
    return std::any_of(consequences_.begin(), consequences_.end(),
                       [&](const LogEvent* e) { return e->rank == rank; });
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
    return conclude({rank_at(rank)}, *from, "diag.heartbeat", {{"type", type}});
  }

  // "10.0.0.1/3": on one host the card's number is the rank's.
  std::string rank_at(const std::string& place) const {
    static const Pattern places(R"(\[([^\]/ ]+)/\d+\])");
    const std::size_t slash = place.rfind('/');
    if (slash == place.npos) return place;
    const std::string host = place.substr(0, slash), card = place.substr(slash + 1);
    if (!reading_.ranks.contains(card)) return place;
    for (const LogEvent* event : consequences_)
      for (const std::string& text : all_texts(*event))
        for (std::string_view rest = text; !rest.empty();) {
          const auto m = places.match(rest);
          if (m.size() != 2) break;
          if (m[1] != host) return place;
          rest.remove_prefix(static_cast<std::size_t>(m[1].data() - rest.data()) + m[1].size());
        }
    return card;
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
    sort_ranks(ranks);
    const bool are_all = from->rank != "?" && ranks.size() + 1 == reading_.ranks.size();
    if (are_all && std::ranges::all_of(ranks, [&](const std::string& rank) {
          return has_given_up_before(rank, *from);
        }))
      return conclude({from->rank}, *from, "diag.server");
    return conclude(std::move(ranks), *from, "diag.agents");
  }

  bool has_given_up_before(const std::string& rank, const LogEvent& server) const {
    return std::ranges::any_of(consequences_, [&](const LogEvent* event) {
      return event->rank == rank && event->code == server.code && event->time_ns &&
             server.time_ns && *event->time_ns < *server.time_ns;
    });
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
    return by_odd_one(ranks_of, from, "diag.tags");
  }

  // "[PG ID 2 PG GUID 3(dp) Rank 1] …": each process group counts its own collectives. Older lines
  // name none.
  static std::string process_group_of(const std::string& text) {
    const std::size_t begin = text.find("[PG "), end = text.find(" Rank ", begin);
    return begin == text.npos || end == text.npos ? "" : text.substr(begin, end - begin);
  }

  // The same of c10d's watchdog, whose lines tell the collective of a number and its elements.
  bool by_watchdog() {
    static const Pattern call(R"(\(SeqNum=(\d+), OpType=([A-Z_]+), NumelIn=(\d+))");
    std::map<std::string, std::vector<std::string>> by_op, by_count;
    std::set<std::string> numbers, groups, seen;
    const LogEvent* from = nullptr;
    for (const LogEvent* event : consequences_)
      if (event->code.ends_with("WATCHDOG") && event->rank != "?")
        if (const auto m = call.match(event->text);
            m.size() == 4 && seen.insert(event->rank).second) {
          numbers.emplace(m[1]);
          groups.insert(process_group_of(event->text));
          by_op[std::string(m[2])].push_back(event->rank);
          by_count[std::string(m[3]) + " elements"].push_back(event->rank);
          from = event;
        }
    if (numbers.size() != 1 || groups.size() != 1) return false;
    return by_odd_one(by_op, from, "diag.tags") || by_odd_one(by_count, from, "diag.counts");
  }

  // Ranks that call something else than most; of two equal halves neither is known to be wrong.
  bool by_odd_one(const std::map<std::string, std::vector<std::string>>& ranks_of,
                  const LogEvent* from, const char* key) {
    if (ranks_of.size() < 2) return false;
    const auto [few, most] = std::ranges::minmax_element(
        ranks_of, {}, [](const auto& called) { return called.second.size(); });
    if (few->second.size() < most->second.size())
      return conclude(few->second, *from, key, {{"op", few->first}});
    std::vector<std::string> all;
    for (const auto& [op, ranks] : ranks_of) all.insert(all.end(), ranks.begin(), ranks.end());
    return conclude(std::move(all), *from, "diag.tied",
                    {{"a", ranks_of.begin()->first}, {"b", ranks_of.rbegin()->first}});
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
      if (static_cast<double>(time - usual) / kSecondNs > limit) late.push_back(rank);
    if (late.empty()) return false;
    const auto behind = static_cast<double>(times.back() - usual) / kSecondNs;
    return conclude(std::move(late), *from, "diag.late", {{"s", fmt::format("{:.0f}", behind)}});
  }

  // A rank whose collective has another size than that of most.
  bool by_counts() {
    const LogEvent* from = nullptr;
    for (const LogEvent* event : consequences_)
      if (event->code == "HCCL_NOTIFY_TIMEOUT") from = event;
    std::map<std::string, std::vector<std::string>> ranks_of;
    for (const auto& [rank, count] : reading_.launch_count) ranks_of[count].push_back(rank);
    if (from == nullptr || ranks_of.size() != 2) return false;
    auto &few = ranks_of.begin()->second, &many = ranks_of.rbegin()->second;
    if (few.size() > many.size()) std::swap(few, many);
    if (few.size() == many.size()) return false;
    return conclude(few, *from, "diag.counts");
  }

  // Who waits at last has been waited for at first.
  bool by_first_peer() {
    std::map<std::string, int> votes;
    std::optional<std::int64_t> first;
    for (const LogEvent* event : consequences_)
      if (event->time_ns && (!first || *event->time_ns < *first)) first = event->time_ns;
    if (!first) return false;
    std::vector<std::string> early;
    for (const LogEvent* event : consequences_)
      if (event->time_ns && *event->time_ns == *first) early.push_back(event->rank);
    for (const LogEvent* event : consequences_)
      if (event->time_ns && *event->time_ns == *first)
        for (const auto& [name, value] : numbers_of(*event))
          if (name == "remote_rank" && std::ranges::find(early, value) == early.end())
            ++votes[value];
    if (votes.size() != 1) return false;
    return conclude({votes.begin()->first}, *consequences_.front(), "diag.peer");
  }

  // Ranks that are known and say nothing while others wait.
  bool by_silence() {
    std::vector<std::string> silent(missing_ranks_.begin(), missing_ranks_.end());
    for (const std::string& rank : reading_.ranks)
      if (!has_consequence(rank)) silent.push_back(rank);
    sort_ranks(silent);
    const bool is_one_rank =
        std::all_of(consequences_.begin(), consequences_.end(),
                    [&](const LogEvent* e) { return e->rank == consequences_.front()->rank; });
    if (silent.empty() || is_one_rank) return false;
    return conclude(silent, *consequences_.front(), "diag.silent");
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
    return conclude(std::move(peers), *consequences_.front(), "diag.peer");
  }

  std::span<const LogEvent* const> consequences_;
  std::span<const std::string> missing_ranks_;
  const LogReading& reading_;
  const Facts& facts_;
  Conclusion conclusion_;
};

}  // namespace

std::optional<Conclusion> conclude(std::span<const LogEvent* const> consequences,
                                   std::span<const std::string> missing_ranks,
                                   const LogReading& reading, const Facts& facts) {
  return Concluder(consequences, missing_ranks, reading, facts).run();
}

}  // namespace nb::doctor
