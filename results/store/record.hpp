// One JSON per executed node: what was asked, what came out, on what. `metrics` and `artifacts`
// hold only what is deterministic, so two runs of one node give equal bytes there; the host's clock
// stands apart in host_metrics, logs in host_artifacts, timestamps only in environment. A record on
// disk carries a checksum of itself: one that was edited or damaged is never taken for a result.
// Plain values, no I/O (store.hpp).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/json_io.hpp"
#include "harness/base/result.hpp"
#include "results/store/json_box.hpp"

namespace nb {

// Raised when a reader of old records would misread a new one. Records of every schema up to this
// one are read, this one is written. 1: neither `checkpoint` nor `checksum`.
inline constexpr int kRecordSchema = 2;

enum class Direction { kNone, kHigher, kLower };   // which way is better
enum class Clock { kNone, kSim, kHost, kDevice };  // never mixed: comparing across is INCOMPARABLE
std::string_view name(Direction direction);        // "none", "higher", "lower"
std::string_view name(Clock clock);                // "none", "sim", "host", "device"

// A value that could not be measured is empty with a reason, never 0. NaN and infinities are
// refused.
struct Metric {
  std::string name;  // metric_names.hpp for those that reports and gates know
  std::string task;  // "mw/facts" when one record holds several tasks; else empty
  std::optional<double> value;
  std::string reason_if_null;  // required without a value
  std::string unit;            // "ns", "byte", "tok/s", "bit/byte", "1"
  Direction direction = Direction::kNone;
  Clock clock = Clock::kNone;
  std::int64_t n = 0;  // items, steps or repetitions behind the value; 0: does not apply
  std::optional<double> low, high;  // 95 % interval, in the value's unit
};

// One line of the numerics card: how this device's arithmetic is emulated and how we know.
struct NumericsEntry {
  std::string item;    // "matmul inputs"
  std::string value;   // "bf16, round to nearest even"
  std::string status;  // "documented", "assumed" or "not modelled"
  std::string source;  // document, or why it is assumed
};

struct Record {
  int schema = kRecordSchema;  // as it was read; written is always kRecordSchema
  std::string kind;      // node kind: "dataset", "tokenizer", "train", "eval", "micro", "predict"
  std::string name;      // what it is in the suite, free of device and seed: "base", "base.core"
  std::string node_key;  // 64 hex digits
  std::string status = "ok";  // "ok" or "failed"
  std::string error;          // one sentence when failed
  std::string device;         // profile it ran on; empty: on none (datasets, tokenizers)
  std::string trained_on;     // evaluations: profile that trained the weights; else empty
  std::optional<std::int64_t> seed;
  JsonBox settings;                  // effective settings, defaults included
  std::vector<std::string> parents;  // node keys
  // Evaluations: what the evaluated weights say of their own training, so that a comparison never
  // blames the device for a recipe. null: they say nothing of it (a foreign file, a built-in model,
  // stored texts). Otherwise an object:
  //   "settings"    the training's effective settings (TrainSettings with every default)
  //   "model"       its sizes           "steps"  optimizer steps these weights have seen
  //   "seed"        of the training     "data"   digest of the token shards it was trained on
  //   "tokenizer"   hash of its tokenizer
  //   "device"      profile that it was trained on, "numerics_of" whose policy it used
  //   "numerics"    that policy, entry by entry
  //   "code"        digest of the code that trained it; null where only the file is at hand
  //   "parents"     node keys of the training's parents; null where only the file is at hand
  JsonBox checkpoint = JsonBox::null();
  std::map<std::string, std::string>
      comparability;  // must be equal to compare: "tokenizer", "metric_version";
                      // "<task>/items", "<task>/prompts" concern that task only
  std::map<std::string, std::string> subject;  // what is compared, may differ: "weights", "code"
  std::vector<Metric> metrics;                 // deterministic
  std::vector<Metric> host_metrics;            // of a real clock; never gated exactly
  std::vector<NumericsEntry> numerics;
  JsonBox environment;  // host, versions, code digests, "started_at", "finished_at"
  std::map<std::string, std::string>
      items;  // task → its items file (items.hpp), a name of artifacts
  std::map<std::string, std::string>
      artifacts;  // file in the run folder → sha256; deterministic files
  std::map<std::string, std::string>
      host_artifacts;  // the same for logs and anything that a clock touches
};

// Refused with a sentence: NaN, a null without reason, an unknown status, kHost in metrics, kSim in
// host_metrics, an items file that is not an artifact, two metrics of one name.
Result<Json> record_json(const Record& record);
// SHA-256 of a record's canonical one-line JSON without its member "checksum", which holds it.
std::string record_checksum(const Json& record);
// Errors name the first bad field, or say that the content does not match its checksum.
Result<Record> parse_record(const Json& json, const std::string& where);

const Metric* find_metric(const Record& record, std::string_view name);  // nullptr: none
// Equal comparability, metrics and artifacts: the same bits came out. Device, code and host do not
// count.
bool same_results(const Record& a, const Record& b);
// First metric or artifact that differs, "metrics/val_bpb: 1.5 and 1.25"; empty when same_results.
std::string first_difference(const Record& a, const Record& b);
// "2026-11-21T17:05:00Z" of its environment; empty: it does not say.
std::string finished_at(const Record& record);
// "eval base.core on ascend_910b3, seed 1": for messages.
std::string describe(const Record& record);

}  // namespace nb
