#include "results/store/index_rows.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "harness/base/hash.hpp"
#include "results/store/comparability.hpp"
#include "results/store/store.hpp"

namespace nb {
namespace {

constexpr const char* kTables = R"(
CREATE TABLE records(
  id INTEGER PRIMARY KEY, run TEXT, node TEXT,
  modified_ns INTEGER, changed_ns INTEGER, size_bytes INTEGER, inode INTEGER,
  damage TEXT, status TEXT, error TEXT, kind TEXT, name TEXT, node_key TEXT, device TEXT,
  trained_on TEXT, seed INTEGER, finished_at TEXT, code TEXT, settings TEXT, machine TEXT);
CREATE UNIQUE INDEX records_by_folder ON records(run, node);
CREATE TABLE metrics(
  record INTEGER, name TEXT, value REAL, reason_if_null TEXT, unit TEXT, direction INTEGER,
  clock INTEGER, n INTEGER, low REAL, high REAL, comparability TEXT,
  PRIMARY KEY(record, name, clock)) WITHOUT ROWID;
CREATE INDEX metrics_by_name ON metrics(name);
)";

// Rows with a value that insert_rows never puts there.
constexpr const char* kUnsoundRecords = R"(
SELECT COUNT(*) FROM records WHERE
  typeof(run) || typeof(node) || typeof(damage) || typeof(status) || typeof(error) || typeof(kind) ||
  typeof(name) || typeof(node_key) || typeof(device) || typeof(trained_on) || typeof(finished_at) ||
  typeof(code) || typeof(settings) || typeof(machine) <> replace(printf('%14c', ' '), ' ', 'text') OR
  typeof(modified_ns) || typeof(changed_ns) || typeof(size_bytes) || typeof(inode) <>
    'integerintegerintegerinteger' OR
  typeof(seed) NOT IN ('integer', 'null')
)";
static_assert(static_cast<int>(Direction::kLower) == 2 && static_cast<int>(Clock::kDevice) == 3);
constexpr const char* kUnsoundMetrics = R"(
SELECT COUNT(*) FROM metrics WHERE
  typeof(name) || typeof(reason_if_null) || typeof(unit) || typeof(comparability) <>
    'texttexttexttext' OR
  typeof(record) || typeof(direction) || typeof(clock) || typeof(n) <>
    'integerintegerintegerinteger' OR
  record NOT IN (SELECT id FROM records) OR
  direction NOT BETWEEN 0 AND 2 OR clock NOT BETWEEN 0 AND 3 OR n < 0 OR
  typeof(value) NOT IN ('real', 'null') OR abs(value) = 9e999 OR
  typeof(low) NOT IN ('real', 'null') OR abs(low) = 9e999 OR
  typeof(high) NOT IN ('real', 'null') OR abs(high) = 9e999
)";

std::string short_digest(const Json& value) { return sha256_json(value).substr(0, 16); }

// Nights of one seed and of another have equal settings.
std::string settings_digest(const Record& record) {
  Json settings = *record.settings;
  settings.erase("seed");
  if (settings.contains("train") && settings["train"].is_object()) settings["train"].erase("seed");
  return short_digest(settings);
}

// What the host's clock depends on, readable; parts that the record does not say are left out.
std::string machine_text(const Json& environment) {
  const auto text = [&](const char* pointer, std::string_view format) {
    const Json::json_pointer at(pointer);
    if (!environment.contains(at)) return std::string();
    const Json& value = environment.at(at);
    return fmt::format(fmt::runtime(format),
                       value.is_string() ? value.get<std::string>() : value.dump());
  };
  std::string machine;
  for (const std::string& part :
       {text("/host/cpu", "{}"), text("/host/cores", "{} cores"), text("/host/architecture", "{}"),
        text("/host/compiler", "compiler {}"), text("/simd/used", "{}"),
        text("/threads", "threads: {}")})
    if (!part.empty()) machine += (machine.empty() ? "" : ", ") + part;
  return machine;
}

std::string text_at(const std::map<std::string, std::string>& map, const char* key) {
  const auto at = map.find(key);
  return at == map.end() ? std::string() : at->second;
}

void bind_or_null(Statement& statement, int place, const std::optional<double>& value) {
  if (value)
    statement.bind(place, *value);
  else
    statement.bind_null(place);
}

