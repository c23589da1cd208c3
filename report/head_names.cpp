#include "report/head_names.hpp"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <set>

#include "report/sections.hpp"

namespace nb {
namespace {

using Texts = std::set<std::string>;

// What the records of a side say of it.
struct Side {
  Texts models, harnesses, devices, dtypes;
};

std::string member_text(const Json& object, const char* key) {
  const auto at = object.is_object() ? object.find(key) : object.end();
  return at != object.end() && at->is_string() ? at->get<std::string>() : std::string();
}

// Of another harness' record what its file says; else null.
const Json& imported_of(const Record& record) {
  static const Json kNone;
  const auto at =
      record.settings->is_object() ? record.settings->find("imported") : record.settings->end();
  return at == record.settings->end() ? kNone : *at;
}

void put(Texts& texts, std::string text) {
  if (!text.empty()) texts.insert(std::move(text));
}

// "2026-10-29" of a record's time; of other forms nothing is known.
std::string day_of(const Record& record) {
  std::string time = finished_at(record);
  if (time.empty()) time = member_text(imported_of(record), "date");
  const auto is_digit = [&](std::size_t i) { return time[i] >= '0' && time[i] <= '9'; };
  if (time.size() < 10 || time[4] != '-' || time[7] != '-') return {};
  for (const std::size_t i : {0U, 1U, 2U, 3U, 5U, 6U, 8U, 9U})
    if (!is_digit(i)) return {};
  const std::string day = time.substr(0, 10);
  const int month = std::stoi(day.substr(5, 2));
  // Files without a clock write 1970.
  const bool is_a_day = month >= 1 && month <= 12 && day >= "2015";
  return is_a_day ? day : std::string();
}

std::string day_text(const Words& say, const std::string& day) {
  constexpr std::array kMonths = {"January",   "February", "March",    "April",
                                  "May",       "June",     "July",     "August",
                                  "September", "October",  "November", "December"};
  const int month = std::stoi(day.substr(5, 2)), of_month = std::stoi(day.substr(8, 2));
  if (say.language() == Language::kZh)
    return fmt::format("{}年{}月{}日", day.substr(0, 4), month, of_month);
  return fmt::format("{} {} {}", of_month, kMonths[static_cast<std::size_t>(month - 1)],
                     day.substr(0, 4));
}

void add(const Record& record, Side& side) {
  put(side.devices, record.device);
  const Json& imported = imported_of(record);
  if (!imported.is_object()) return;
  if (const auto model = record.subject.find("model"); model != record.subject.end())
    put(side.models, model->second);
  const std::string harness = member_text(imported, "harness");
  const std::string version = member_text(imported, "version");
  put(side.harnesses, version.empty() ? harness : harness + " " + version);
  put(side.devices, member_text(imported, "device"));
  put(side.dtypes, member_text(imported, "dtype"));
}

Side side_of(const Comparison& c, const StoredRecord* RecordPair::*which) {
  Side side;
  for (const RecordPair& pair : c.pairs) add((pair.*which)->record, side);
  return side;
}

// torch's device types, as harnesses write them: "cuda", "cuda:0", "npu:1".
std::string kind_of(const Side& side) {
  if (side.devices.size() != 1) return {};
  const std::string type = side.devices.begin()->substr(0, side.devices.begin()->find(':'));
  return type == "cuda" ? "GPU" : type == "npu" ? "NPU" : std::string();
}

std::string list_of(const Texts& texts) { return fmt::format("{}", fmt::join(texts, ", ")); }

// "gpu_results (cuda:0, bfloat16)".
std::string about(const std::string& label, const Side& side, bool names_device) {
  Texts more = side.dtypes;
  if (names_device) more.insert(side.devices.begin(), side.devices.end());
  return more.empty() ? label : fmt::format("{} ({})", label, list_of(more));
}

constexpr std::size_t kMostModels = 2;  // that a title names

std::string days_text(const Words& say, const RunRecords& run, const Comparison* c) {
  Texts days;
  if (c != nullptr)
    for (const RecordPair& pair : c->pairs)
      for (const StoredRecord* side : {pair.a, pair.b}) put(days, day_of(side->record));
  else
    for (const StoredRecord& stored : run.records) put(days, day_of(stored.record));
  if (days.empty()) return {};
  const std::string first = day_text(say, *days.begin()), last = day_text(say, *days.rbegin());
  return first == last ? first : say("days", first, last);
}

}  // namespace

const Comparison* main_comparison(const ReportInput& input) {
  if (input.comparisons.empty()) return nullptr;
  if (input.gate) return &input.comparisons.back();
  return input.comparisons.size() == 1 ? &input.comparisons.front() : nullptr;
}

HeadNames head_names(const Words& say, const ReportInput& input) {
  HeadNames names;
  names.title = input.title;
  const Comparison* c = main_comparison(input);
  std::vector<std::string> parts;
  if (std::string days = days_text(say, *input.run, c); !days.empty())
    parts.push_back(std::move(days));
  if (c != nullptr && !c->pairs.empty()) {
    const Side a = side_of(*c, &RecordPair::a), b = side_of(*c, &RecordPair::b);
    const bool is_foreign = !a.harnesses.empty() || !b.harnesses.empty();
    const std::string kind_a = kind_of(a), kind_b = kind_of(b);
    names.a = side_label(c->label_a, c->label_b);
    names.b = side_label(c->label_b, c->label_a);
    const std::string label_a = names.a, label_b = names.b;
    if (!kind_a.empty() && !kind_b.empty() && kind_a != kind_b) names.a = kind_a, names.b = kind_b;
    Texts models = a.models;
    models.insert(b.models.begin(), b.models.end());
    const std::string of = !is_foreign                    ? input.gate ? std::string() : input.title
                           : models.size() <= kMostModels ? list_of(models)
                                                          : std::string();
    names.title = of.empty() ? say("title_against", names.b, names.a)
                             : say("title_against_of", names.b, names.a, of);
    if (a.harnesses == b.harnesses && !a.harnesses.empty())
      parts.push_back(say("harness_of_both", list_of(a.harnesses)));
    else if (is_foreign)
      parts.push_back(say("harness_of_each",
                          a.harnesses.empty() ? "npubench" : list_of(a.harnesses),
                          b.harnesses.empty() ? "npubench" : list_of(b.harnesses)));
    parts.push_back(say("side_a", about(label_a, a, is_foreign)));
    parts.push_back(say("side_b", about(label_b, b, is_foreign)));
  }
  names.subtitle = fmt::format("{}", fmt::join(parts, " · "));
  return names;
}

}  // namespace nb
