#include "results/store/index.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "harness/base/fs.hpp"
#include "harness/base/hash.hpp"
#include "harness/base/parallel.hpp"
#include "results/store/index_rows.hpp"
#include "results/store/sqlite.hpp"

namespace nb {
namespace {

constexpr std::size_t kBatch = 64;  // records in memory at a time, of 10 to 100 kB

// The last line of the file: SQLite itself does not notice a flipped bit in a value, and ignores
// what follows the last page.
constexpr std::string_view kSeal = "\nnpubench index, sha256 ";
constexpr std::size_t kSealBytes = kSeal.size() + 64 + 1;

std::string sealed(const std::string& bytes) {
  return fmt::format("{}{}{}\n", bytes, kSeal, sha256_hex(bytes));
}
// The database in a sealed file; empty: it is damaged or another's.
std::string_view unsealed(std::string_view file) {
  if (file.size() < kSealBytes) return {};
  const std::string_view bytes = file.substr(0, file.size() - kSealBytes);
  return file == sealed(std::string(bytes)) ? bytes : std::string_view();
}

}  // namespace

struct RunIndex::State {
  Database database;
};

RunIndex::RunIndex() : state_(std::make_unique<State>()) {}
RunIndex::RunIndex(RunIndex&&) noexcept = default;
RunIndex& RunIndex::operator=(RunIndex&&) noexcept = default;
RunIndex::~RunIndex() = default;

Result<RunIndex> RunIndex::open(const fs::path& folder, Mode mode) {
  RunIndex index;
  index.folder_ = folder.has_filename() ? folder : folder.parent_path();
  const fs::path path = index.folder_ / kIndexFile;
  bool is_known = false;
  // Before the folders are looked at: what is written in between is newer than the index.
  if (const auto file = read_file(path); file && mode == Mode::kUpdate) {
    std::string problem = "was damaged";
    if (const std::string_view bytes = unsealed(*file); !bytes.empty()) {
      Database& database = index.state_->database = Database(bytes);
      const auto version = database.ask("PRAGMA user_version");
      is_known = is_sound(database);
      problem = is_known ? ""
                : version && version != std::to_string(kIndexVersion)
                    ? fmt::format("is of version {}, not {}", *version, kIndexVersion)
                    : "is no index that this program wrote";
    }
    if (!problem.empty())
      index.notes_.push_back(
          fmt::format("{}: {}; it has been made anew from the records", path.string(), problem));
  }
  if (!is_known) {
    index.state_->database = Database();
    create_tables(index.state_->database);
  }
  NB_TRY(index.runs_, find_runs(index.folder_));
  index.update();
  return index;
}

void RunIndex::update() {
  Database& database = state_->database;
  std::map<std::pair<std::string, std::string>, std::pair<std::int64_t, FileStamp>> known;
  Statement rows = database.prepare(
      "SELECT run, node, id, modified_ns, changed_ns, size_bytes, inode FROM records");
  while (rows.step())
    known[{rows.text(0), rows.text(1)}] = {
        rows.integer(2), {rows.integer(3), rows.integer(4), rows.integer(5), rows.integer(6)}};
  rows.reset();

  std::vector<RecordPlace> places;
  for (const RunFolder& run : runs_)
    for (const RunNode& node : run.nodes) {
      if (!node.record) continue;
      const auto at = known.find({run.name, node.name});
      if (at != known.end() && at->second.second == *node.record)
        known.erase(at);
      else
        places.push_back({run.name, node.name, run.folder_of(node), *node.record});
    }
  std::vector<std::int64_t> gone;  // removed, or read again
  for (const auto& [place, record] : known) gone.push_back(record.first);
  records_read_ = places.size();

  if (!places.empty() || !gone.empty()) {
    database.run("BEGIN");
    remove_rows(database, gone);
    for (std::size_t begin = 0; begin < places.size(); begin += kBatch) {
      const auto batch = std::span(places).subspan(begin, std::min(kBatch, places.size() - begin));
      std::vector<RecordRows> read(batch.size());
      parallel_for(batch.size(), 1, [&](std::size_t i) { read[i] = rows_of(batch[i]); });
      insert_rows(database, batch, read);
    }
    database.run("COMMIT");
  }
  const fs::path path = folder_ / kIndexFile;
  const bool is_run = runs_.size() == 1 && runs_.front().path == folder_;
  const bool is_there = stamp_of(path).has_value();
  if (!is_run && !runs_.empty() &&
      (!places.empty() || !gone.empty() || !notes_.empty() || !is_there))
    keep();
  else if (runs_.empty() && is_there && !gone.empty())
    keep();
}

void RunIndex::keep() {
  const std::string bytes = sealed(state_->database.bytes());
  if (const auto written = write_file(folder_ / kIndexFile, bytes); !written)
    notes_.push_back(written.error().message +
                     "; the records have been read instead, as they will be next time");
  else
    file_bytes_ = bytes.size();
}

std::vector<IndexedRecord> RunIndex::records() const {
  std::map<std::pair<std::string_view, std::string_view>, bool> is_listed;
  for (const RunFolder& run : runs_)
    for (const RunNode& node : run.nodes) is_listed[{run.name, node.name}] = node.is_listed;
  Statement rows = state_->database.prepare(
      "SELECT id, run, node, damage, status, error, kind, name, node_key, device, trained_on, "
      "finished_at, seed, code, settings, machine FROM records ORDER BY run, node");
  std::vector<IndexedRecord> records;
  while (rows.step()) {
    IndexedRecord record;
    record.id = rows.integer(0);
    int at = 1;
    for (std::string* text :
         {&record.run, &record.node, &record.damage, &record.status, &record.error, &record.kind,
          &record.name, &record.node_key, &record.device, &record.trained_on, &record.finished_at})
      *text = rows.text(at++);
    if (!rows.is_null(at)) record.seed = rows.integer(at);
    ++at;
    for (std::string* text : {&record.code, &record.settings, &record.machine})
      *text = rows.text(at++);
    record.is_listed = is_listed[{record.run, record.node}];
    records.push_back(std::move(record));
  }
  return records;
}

std::vector<MetricSummary> RunIndex::metrics(const std::string& run) const {
  Statement rows = state_->database.prepare(
      "SELECT m.name, m.unit, m.clock, COUNT(*), COUNT(DISTINCT r.run), MAX(r.finished_at) "
      "FROM metrics m JOIN records r ON r.id = m.record WHERE ?1 = '' OR r.run = ?1 "
      "GROUP BY m.name, m.unit, m.clock ORDER BY m.name");
  rows.bind(1, run);
  std::vector<MetricSummary> metrics;
  while (rows.step())
    metrics.push_back({rows.text(0), rows.text(1),
                       std::string(name(static_cast<Clock>(rows.integer(2)))), rows.integer(3),
                       rows.integer(4), rows.text(5)});
  return metrics;
}

std::vector<IndexedMetric> RunIndex::metric(std::string_view name) const {
  Statement rows = state_->database.prepare(
      "SELECT record, value, reason_if_null, unit, direction, clock, n, low, high, comparability "
      "FROM metrics WHERE name = ? ORDER BY record");
  rows.bind(1, name);
  const auto number = [&](int column) {
    return rows.is_null(column) ? std::nullopt : std::optional(rows.number(column));
  };
  std::vector<IndexedMetric> found;
  while (rows.step()) {
    IndexedMetric one;
    one.record = rows.integer(0);
    one.metric.name = name;
    one.metric.value = number(1);
    one.metric.reason_if_null = rows.text(2);
    one.metric.unit = rows.text(3);
    one.metric.direction = static_cast<Direction>(rows.integer(4));
    one.metric.clock = static_cast<Clock>(rows.integer(5));
    one.metric.n = rows.integer(6);
    one.metric.low = number(7);
    one.metric.high = number(8);
    one.comparability = rows.text(9);
    found.push_back(std::move(one));
  }
  return found;
}

}  // namespace nb
