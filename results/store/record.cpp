#include "results/store/record.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "harness/base/check.hpp"
#include "harness/base/hash.hpp"
#include "harness/base/json_io.hpp"
#include "results/store/json_reader.hpp"

namespace nb {
namespace {

constexpr std::array<std::string_view, 3> kDirections = {"none", "higher", "lower"};
constexpr std::array<std::string_view, 4> kClocks = {"none", "sim", "host", "device"};
constexpr std::array<std::string_view, 3> kNumericsStatus = {"documented", "assumed",
                                                             "not modelled"};

// A text of a table → its index, which is the enumerator.
template <class Names>
std::size_t index_of(const Names& names, JsonReader& reader, const char* key) {
  const std::string text = reader.text(key);
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i] == text) return i;
  reader.fail(key, fmt::format("\"{}\" is not one of its values", text));
  return 0;
}

bool finite_or_absent(const std::optional<double>& value) {
  return !value || std::isfinite(*value);
}

Result<void> check_metrics(const std::vector<Metric>& metrics, bool host) {
  const std::string list = host ? "host_metrics" : "metrics";
  std::set<std::string> names;
  for (const Metric& metric : metrics) {
    const std::string where = fmt::format("record: {}/{}", list, metric.name);
    if (metric.name.empty())
      return run_error(fmt::format("record: a metric in {} has no name", list));
    if (!names.insert(metric.name).second) return run_error(where + ": appears twice");
    if (!finite_or_absent(metric.value) || !finite_or_absent(metric.low) ||
        !finite_or_absent(metric.high))
      return run_error(where + ": NaN and infinities are refused; record no value and the reason");
    if (!metric.value && metric.reason_if_null.empty())
      return run_error(where + ": has neither a value nor a reason why there is none");
    if (metric.value && !metric.reason_if_null.empty())
      return run_error(where + ": has a value and a reason why there is none");
    if (metric.low.has_value() != metric.high.has_value())
      return run_error(where + ": an interval needs both ends");
    if (metric.low && *metric.low > *metric.high)
      return run_error(where + ": the interval's ends are swapped");
    const bool real_clock = metric.clock == Clock::kHost || metric.clock == Clock::kDevice;
    if (!host && real_clock)
      return run_error(where + ": a real clock's metric belongs to host_metrics");
    if (host && metric.clock == Clock::kSim)
      return run_error(where + ": a simulated metric belongs to metrics");
  }
  return {};
}

// What of settings/imported is not as the import writes it (import/to_records.cpp); empty: all is.
// Comparisons and reports read it without looking again.
std::string imported_mistake(const Json& imported) {
  if (!imported.is_object()) return "is not an object";
  const auto is_text = [](const Json& value) { return value.is_string(); };
  for (const auto& [key, value] : imported.items()) {
    if (key == "series" || key == "not_finite_from") {
      if (!value.is_object()) return fmt::format("/{} is not an object", key);
    } else if (key == "primary") {
      if (!value.is_array() || !std::all_of(value.begin(), value.end(), is_text))
        return "/primary is not a list of strings";
    } else if (!value.is_string()) {
      return fmt::format("/{} is not a string", key);
    }
  }
  constexpr std::array<std::string_view, 2> kTexts = {"part_of", "contradiction"};
  const Json series = imported.value("series", Json::object());
  for (const auto& [name, facts] : series.items()) {
    if (!facts.is_object()) return fmt::format("/series/{} is not an object", name);
    for (const auto& [key, value] : facts.items()) {
      const bool is_right = key == "share"                                   ? value.is_boolean()
                            : key == "contradiction_message"                 ? value.is_object()
                            : std::ranges::find(kTexts, key) != kTexts.end() ? value.is_string()
                                                                             : value.is_number();
      if (!is_right) return fmt::format("/series/{}/{} has the wrong type", name, key);
    }
  }
  const Json broken = imported.value("not_finite_from", Json::object());
  for (const auto& [name, step] : broken.items())
    if (!step.is_number_integer())
      return fmt::format("/not_finite_from/{} is not an integer", name);
  return {};
}

Result<void> check(const Record& record) {
  if (record.kind.empty() || record.name.empty())
    return run_error("record: kind and name must not be empty");
  if (const auto imported = record.settings->find("imported"); imported != record.settings->end())
    if (const std::string mistake = imported_mistake(*imported); !mistake.empty())
      return run_error(fmt::format("record {}: /settings/imported{}{}", record.name,
                                   mistake.starts_with('/') ? "" : " ", mistake));
  if (record.status != "ok" && record.status != "failed")
    return run_error(fmt::format("record {}: status \"{}\" is neither \"ok\" nor \"failed\"",
                                 record.name, record.status));
  if ((record.status == "failed") != !record.error.empty())
    return run_error(
        fmt::format("record {}: a failed record, and only that, has an error text", record.name));
  NB_TRY_VOID(check_metrics(record.metrics, false), record.name);
  NB_TRY_VOID(check_metrics(record.host_metrics, true), record.name);
  for (const auto& [task, file] : record.items)
    if (!record.artifacts.contains(file))
      return run_error(fmt::format("record {}: items file {} of {} is not among the artifacts",
                                   record.name, file, task));
  for (const auto& [file, digest] : record.host_artifacts)
    if (record.artifacts.contains(file))
      return run_error(
          fmt::format("record {}: {} is both an artifact and a host artifact", record.name, file));
  for (const NumericsEntry& entry : record.numerics) {
    bool known = false;
    for (const auto status : kNumericsStatus) known = known || status == entry.status;
    if (!known)
      return run_error(fmt::format(
          "record {}: numerics entry \"{}\" has status \"{}\"; documented, assumed, not modelled",
          record.name, entry.item, entry.status));
  }
  return {};
}

