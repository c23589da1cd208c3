// What another harness's files say, in our terms: scored series with their items, or their totals
// alone, and everything that decides whether two of them measured the same thing. Plain values; the
// readers of readers.hpp fill them through a ForeignBuilder, to_records.hpp makes records of them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "results/messages/message.hpp"
#include "results/store/curve.hpp"
#include "results/store/packed_items.hpp"
#include "results/store/record.hpp"

namespace nb {

// One metric of one task under one answer filter: what is paired item by item.
struct SeriesName {
  std::string task;    // as the source calls it: "gsm8k", "mmlu_anatomy"
  std::string filter;  // "strict-match"; empty: the source has none, or only "none"
  std::string metric;  // as the source calls it: "acc_norm", "exact_match"
  auto operator<=>(const SeriesName&) const = default;
};

struct ForeignSeries {
  SeriesName name;
  // As the file itself says them ("higher_is_better", an arrow, semantics); empty: finish() of the
  // builder takes them from metric_kinds.hpp. A metric that neither knows is kNone: shown, never
  // better, worse or gated.
  std::optional<Direction> direction;
  std::string unit;
  // Set by finish(): a mean of scores between 0 and 1, so that n gives a standard error.
  bool is_share = false;
  // The task's headline number. Others (acc beside acc_norm) are shown, not counted as another
  // test.
  bool primary = true;
  // As the source reports the total; empty: it does not, or not for this series.
  std::optional<double> reported, reported_stderr;
  std::int64_t reported_n = 0;  // items behind it; 0: not said
  // reported_n counts that many samples of each question (pass@64 of 30 problems: 1,920): chance is
  // that of reported_n / repeats questions.
  std::int64_t repeats = 1;
  // The source's own limit, in the value's unit: further from `reported` than this it calls a
  // failure (only below it where it says so). Of expectations; empty: it states none.
  std::optional<double> tolerance;
  // The task of this run whose total holds this one: "mmlu" of "mmlu_anatomy". The group is judged,
  // its parts are looked at below it. Empty: no part of anything.
  std::string part_of;
  std::int64_t available_n =
      0;  // items of the whole task where the source says so: more than scored: a limit
  // How an item's samples become its value, as inspect_ai calls it (reducers.hpp): "max",
  // "at_least_2"; empty: their mean.
  std::string reducer;
  PackedItems items;  // empty: totals alone
  // What is here is not the whole, or says two things, in one sentence: "the samples file has 10
  // items, the results say 60". Nothing may be judged by it; the items stay, to be looked at.
  Sentence contradiction;
  // Must be equal for a comparison where both sides say it: "shots", "version" of the task's
  // definition, "samples" an item.
  std::map<std::string, std::string> must_match;
};

// All of one model (and stage of training) that was found under one path.
struct ForeignRun {
  std::string harness;  // "lm-evaluation-harness"
  std::string model;    // as the source calls it; empty: it names none
  std::string stage;    // "base", "mid", "sft", "rl" where the source says so; else empty
  // Of a run that one file holds: the file's name without its endings. Part of the record's name
  // where it alone tells the run from another one beside it (needs_label).
  std::string label;
  bool needs_label = false;
  std::vector<std::filesystem::path> files;  // that it was read from
  // How it was made, as far as the source says: "version", "backend", "device", "dtype",
  // "batch_size", "template", "seed", "date", "limit", … A comparison lists what differs.
  std::map<std::string, std::string> provenance;
  std::vector<ForeignSeries> series;  // in the source's order
  std::vector<Metric> metrics;        // what is not a score: speed, memory, losses; clock kDevice
  Curve curve;                        // of a training log, step by step; empty: none
  std::vector<Sentence> notes;        // what one must know to read it, a sentence each
};

// Everything that was understood under one path.
struct ForeignResults {
  std::filesystem::path path;
  std::vector<ForeignRun> runs;  // sorted by model and stage
  struct File {
    std::filesystem::path path;
    std::string format;  // name of the format; empty: not recognised
  };
  std::vector<File> files;        // every file there is under the path, sorted
  std::vector<Sentence> ignored;  // what was seen and left out, a sentence each
};

}  // namespace nb
