#include "results/gate/aa_control.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <tuple>
#include <utility>

#include "results/messages/sentences.hpp"

namespace nb {
namespace {

auto identity_of(const Record& r) {
  return std::tie(r.kind, r.name, r.trained_on, r.device, r.seed);
}

bool is_same_folder(const std::filesystem::path& a, const std::filesystem::path& b) {
  std::error_code ignored;
  return std::filesystem::equivalent(a, b, ignored);
}

const StoredRecord* twin_of(const StoredRecord& stored, const RunRecords& run) {
  const auto at = std::find_if(run.records.begin(), run.records.end(), [&](const auto& other) {
    return identity_of(other.record) == identity_of(stored.record);
  });
  return at == run.records.end() ? nullptr : &*at;
}

// Why the two are no control, or not the same; empty: bit-identical.
Sentence trouble_of(const StoredRecord& a, const StoredRecord& b) {
  for (const StoredRecord* side : {&a, &b}) {
    if (side->record.status != "ok")
      return message("control.failed", side->folder.string(), side->record.error);
    for (const auto& [file, digest] : side->record.artifacts)
      if (const auto intact = verify_artifact(*side, file); !intact)
        return verbatim(intact.error().message);
  }
  if (a.record.node_key != b.record.node_key)
    return message("control.other_keys", a.record.node_key.substr(0, 8),
                   b.record.node_key.substr(0, 8));
  if (same_results(a.record, b.record)) return {};
  return message("control.other_bits", first_difference(a.record, b.record));
}

}  // namespace

GateResult aa_control(const RunRecords& first, const RunRecords& second) {
  GateResult result;
  const auto add = [&](const std::string& where, Sentence trouble) {
    TaskVerdict v;
    v.where = where;
    v.test = trouble.empty() ? "identical" : "control";
    v.verdict = trouble.empty() ? Verdict::kPass : Verdict::kError;
    v.reason = trouble.empty() ? message("gate.bit_identical") : std::move(trouble);
    result.verdicts.push_back(std::move(v));
  };
  for (const RunRecords* run : {&first, &second})
    for (const std::string& sentence : run->damaged) add("A/A control", verbatim(sentence));
  if (is_same_folder(first.path, second.path))
    add("A/A control", message("control.itself", first.path.string()));
  for (const StoredRecord& stored : first.records) {
    const StoredRecord* twin = twin_of(stored, second);
    add(describe(stored.record), twin == nullptr
                                     ? message("control.no_such_node", second.path.string())
                                     : trouble_of(stored, *twin));
  }
  for (const StoredRecord& stored : second.records)
    if (twin_of(stored, first) == nullptr)
      add(describe(stored.record), message("control.no_such_node", first.path.string()));
  settle_night(result, {});
  return result;
}

}  // namespace nb
