#include "results/store/listed_run.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <tuple>

namespace nb {
namespace {

std::string utc_text(std::int64_t time_ns) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}",
                     fmt::gmtime(static_cast<std::time_t>(time_ns / 1'000'000'000)));
}

// Texts of any other form do not sort by time.
bool is_utc_time(std::string_view text) {
  constexpr std::string_view kForm = "dddd-dd-ddTdd:dd:ddZ";
  return text.size() == kForm.size() &&
         std::equal(text.begin(), text.end(), kForm.begin(), [](char c, char form) {
           return form == 'd' ? c >= '0' && c <= '9' : c == form;
         });
}

void add_folder(ListedRun& run, const RunFolder& folder, std::int64_t& newest_ns) {
  run.name = folder.name;
  run.path = folder.path;
  run.kept_by = folder.kept_by;
  if (!folder.damage.empty()) run.damage.push_back(folder.damage);
  for (const RunNode& node : folder.nodes) {
    if (!node.record)
      ++run.unfinished;
    else
      newest_ns = std::max(newest_ns, node.record->modified_ns);
  }
}

void add_record(ListedRun& run, const IndexedRecord& record, std::set<std::string>& devices) {
  if (!record.damage.empty()) {
    run.damage.push_back(record.damage);
    return;
  }
  if (is_utc_time(record.finished_at)) run.when = std::max(run.when, record.finished_at);
  if (!record.is_listed) {
    ++run.earlier;
    return;
  }
  ++run.records;
  if (record.status == "failed") ++run.failed;
  if (!record.device.empty()) devices.insert(record.device);
}

}  // namespace

std::vector<ListedRun> listed_runs(const RunIndex& index) {
  struct Collected {
    ListedRun run;
    std::set<std::string> devices;
    std::int64_t newest_ns = 0;
  };
  std::map<std::string, Collected> by_name;
  for (const RunFolder& folder : index.runs()) {
    Collected& one = by_name[folder.name];
    add_folder(one.run, folder, one.newest_ns);
  }
  for (const IndexedRecord& record : index.records())
    if (const auto at = by_name.find(record.run); at != by_name.end())
      add_record(at->second.run, record, at->second.devices);
  std::vector<Collected> newest_first;
  for (auto& [name, one] : by_name) {
    one.run.devices.assign(one.devices.begin(), one.devices.end());
    if (one.run.when.empty() && one.newest_ns > 0) one.run.when = utc_text(one.newest_ns);
    newest_first.push_back(std::move(one));
  }
  // Records tell the second; of one second the stamps of their files decide.
  std::stable_sort(newest_first.begin(), newest_first.end(),
                   [](const Collected& a, const Collected& b) {
                     return std::tie(a.run.when, a.newest_ns) > std::tie(b.run.when, b.newest_ns);
                   });
  std::vector<ListedRun> runs;
  for (Collected& one : newest_first) runs.push_back(std::move(one.run));
  return runs;
}

std::string status_text(const ListedRun& run) {
  std::vector<std::string> parts;
  if (run.failed > 0) parts.push_back(fmt::format("{} failed", run.failed));
  if (run.unfinished > 0) parts.push_back(fmt::format("{} unfinished", run.unfinished));
  if (!run.damage.empty()) parts.push_back(fmt::format("{} damaged", run.damage.size()));
  if (!parts.empty()) return fmt::format("{}", fmt::join(parts, ", "));
  return run.records + run.earlier > 0 ? "ok" : "empty";
}

TextTable runs_table(std::span<const ListedRun> runs) {
  const bool any_kept = std::any_of(runs.begin(), runs.end(),
                                    [](const ListedRun& run) { return !run.kept_by.empty(); });
  TextTable table{{"run", "when", "records", "status", "devices"}, {}};
  if (any_kept) table.header.push_back("kept by");
  for (const ListedRun& run : runs) {
    table.rows.push_back({run.name, short_time(run.when), with_commas(run.records),
                          status_text(run), fmt::format("{}", fmt::join(run.devices, ", "))});
    if (any_kept) table.rows.back().push_back(run.kept_by);
  }
  return table;
}

Json run_json(const ListedRun& run) {
  return {{"run", run.name},
          {"path", run.path.string()},
          {"when", run.when.empty() ? Json() : Json(run.when)},
          {"status", status_text(run)},
          {"records", run.records},
          {"failed", run.failed},
          {"unfinished", run.unfinished},
          {"earlier", run.earlier},
          {"devices", run.devices},
          {"kept_by", run.kept_by.empty() ? Json() : Json(run.kept_by)},
          {"damage", run.damage}};
}

std::string short_time(const std::string& when) {
  if (!is_utc_time(when)) return when;
  std::string text = when.substr(0, 16);
  text[10] = ' ';
  return text;
}

}  // namespace nb