Json metric_json(const Metric& metric) {
  return {{"name", metric.name},
          {"value", optional_json(metric.value)},
          {"reason_if_null", metric.reason_if_null},
          {"unit", metric.unit},
          {"direction", name(metric.direction)},
          {"clock", name(metric.clock)},
          {"n", metric.n},
          {"low", optional_json(metric.low)},
          {"high", optional_json(metric.high)}};
}

Result<Metric> parse_metric(const Json& json, const std::string& where) {
  JsonReader reader(json, where);
  Metric metric;
  metric.name = reader.text("name");
  metric.value = reader.optional_number("value");
  metric.reason_if_null = reader.text("reason_if_null");
  metric.unit = reader.text("unit");
  metric.direction = static_cast<Direction>(index_of(kDirections, reader, "direction"));
  metric.clock = static_cast<Clock>(index_of(kClocks, reader, "clock"));
  metric.n = reader.integer("n");
  metric.low = reader.optional_number("low");
  metric.high = reader.optional_number("high");
  NB_TRY_VOID(reader.finish());
  return metric;
}

Json metrics_json(const std::vector<Metric>& metrics) {
  Json list = Json::array();
  for (const Metric& metric : metrics) list.push_back(metric_json(metric));
  return list;
}

Result<std::vector<Metric>> parse_metrics(const Json& list, const std::string& where) {
  std::vector<Metric> metrics;
  for (std::size_t i = 0; i < list.size(); ++i) {
    NB_TRY(Metric metric, parse_metric(list[i], fmt::format("{}/{}", where, i)));
    metrics.push_back(std::move(metric));
  }
  return metrics;
}

Result<std::vector<NumericsEntry>> parse_numerics(const Json& list, const std::string& where) {
  std::vector<NumericsEntry> entries;
  for (std::size_t i = 0; i < list.size(); ++i) {
    JsonReader reader(list[i], fmt::format("{}/{}", where, i));
    entries.push_back(
        {reader.text("item"), reader.text("value"), reader.text("status"), reader.text("source")});
    NB_TRY_VOID(reader.finish());
  }
  return entries;
}

// "/json/pointer: sentence" differences of maps, for first_difference.
std::string first_difference(const std::string& what, const std::map<std::string, std::string>& a,
                             const std::map<std::string, std::string>& b) {
  for (const auto& [key, value] : a) {
    const auto at = b.find(key);
    if (at == b.end()) return fmt::format("{}/{}: only on one side", what, key);
    if (at->second != value)
      return fmt::format("{}/{}: {} and {}", what, key, value.substr(0, 16),
                         at->second.substr(0, 16));
  }
  for (const auto& [key, value] : b)
    if (!a.contains(key)) return fmt::format("{}/{}: only on one side", what, key);
  return {};
}

}  // namespace

std::string_view name(Direction direction) {
  return kDirections.at(static_cast<std::size_t>(direction));
}
std::string_view name(Clock clock) { return kClocks.at(static_cast<std::size_t>(clock)); }

Result<Json> record_json(const Record& record) {
  NB_TRY_VOID(check(record));
  Json numerics = Json::array();
  for (const NumericsEntry& entry : record.numerics)
    numerics.push_back({{"item", entry.item},
                        {"value", entry.value},
                        {"status", entry.status},
                        {"source", entry.source}});
  if (!record.checkpoint->is_null() && !record.checkpoint->is_object())
    return run_error(
        fmt::format("record {}: checkpoint is neither an object nor null", record.name));
  Json json = {{"schema", kRecordSchema},
               {"kind", record.kind},
               {"name", record.name},
               {"node_key", record.node_key},
               {"status", record.status},
               {"error", record.error},
               {"device", record.device},
               {"trained_on", record.trained_on},
               {"seed", optional_json(record.seed)},
               {"settings", *record.settings},
               {"parents", record.parents},
               {"checkpoint", *record.checkpoint},
               {"comparability", record.comparability},
               {"subject", record.subject},
               {"metrics", metrics_json(record.metrics)},
               {"host_metrics", metrics_json(record.host_metrics)},
               {"numerics", numerics},
               {"environment", *record.environment},
               {"items", record.items},
               {"artifacts", record.artifacts},
               {"host_artifacts", record.host_artifacts}};
  if (const auto text = dump_json(json); !text)  // NaN hidden in settings or environment
    return tl::unexpected<Error>(with_context(text.error(), "record " + record.name));
  json["checksum"] = record_checksum(json);
  return json;
}

