// A gate while its verdicts are collected: what gate.cpp (records, pairs, equal weights) and
// gate_retrained.cpp (trainings from other seeds or code) put into one result.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "results/gate/gate_judge.hpp"
#include "results/gate/gate_scoring.hpp"
#include "results/messages/sentences.hpp"

namespace nb {

// More items than this that one side alone could not score are an ERROR: timeouts are no answers.
inline constexpr double kErrorShareLimit = 0.005;

struct Gate {
  const Comparison& comparison;
  const GatePolicy& policy;
  GateResult result;
  std::vector<ItemTest> items;
  std::vector<ScoringTest> scoring;
  std::vector<SeedTest> seeds;

  void add(const std::string& metric, const std::string& where, Verdict verdict,
           const std::string& test, Sentence reason) {
    TaskVerdict v;
    v.metric = metric;
    v.where = where;
    v.verdict = verdict;
    v.test = test;
    v.reason = std::move(reason);
    result.verdicts.push_back(std::move(v));
  }
  void note(const std::string& metric, const std::string& where, Sentence text) {
    result.notes.push_back(message("gate.note", metric, where, std::move(text)));
  }
  std::size_t judged() const { return result.verdicts.size() + items.size() + scoring.size(); }
};

// Of the record's own metrics, without those of the host; nullptr: none.
const Metric* deterministic(const Record& record, const std::string& name);
bool has_weights(const Record& record);
bool is_gated(const GatePolicy& policy, const std::string& task);
// Centred scores and the like follow from the answers of their task, and so do scores of its parts
// ("mmlu/anatomy/accuracy"): one check a task.
bool follows_from_accuracy(const Record& record, const std::string& metric);

// Of imported trainings: their curves; and how far a total of one may lie from another's, from its
// curve's own noise. Nothing: it has none.
void judge_curves_of(Gate& gate, const RecordPair& pair);
std::optional<SeedNoise> noise_of_imported(const StoredRecord& training, double value);
// Tests over seeds, trainings that depart in their first steps, seeds without an effect.
void judge_retrained(Gate& gate);
// Once the family is judged: takes out single steps that nothing but noise explains.
void drop_single_values(Gate& gate);

}  // namespace nb
