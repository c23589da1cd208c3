#include "harness/doctor/diagnosis.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "harness/doctor/conclusion.hpp"
#include "harness/doctor/event_numbers.hpp"
#include "harness/doctor/pattern.hpp"

namespace nb::doctor {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kTogether = kSecond;  // causes this close: clocks of ranks differ by as much

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

  // Ranks that call it with other arguments: the one whose own value nobody else has.
  void keep_minority() {
    static const Pattern values(R"(local end ([^,]{1,80}), remote end (\S{1,80}))");
    std::map<std::string, std::vector<Root>> roots_of;
    for (const Root& root : diagnosis_.roots) {
      const auto m = values.match(root.event.text);
      if (root.event.code != "HCCL_ARGS_DIFFER" || m.size() != 3) return;
      roots_of[std::string(m[1])].push_back(root);
    }
    if (roots_of.size() != 2) return;
    auto &few = roots_of.begin()->second, &many = roots_of.rbegin()->second;
    if (few.size() > many.size()) std::swap(few, many);
    if (few.size() == many.size()) return;
    diagnosis_.roots = few;
    diagnosis_.confidence = Confidence::kLikely;
    why("diag.minority");
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
      keep_minority();
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

  // Rule 3: no cause was logged.
  void root_of_consequences() {
    const auto concluded = conclude(consequences_, diagnosis_.missing_ranks, reading_, facts_);
    if (!concluded) {
      add_root(*consequences_.front());
      diagnosis_.confidence = Confidence::kUnknown;
      return why("diag.only_waiting");
    }
    for (const std::string& rank : concluded->ranks) {
      LogEvent event = *concluded->from;
      event.rank = rank;
      event.text.clear();
      event.time_ns.reset();
      diagnosis_.roots.push_back({event, {}, std::nullopt});
    }
    diagnosis_.confidence = Confidence::kLikely;
    diagnosis_.why.push_back(concluded->why);
  }

  void find_missing() {
    constexpr long long kMost = 4096;
    const auto whole = [](double value) {
      return static_cast<long long>(std::clamp<double>(value, 0, kMost + 1));
    };
    long long expected = facts_.number("ranks").value_or(0);
    static const Pattern of(R"(connected \d+ of (\d{1,6})\b)");
    for (const LogEvent* event : consequences_)
      if (const auto m = of.match(event->text); m.size() == 2)
        expected = std::max(expected, whole(number_of(m[1]).value_or(0)));
    if (reading_.ranks.size() > 1)
      for (const std::string& rank : reading_.ranks)
        if (const auto value = number_of(rank)) expected = std::max(expected, whole(*value) + 1);
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

Diagnosis diagnose(const LogReading& reading, const Facts& facts) {
  return Diagnostician(reading, facts).run();
}

}  // namespace nb::doctor
