// One evaluation outside a suite as a plan of one node, which the runner runs like any other: its
// key, lock, reuse, resume and record are the runner's. Here are only shards, which make items
// before there is a node to run. Whoever answers (a model, texts that are there) is a function.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "evals/evaluate.hpp"
#include "harness/base/result.hpp"
#include "harness/run/evaluation.hpp"
#include "harness/run/open_model.hpp"

namespace nb {

struct AnswerSource {
  std::string folder;   // of results, without the key: "train-base-ascend_910b3-s1.mw"
  std::string name;     // of the record, free of device and seed: "base.mw"
  std::string weights;  // what is compared: digest of weights or of a file
  const OpenedModel* opened = nullptr;  // nullptr: texts that are there already, nothing to resume
  // What the record says of whoever answered.
  std::string trained_on;
  std::optional<std::int64_t> seed;
  std::vector<std::string> parents;
  JsonBox checkpoint = JsonBox::null();
  // Of a server: what names it in the key; what its probes found, kept beside items under way, so
  // that another model behind the same URL is noticed; what else its record says.
  std::string server;
  JsonBox server_facts = JsonBox::null();
  std::function<void(Record&)> describe;
};
// "mw/facts+gsm8k": the last part of both names.
std::string task_set(const EvalSettings& settings);

// Results of all tasks, composites included; called a second time when other shards may have ended.
using AnswerFunction = std::function<Result<std::vector<EvalResult>>(const EvalContext&)>;

Result<EvaluationOutcome> run_in_folder(const EvaluationRequest& request, EvalContext context,
                                        const AnswerSource& source, const AnswerFunction& answer);

}  // namespace nb
