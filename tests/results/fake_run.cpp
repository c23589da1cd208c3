#include "tests/results/fake_run.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "harness/base/check.hpp"
#include "harness/base/hash.hpp"
#include "results/stats/stats.hpp"
#include "results/store/items.hpp"
#include "results/store/metric_names.hpp"
#include "results/store/series.hpp"

namespace nb::test {
namespace {

template <class R>
void must(const R& result) {
  NB_CHECK(result.has_value(), "[fake run] {}", result.error().message);
}

std::string node_name(const Record& record) {
  std::string name = record.name + "." + record.device;
  if (record.seed) name += fmt::format(".seed{}", *record.seed);
  return name;
}

Record basic(const std::string& kind, const std::string& name, const std::string& device) {
  Record record;
  record.kind = kind;
  record.name = name;
  record.device = device;
  record.settings = Json{{"device", device}, {"train", {{"depth", 2}, {"lr", 0.02}}}};
  record.environment = Json{{"cpu", "test"}, {"finished_at", "2026-01-01T00:00:00Z"}};
  record.subject["code"] = sha256_hex("code");
  record.numerics = {{"matmul inputs", "bf16", "documented", "profile of " + device},
                     {"summation order", device, "assumed", "not published"}};
  return record;
}

// As in real runs, other results have another key.
void set_key(Record& record, const std::string& content) {
  record.node_key = sha256_hex(record.kind + node_name(record) + content);
}

}  // namespace

Metric metric_of(const std::string& name, double value, const std::string& unit,
                 Direction direction, Clock clock, std::int64_t n) {
  Metric metric;
  metric.name = name;
  metric.value = value;
  metric.unit = unit;
  metric.direction = direction;
  metric.clock = clock;
  metric.n = n;
  return metric;
}

FakeRun::FakeRun(std::string suite) : suite_(std::move(suite)) {}

std::filesystem::path FakeRun::folder_of(const Record& record) const {
  return node_folder(dir_.path(), suite_, node_name(record), record.node_key);
}

void FakeRun::add(const Record& record) { must(write_record(folder_of(record), record)); }

RunRecords FakeRun::read() const {
  auto run = read_run(suite_folder());
  must(run);
  return std::move(*run);
}

Record FakeRun::add_training(const std::string& device, std::int64_t seed, double val_bpb,
                             double shift, const std::function<void(Record&)>& change) {
  Record record = basic("train", "base", device);
  record.seed = seed;
  const std::string content = fmt::format("{} {} {} {}", device, seed, val_bpb, shift);
  set_key(record, content);
  record.subject["weights"] = sha256_hex(content);
  auto writer = SeriesWriter::open(folder_of(record) / "steps.csv",
                                   {metric::kSeriesLoss, metric::kSeriesValBpb}, 0);
  must(writer);
  double loss = 0;
  for (int step = 0; step < 60; ++step) {
    const double batch_noise = step % 2 == 0 ? 1 : 1.03;
    loss = (2.2 + 3.345 / (1 + 0.08 * step)) * batch_noise + shift * step;
    const bool validated = step % 20 == 19;
    must(writer->append(
        step, {loss, validated ? std::optional(val_bpb * 60 / (step + 1)) : std::nullopt}));
  }
  must(writer->flush());
  record.artifacts["steps.csv"] = "";
  record.metrics = {
      metric_of(metric::kTrainLoss, loss, "nat", Direction::kLower),
      metric_of(metric::kValBpb, val_bpb, "bit/byte", Direction::kLower),
      metric_of(metric::kThroughput, device.starts_with("h100") ? 182000 : 143000, "tok/s",
                Direction::kHigher, Clock::kSim),
      metric_of(metric::kPeakMemory, 734003200, "byte", Direction::kLower, Clock::kSim)};
  record.host_metrics = {metric_of("wall_time_ns", 2.5e9, "ns", Direction::kLower, Clock::kHost)};
  if (change) change(record);
  add(record);
  return record;
}

Record FakeRun::add_evaluation(const std::string& device, std::int64_t seed,
                               const std::string& weights, const std::vector<Task>& tasks,
                               const std::function<void(Record&)>& change) {
  Record record = basic("eval", "base.core", device);
  record.seed = seed;
  record.trained_on = device;
  std::string content = weights;
  for (const Task& task : tasks) {
    content += task.name;
    for (int i = 0; i < task.n; ++i) {
      content += task.right(i) ? "1" : "0";
      if (task.log_probs) content += fmt::format(" {}", fmt::join(task.log_probs(i), " "));
      if (task.text) content += task.text(i);
    }
  }
  set_key(record, content);
  record.subject["weights"] = weights;
  record.comparability["tokenizer"] = "t1";
  record.checkpoint = Json{{"settings", {{"matrix_lr", .02}}},
                           {"steps", 60},
                           {"data", "d1"},
                           {"code", "c1"},
                           {"device", device}};
  for (const Task& task : tasks) {
    std::vector<ItemRecord> items;
    std::int64_t right = 0;
    for (int i = 0; i < task.n; ++i) {
      const bool ok = task.right(i);
      right += ok ? 1 : 0;
      items.push_back(
          {sha256_hex(fmt::format("{} {}", task.name, i)).substr(0, 12), ok, ok ? "1" : "0", "1",
           task.log_probs ? task.log_probs(i) : std::vector<float>{-1.5F, ok ? -1.0F : -2.0F}, ""});
      if (!task.text) continue;
      items.back().log_probs.clear();
      items.back().texts = {task.text(i)};
    }
    must(write_items(folder_of(record) / items_file(task.name), items));
    record.items[task.name] = items_file(task.name);
    record.artifacts[items_file(task.name)] = "";
    record.comparability[task.name + "/items"] = "i1";
    record.comparability[task.name + "/few_shot_seed"] = "1234";
    record.comparability[task.name + "/prompts"] = "p1";
    const double accuracy = static_cast<double>(right) / task.n;
    Metric metric = metric_of(metric::of_task(task.name, metric::kAccuracy), accuracy, "1",
                              Direction::kHigher, Clock::kNone, task.n);
    const Interval interval = wilson(right, task.n);
    metric.low = interval.low;
    metric.high = interval.high;
    record.metrics.push_back(metric);
    record.metrics.push_back(metric_of(metric::of_task(task.name, metric::kCentred),
                                       (accuracy - .25) / .75, "1", Direction::kHigher,
                                       Clock::kNone, task.n));
  }
  if (change) change(record);
  add(record);
  return record;
}

Record FakeRun::add_prediction(const std::string& device, double step_time_ns,
                               double peak_memory_bytes) {
  Record record = basic("predict", "d20x8", device);
  set_key(record, fmt::format("{} {}", step_time_ns, peak_memory_bytes));
  record.metrics = {
      metric_of(metric::kStepTime, step_time_ns, "ns", Direction::kLower, Clock::kSim),
      metric_of(metric::kThroughput, 524288e9 / step_time_ns, "tok/s", Direction::kHigher,
                Clock::kSim),
      metric_of(metric::kPeakMemory, peak_memory_bytes, "byte", Direction::kLower, Clock::kSim)};
  add(record);
  return record;
}

}  // namespace nb::test