void insert_record(Statement& insert, const RecordPlace& place, const IndexedRecord& record) {
  insert.bind(1, place.run);
  insert.bind(2, place.node);
  insert.bind(3, place.stamp.modified_ns);
  insert.bind(4, place.stamp.changed_ns);
  insert.bind(5, place.stamp.size_bytes);
  insert.bind(6, place.stamp.inode);
  int at = 7;
  for (const std::string* text :
       {&record.damage, &record.status, &record.error, &record.kind, &record.name, &record.node_key,
        &record.device, &record.trained_on})
    insert.bind(at++, *text);
  if (record.seed)
    insert.bind(at++, *record.seed);
  else
    insert.bind_null(at++);
  for (const std::string* text :
       {&record.finished_at, &record.code, &record.settings, &record.machine})
    insert.bind(at++, *text);
  insert.step();
  insert.reset();
}

void insert_metric(Statement& insert, std::int64_t record, const IndexedMetric& indexed) {
  const Metric& metric = indexed.metric;
  insert.bind(1, record);
  insert.bind(2, metric.name);
  bind_or_null(insert, 3, metric.value);
  insert.bind(4, metric.reason_if_null);
  insert.bind(5, metric.unit);
  insert.bind(6, static_cast<std::int64_t>(metric.direction));
  insert.bind(7, static_cast<std::int64_t>(metric.clock));
  insert.bind(8, metric.n);
  bind_or_null(insert, 9, metric.low);
  bind_or_null(insert, 10, metric.high);
  insert.bind(11, indexed.comparability);
  insert.step();
  insert.reset();
}

}  // namespace

RecordRows rows_of(const RecordPlace& place) {
  RecordRows rows;
  IndexedRecord& to = rows.record;
  const auto read = read_record(place.folder);
  if (!read) {
    to.damage = read.error().message;
    return rows;
  }
  const Record& record = *read;
  to.status = record.status;
  to.error = record.error;
  to.kind = record.kind;
  to.name = record.name;
  to.node_key = record.node_key;
  to.device = record.device;
  to.trained_on = record.trained_on;
  to.finished_at = finished_at(record);
  to.seed = record.seed;
  to.code = text_at(record.subject, "code");
  to.settings = settings_digest(record);
  to.machine = machine_text(*record.environment);
  std::map<std::string, std::string> comparability;  // by task
  for (const auto* list : {&record.metrics, &record.host_metrics})
    for (const Metric& metric : *list) {
      const std::string task = record.kind == "eval" ? task_of_metric(metric.name) : "";
      std::string& digest = comparability[task];
      if (digest.empty()) digest = short_digest(comparability_of(record, task));
      rows.metrics.push_back({0, metric, digest});
    }
  return rows;
}

void create_tables(Database& database) {
  database.run(fmt::format("{}PRAGMA user_version = {};", kTables, kIndexVersion).c_str());
}

bool is_sound(Database& database) {
  constexpr const char* kSchema =
      "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY name, type";
  Database ours;
  create_tables(ours);
  return database.ask("PRAGMA user_version") == std::to_string(kIndexVersion) &&
         database.ask(kSchema) == ours.ask(kSchema) &&
         database.ask("PRAGMA integrity_check") == "ok" && database.ask(kUnsoundRecords) == "0" &&
         database.ask(kUnsoundMetrics) == "0";
}

void remove_rows(Database& database, std::span<const std::int64_t> records) {
  Statement metrics = database.prepare("DELETE FROM metrics WHERE record = ?");
  Statement record = database.prepare("DELETE FROM records WHERE id = ?");
  for (const std::int64_t id : records)
    for (Statement* statement : {&metrics, &record}) {
      statement->bind(1, id);
      statement->step();
      statement->reset();
    }
}

void insert_rows(Database& database, std::span<const RecordPlace> places,
                 std::span<const RecordRows> rows) {
  Statement record = database.prepare(
      "INSERT INTO records(run, node, modified_ns, changed_ns, size_bytes, inode, damage, status, "
      "error, kind, name, node_key, device, trained_on, seed, finished_at, code, settings, "
      "machine) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)");
  Statement metric =
      database.prepare("INSERT OR IGNORE INTO metrics VALUES (?,?,?,?,?,?,?,?,?,?,?)");
  Statement last = database.prepare("SELECT last_insert_rowid()");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    insert_record(record, places[i], rows[i].record);
    last.step();
    const std::int64_t id = last.integer(0);
    last.reset();
    for (const IndexedMetric& indexed : rows[i].metrics) insert_metric(metric, id, indexed);
  }
}

}  // namespace nb