std::string record_checksum(const Json& record) {
  // sha256_json of the record without its checksum, of which no copy is made.
  std::string text = "{";
  for (const auto& [key, value] : record.items()) {
    if (key == "checksum") continue;
    const auto member = dump_json(value, -1);
    NB_CHECK(member.has_value(), "[record_checksum] {}", member.error().message);
    text += (text.size() > 1 ? "," : "") + Json(key).dump() + ":" + *member;
  }
  return sha256_hex(text + "}");
}

Result<Record> parse_record(const Json& json, const std::string& where) {
  JsonReader reader(json, where + ": ");
  Record record;
  const std::int64_t schema = reader.integer("schema");
  if (json.is_object() && (schema < 1 || schema > kRecordSchema))
    return bad_input(
        fmt::format("{}: /schema: {} is none of the schemas 1 to {} that this program reads (was "
                    "it written by another version?)",
                    where, schema, kRecordSchema));
  record.schema = static_cast<int>(schema);
  record.kind = reader.text("kind");
  record.name = reader.text("name");
  record.node_key = reader.text("node_key");
  record.status = reader.text("status");
  record.error = reader.text("error");
  record.device = reader.text("device");
  record.trained_on = reader.text("trained_on");
  record.seed = reader.optional_integer("seed");
  record.settings = reader.object("settings");
  for (const Json& parent : reader.array("parents")) {
    if (!parent.is_string()) {
      reader.fail("parents", "contains something that is not a string");
      break;
    }
    record.parents.push_back(parent.get<std::string>());
  }
  std::string checksum;
  if (record.schema >= 2) {
    record.checkpoint = reader.object_or_null("checkpoint");
    checksum = reader.text("checksum");
  }
  record.comparability = reader.text_map("comparability");
  record.subject = reader.text_map("subject");
  const Json &metrics = reader.array("metrics"), &host_metrics = reader.array("host_metrics"),
             &numerics = reader.array("numerics");
  record.environment = reader.object("environment");
  record.items = reader.text_map("items");
  record.artifacts = reader.text_map("artifacts");
  record.host_artifacts = reader.text_map("host_artifacts");
  NB_TRY_VOID(reader.finish());
  NB_TRY(record.metrics, parse_metrics(metrics, reader.where() + "/metrics"));
  NB_TRY(record.host_metrics, parse_metrics(host_metrics, reader.where() + "/host_metrics"));
  NB_TRY(record.numerics, parse_numerics(numerics, reader.where() + "/numerics"));
  if (auto checked = check(record); !checked)
    return bad_input(where + ": " + checked.error().message);
  if (record.schema >= 2)
    if (const std::string actual = record_checksum(json); checksum != actual)
      return bad_input(
          fmt::format("{}: damaged or edited: its checksum says {}, its content has {}", where,
                      checksum, actual));
  return record;
}

const Metric* find_metric(const Record& record, std::string_view name) {
  for (const auto* list : {&record.metrics, &record.host_metrics})
    for (const Metric& metric : *list)
      if (metric.name == name) return &metric;
  return nullptr;
}

std::string first_difference(const Record& a, const Record& b) {
  if (a.status != b.status) return fmt::format("status: {} and {}", a.status, b.status);
  if (auto text = first_difference("comparability", a.comparability, b.comparability);
      !text.empty())
    return text;
  for (const Metric& metric : a.metrics) {
    const Metric* other = nullptr;
    for (const Metric& candidate : b.metrics)
      if (candidate.name == metric.name) other = &candidate;
    if (other == nullptr) return fmt::format("metrics/{}: only on one side", metric.name);
    const Json left = metric_json(metric), right = metric_json(*other);
    if (left == right) continue;
    for (const auto& [key, value] : left.items())
      if (value != right.at(key))
        return fmt::format("metrics/{}/{}: {} and {}", metric.name, key, value.dump(),
                           right.at(key).dump());
  }
  for (const Metric& metric : b.metrics) {
    bool found = false;
    for (const Metric& candidate : a.metrics) found = found || candidate.name == metric.name;
    if (!found) return fmt::format("metrics/{}: only on one side", metric.name);
  }
  return first_difference("artifacts", a.artifacts, b.artifacts);
}

bool same_results(const Record& a, const Record& b) { return first_difference(a, b).empty(); }

std::string finished_at(const Record& record) {
  const auto at = record.environment->find("finished_at");
  return at != record.environment->end() && at->is_string() ? at->get<std::string>()
                                                            : std::string();
}

std::string describe(const Record& record) {
  std::string text = record.kind + " " + record.name;
  if (!record.device.empty()) text += " on " + record.device;
  if (!record.trained_on.empty() && record.trained_on != record.device)
    text += ", trained on " + record.trained_on;
  if (record.seed) text += fmt::format(", seed {}", *record.seed);
  return text;
}

}  // namespace nb
