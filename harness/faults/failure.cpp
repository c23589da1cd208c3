#include "harness/faults/failure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "harness/base/fs.hpp"
#include "harness/base/table.hpp"

namespace nb {
namespace {

bool is_before_training(const FailureStory& story) { return !story.fault.due_step().has_value(); }

std::string op_text(const FailureStory& story) {
  const FaultSite& site = story.site;
  if (is_before_training(story)) return fmt::format("{}, {}", site.op, site.tensor);
  const std::string number = site.number == 0 ? "" : fmt::format(" #{}", site.number);
  return fmt::format("{}{} ({})", site.op, number, site.tensor);
}

std::string clock_text(double seconds) {
  const auto s = static_cast<long long>(seconds + 0.5);
  return fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
}

std::string limit_name(double after_s, const std::string& code, const Limits& limits) {
  if (code == "EI0002" && after_s == limits.exec_s) return " = HCCL_EXEC_TIMEOUT";
  if (code == "EI0006" && after_s == limits.connect_s) return " = HCCL_CONNECT_TIMEOUT";
  if (code == "EI0015" && after_s == limits.connect_s) return " = HCCL_CONNECT_TIMEOUT";
  if (code == "EI0015" && after_s == limits.connect_s + 20) return " = HCCL_CONNECT_TIMEOUT + 20 s";
  if (code == "WATCHDOG" && after_s == limits.watchdog_s) return " = watchdog";
  return "";
}

// "ranks 0-2, 4-7: EI0002 after 1836 s = HCCL_EXEC_TIMEOUT"
std::vector<std::string> consequences(const FailureStory& story) {
  std::map<std::pair<double, std::string>, std::vector<int>> ranks;
  for (const RankEvent& event : story.outcome.events)
    if (event.rank != story.outcome.first_rank || event.after_s > 0)
      ranks[{event.after_s, event.code}].push_back(event.rank);
  std::vector<std::string> lines;
  for (const auto& [key, of] : ranks)
    lines.push_back(fmt::format("rank{} {}: {} after {:.0f} s{}", of.size() == 1 ? "" : "s",
                                ranges_text(of), key.second, key.first,
                                limit_name(key.first, key.second, story.limits)));
  return lines;
}

}  // namespace

double card_hours_lost(const FailureStory& story) {
  return static_cast<double>(story.outcome.ranks.size()) * story.outcome.ends_s / 3600;
}

Json failure_json(const FailureStory& story) {
  const FaultOutcome& outcome = story.outcome;
  Json ranks = Json::array();
  for (int rank = 0; rank < static_cast<int>(outcome.ranks.size()); ++rank) {
    const auto exitcode = outcome.ranks[static_cast<std::size_t>(rank)].exitcode;
    const Json code_of_exit = exitcode ? Json(*exitcode) : Json(nullptr);
    const std::size_t before = ranks.size();
    for (const RankEvent& event : outcome.events)
      if (event.rank == rank)
        ranks.push_back({{"rank", rank},
                         {"code", event.code},
                         {"after_s", event.after_s},
                         {"text", event.text},
                         {"exitcode", code_of_exit}});
    if (ranks.size() == before)
      ranks.push_back({{"rank", rank},
                       {"code", nullptr},
                       {"after_s", nullptr},
                       {"text", ""},
                       {"exitcode", code_of_exit}});
  }
  return {{"schema", "npubench.failure/1"},
          {"fault", story.fault.text},
          {"first",
           {{"rank", outcome.first_rank},
            {"step", story.site.step},
            {"op", op_text(story)},
            {"code", outcome.first_code},
            {"text", outcome.first_text}}},
          {"ranks", ranks},
          {"never_ends", outcome.never_ends},
          {"clock",
           {{"connect_s", story.limits.connect_s},
            {"exec_s", story.limits.exec_s},
            {"event_s", story.limits.event_s},
            {"watchdog_s", story.limits.watchdog_s}}},
          {"card_hours_lost", card_hours_lost(story)},
          {"resume_step", story.resume_step}};
}

std::string failure_text(const FailureStory& story, const std::string& label, double host_s,
                         const std::filesystem::path& folder) {
  const FaultOutcome& outcome = story.outcome;
  const auto cards = outcome.ranks.size();
  std::string text = fmt::format(
      "{}  FAILED at step {} of {}     {}, real {:.1f} s\n", label, story.site.step, story.steps,
      outcome.never_ends
          ? "it would never end: HCCL_EXEC_TIMEOUT is 0, and the watchdog is off with it"
          : fmt::format("simulated {} after the fault", clock_text(outcome.ends_s)),
      host_s);
  const auto line = [&](const char* name, const std::string& value) {
    text += fmt::format("{:<12} {}\n", name, value);
  };
  const std::string when = is_before_training(story) ? ""
                                                     : fmt::format("step {}, {}, ", story.site.step,
                                                                   name(story.fault.phase));
  line("first", fmt::format("rank {}   {}{}: {}", outcome.first_rank, when, op_text(story),
                            outcome.first_text));
  const char* name_of_line = "then";
  for (const std::string& one : consequences(story)) {
    line(name_of_line, one);
    name_of_line = "";
  }
  line("a user sees", fmt::format("{}.  How to find it: {}", seen_text(outcome), outcome.finding));
  const std::int64_t again = story.site.step - story.resume_step;
  line("lost", fmt::format("{}; last checkpoint step {} ({} step{} to repeat)",
                           outcome.never_ends
                               ? std::string("all cards until somebody looks")
                               : fmt::format("{} cards x {:.0f} min = {:.1f} card-hours", cards,
                                             outcome.ends_s / 60, card_hours_lost(story)),
                           story.resume_step, again, again == 1 ? "" : "s"));
  const std::string logs = (folder / kFaultLogs).string();
  line("logs", fmt::format("{}.   npubench doctor {}", logs, logs));
  line("resume", "the same command without the fault goes on from that checkpoint");
  return text;
}

Result<void> write_failure(const FailureStory& story, const std::string& label, double host_s,
                           const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::remove_all(folder / kFaultLogs, error);
  for (const auto& [name, content] : logs_of(story)) {
    const std::filesystem::path path = folder / kFaultLogs / name;
    NB_TRY_VOID(make_folders(path.parent_path()));
    NB_TRY_VOID(write_file(path, content));
  }
  NB_TRY_VOID(write_json(folder / kFailureFile, failure_json(story)));
  return write_file(folder / kFailureText, failure_text(story, label, host_s, folder));
}

std::string unexpected(const ExpectedFailure& expected, const Json& failure) {
  const bool wants_none = expected.failure == "none";
  if (failure.is_null()) return wants_none ? "" : "the run ended well, but a failure was expected";
  if (wants_none)
    return fmt::format("expected no failure; rank {} failed first, {}",
                       failure.at("first").at("rank").dump(),
                       failure.at("first").at("code").get<std::string>());
  const auto first = failure.at("first").at("rank").get<std::int64_t>();
  if (expected.first_rank && *expected.first_rank != first)
    return fmt::format("expected rank {} to be the first; it was rank {}", *expected.first_rank,
                       first);
  if (!expected.failure) return "";
  std::vector<double> times;
  if (failure.at("first").at("code") == *expected.failure) times.push_back(0);
  for (const Json& rank : failure.at("ranks"))
    if (rank.at("code") == *expected.failure) times.push_back(rank.at("after_s").get<double>());
  if (times.empty()) return fmt::format("expected {}, which no rank reports", *expected.failure);
  if (expected.after_s && std::ranges::find(times, *expected.after_s) == times.end())
    return fmt::format("expected {} after {} s; it came after {} s", *expected.failure,
                       *expected.after_s, times.back());
  return "";
}

}  // namespace nb
