// JSON of Google Benchmark (--benchmark_format=json or --benchmark_out): times of programs on their
// host. Clock host: nothing that is simulated is ever set beside them.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "harness/base/fs.hpp"
#include "results/foreign/lines.hpp"
#include "results/import/readers.hpp"
#include "results/messages/sentences.hpp"

namespace nb {
namespace {

struct Counter {
  const char* key;
  const char* name;
  const char* unit;
  Direction direction;
  bool is_time;  // in the row's time_unit
};
constexpr Counter kCounters[] = {
    {"real_time", "time", "ns", Direction::kLower, true},
    {"cpu_time", "cpu_time", "ns", Direction::kLower, true},
    {"items_per_second", "items_per_second", "1/s", Direction::kHigher, false},
    {"bytes_per_second", "bytes_per_second", "byte/s", Direction::kHigher, false},
};

// docs/user_guide.md @ 267a1115: ns, us, ms or s.
std::optional<double> ns_in(const std::string& unit) {
  if (unit == "ns") return 1;
  if (unit == "us") return 1e3;
  if (unit == "ms") return 1e6;
  if (unit == "s") return 1e9;
  return std::nullopt;
}

// Repetitions of one benchmark, in the order of the file.
struct Benchmark {
  std::string name;
  std::vector<double> values[std::size(kCounters)];
  // Where the repetitions were not written, their means.
  std::optional<double> means[std::size(kCounters)];
  std::int64_t repetitions = 0;
  std::string error;
};

Benchmark& of_name(std::vector<Benchmark>& all, const std::string& name) {
  for (Benchmark& one : all)
    if (one.name == name) return one;
  all.emplace_back().name = name;
  return all.back();
}

Result<void> take_row(const Json& row, const std::string& where, std::vector<Benchmark>& all) {
  if (!row.is_object()) return bad_input(where + " is no object");
  const bool is_aggregate = member_of(row, "run_type") == "aggregate";
  if (is_aggregate && member_of(row, "aggregate_name") != "mean") return {};
  std::string name = text_of(member_of(row, "run_name"));
  if (name.empty()) name = text_of(member_of(row, "name"));
  if (name.empty()) return bad_input(where + ": a row without a name");
  Benchmark& benchmark = of_name(all, name);
  if (member_of(row, "error_occurred") == true) {
    benchmark.error = text_of(member_of(row, "error_message"));
    return {};
  }
  const std::string unit = text_of(member_of(row, "time_unit"));
  const auto scale = ns_in(unit.empty() ? "ns" : unit);
  if (!scale)
    return bad_input(fmt::format("{}/time_unit: \"{}\" is none of ns, us, ms, s", where, unit));
  for (std::size_t i = 0; i < std::size(kCounters); ++i) {
    double value = 0;
    if (!number_of(member_of(row, kCounters[i].key), value)) continue;
    value *= kCounters[i].is_time ? *scale : 1;
    if (is_aggregate)
      benchmark.means[i] = value;
    else
      benchmark.values[i].push_back(value);
  }
  if (is_aggregate) benchmark.repetitions = count_of(member_of(row, "repetitions"));
  return {};
}

void add_metrics(const Benchmark& benchmark, ForeignRun& run) {
  for (std::size_t i = 0; i < std::size(kCounters); ++i) {
    const std::vector<double>& values = benchmark.values[i];
    if (values.empty() && !benchmark.means[i] && (i > 0 || benchmark.error.empty())) continue;
    Metric metric;
    metric.name = benchmark.name + "/" + kCounters[i].name;
    metric.unit = kCounters[i].unit;
    metric.direction = kCounters[i].direction;
    metric.clock = Clock::kHost;
    if (values.empty() && benchmark.means[i]) {
      metric.value = benchmark.means[i];
      metric.n = benchmark.repetitions;
    } else if (values.empty()) {
      metric.reason_if_null = "error: " + benchmark.error;
    } else {
      double sum = 0;
      for (const double value : values) sum += value;
      metric.value = sum / static_cast<double>(values.size());
      metric.n = static_cast<std::int64_t>(values.size());
    }
    run.metrics.push_back(std::move(metric));
  }
}

void say_context(const Json& context, ForeignRun& run, ForeignBuilder& builder) {
  constexpr const char* kKeys[][2] = {{"date", "date"},
                                      {"host", "host_name"},
                                      {"cpus", "num_cpus"},
                                      {"mhz", "mhz_per_cpu"},
                                      {"cpu_scaling", "cpu_scaling_enabled"},
                                      {"aslr", "aslr_enabled"},
                                      {"build", "library_build_type"},
                                      {"version", "library_version"}};
  for (const auto& [key, name] : kKeys) builder.say(run, key, text_of(member_of(context, name)));
  if (member_of(context, "library_build_type") == "debug")
    run.notes.push_back(message("import.slow_library"));
  if (member_of(context, "cpu_scaling_enabled") == true)
    run.notes.push_back(message("import.cpu_scaling"));
}

}  // namespace

bool is_google_benchmark(const FileHead& head) {
  return head_has_key(head, "context") && (head_has_key(head, "benchmarks") || !head.whole) &&
         head.bytes.find("\"num_cpus\"") != std::string_view::npos;
}

Result<void> read_google_benchmark(const fs::path& path, ForeignBuilder& builder) {
  NB_TRY(const Json json, read_foreign_json(path));
  const Json& context = member_of(json, "context");
  const Json& rows = member_of(json, "benchmarks");
  if (!rows.is_array()) return bad_input(fmt::format("{}: /benchmarks is no list", path.string()));
  std::string program = fs::path(text_of(member_of(context, "executable"))).filename().string();
  if (program.empty()) program = "benchmarks";  // not there before 1.4
  ForeignRun& run = builder.run("Google Benchmark", program);
  // Two files of one program under one path: their repetitions are not one series.
  if (!run.metrics.empty())
    return bad_input(
        fmt::format("{}: {} was measured in {}, too; name one of the files, or compare the two",
                    path.string(), program, run.files.front().string()));
  run.files.push_back(path);
  say_context(context, run, builder);
  std::vector<Benchmark> all;
  for (std::size_t i = 0; i < rows.size(); ++i)
    NB_TRY_VOID(take_row(rows[i], fmt::format("{}: /benchmarks/{}", path.string(), i), all));
  for (const Benchmark& one : all) add_metrics(one, run);
  return {};
}

}  // namespace nb
