#include "results/store/node_time.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

namespace nb {
namespace {

// "2026-11-21T17:05:00Z" as seconds since 1970.
std::optional<std::int64_t> seconds_of(const Json& environment, const char* key) {
  if (!environment.is_object()) return std::nullopt;
  const auto at = environment.find(key);
  if (at == environment.end() || !at->is_string()) return std::nullopt;
  std::istringstream text(at->get<std::string>());
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0;
  char dash1 = 0, dash2 = 0, t = 0, colon1 = 0, colon2 = 0, z = 0;
  text >> year >> dash1 >> month >> dash2 >> day >> t >> hour >> colon1 >> minute >> colon2 >>
      second >> z;
  const auto date = std::chrono::year{year} / std::abs(month) / std::abs(day);
  if (!text || dash1 != '-' || dash2 != '-' || t != 'T' || z != 'Z' || !date.ok())
    return std::nullopt;
  const auto days = std::chrono::sys_days(date).time_since_epoch().count();
  return days * 86400LL + hour * 3600LL + minute * 60LL + second;
}

}  // namespace

std::optional<std::int64_t> node_seconds(const Record& record) {
  const auto begun = seconds_of(*record.environment, "started_at");
  const auto ended = seconds_of(*record.environment, "finished_at");
  if (!begun || !ended || *ended < *begun) return std::nullopt;
  return *ended - *begun;
}

std::vector<NodeTime> times_by_node(const RunRecords& run) {
  std::map<std::pair<std::string, std::string>, NodeTime> rows;
  std::int64_t total = 0;
  for (const StoredRecord& stored : run.records) {
    const Record& record = stored.record;
    const auto seconds = node_seconds(record);
    if (!seconds) continue;
    NodeTime& row = rows[{record.kind, record.name}];
    row.kind = record.kind;
    row.name = record.name;
    ++row.nodes;
    row.seconds += *seconds;
    total += *seconds;
  }
  std::vector<NodeTime> list;
  for (auto& [key, row] : rows) {
    if (total > 0) row.share = static_cast<double>(row.seconds) / static_cast<double>(total);
    list.push_back(std::move(row));
  }
  std::stable_sort(list.begin(), list.end(),
                   [](const NodeTime& x, const NodeTime& y) { return x.seconds > y.seconds; });
  return list;
}

}  // namespace nb
