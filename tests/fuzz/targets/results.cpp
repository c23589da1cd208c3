// results: files of run folders, and what people write for the gate. Sound ones come from the
// program's own writers.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/base/check.hpp"
#include "harness/base/fields.hpp"
#include "harness/base/fs.hpp"
#include "harness/base/hash.hpp"
#include "results/compare/compare.hpp"
#include "results/gate/gate.hpp"
#include "results/gate/gate_formats.hpp"
#include "results/gate/gate_history.hpp"
#include "results/gate/gate_policy.hpp"
#include "results/gate/noise_profile.hpp"
#include "results/import/formats.hpp"
#include "results/import/to_records.hpp"
#include "results/store/acceptance.hpp"
#include "results/store/index.hpp"
#include "results/store/items.hpp"
#include "results/store/series.hpp"
#include "results/store/store.hpp"
#include "tests/fuzz/scratch.hpp"
#include "tests/fuzz/seeds.hpp"
#include "tests/fuzz/target.hpp"
#include "tests/results/fake_run.hpp"
#include "tests/results/import/format_corpus.hpp"

namespace nb::test {
namespace {

// A run of a training and an evaluation, on disk as long as the process lives.
const FakeRun& fake_run() {
  static const FakeRun* const kRun = [] {
    static FakeRun run("smoke");
    run.add_training("ascend_910b3", 1, 1.9);
    run.add_evaluation("ascend_910b3", 1, "w", {{"mw/facts", 3, even}, {"core/piqa", 2, always}});
    return &run;
  }();
  return *kRun;
}

std::vector<std::string> files_of_run(const char* name) {
  std::vector<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(fake_run().suite_folder()))
    if (entry.path().filename().string().ends_with(name))
      files.push_back(must(read_file(entry.path())));
  std::ranges::sort(files);
  return files;
}

// Records of other harnesses' files, as `import` writes them.
std::vector<std::string> imported_records() {
  std::vector<std::string> records;
  for (const CorpusFile& file : format_corpus()) {
    const auto read = read_foreign(scratch_file(fs::path("imported") / file.name, file.bytes));
    if (!read || records.size() == 8) continue;
    const fs::path folder = scratch_folder() / "imported_run" / std::to_string(records.size());
    must(write_import(*read, folder));
    for (const auto& entry : fs::recursive_directory_iterator(folder))
      if (entry.path().filename() == "record.json")
        records.push_back(must(read_file(entry.path())));
  }
  return records;
}

std::vector<std::string> record_seeds() {
  std::vector<std::string> records = files_of_run("record.json");
  std::ranges::copy(imported_records(), std::back_inserter(records));
  return records;
}

// A record, and what compare, gate and their outputs make of it beside itself.
Result<void> fuzz_record(std::string_view bytes) {
  NB_TRY(Json json, parse_json(bytes, "record.json"));
  if (json.is_object() && json.contains("checksum")) json["checksum"] = record_checksum(json);
  NB_TRY(const Record record, parse_record(json, "record.json"));
  NB_TRY(const Json again, record_json(record));
  const auto same = parse_record(again, "again");
  NB_CHECK(same && same_results(record, *same), "[record] not the same when read again");
  RunRecords run;
  run.path = scratch_folder() / "record";
  run.records.push_back({record, run.path / "node-00000000"});
  const Comparison comparison = compare_runs(run, run, PairAcross::kNothing);
  const GateResult judged = gate(comparison);
  NB_CHECK(!comparison_text(comparison).empty() && !gate_text(judged).empty(), "[record] no text");
  NB_TRY(const std::string text, dump_json(comparison_json(comparison)));
  NB_TRY(const std::string verdicts, dump_json(gate_json(judged)));
  NB_CHECK(!gate_junit(judged).empty() && !gate_markdown(judged).empty(), "[record] no report");
  return {};
}

Result<void> fuzz_items(std::string_view bytes) {
  NB_TRY(const std::vector<ItemRecord> items, parse_items(bytes, "items.jsonl"));
  NB_TRY(const std::string text, items_text(items));
  const auto again = parse_items(text, "again");
  NB_CHECK(again && *items_text(*again) == text, "[items] other bytes when written again");
  return {};
}

// Read; and as a killed training left it: gone on with from its second row.
Result<void> fuzz_steps(std::string_view bytes) {
  const fs::path path = scratch_file("steps/steps.csv", bytes);
  const auto read = read_series(path);
  if (auto writer = SeriesWriter::open(path, {"train_loss", "val_bpb"}, 2)) {
    NB_TRY_VOID(writer->append(1'000'000'000'000'000, {1.5, std::nullopt}));
    NB_TRY_VOID(writer->flush());
    const auto whole = read_series(path);
    NB_CHECK(whole || !read, "[steps] was read, and is not after it went on: {}",
             whole.error().message);
  }
  return read ? Result<void>{} : tl::unexpected(read.error());
}

Result<void> fuzz_run_list(std::string_view bytes) {
  NB_TRY(const auto list, read_run_list(scratch_file("run_list/run.json", bytes).parent_path()));
  NB_TRY(const RunRecords run, read_run(scratch_folder() / "run_list"));
  return {};
}

// A database under its seal. What SQLite says of one that was made wrong with a right seal is no
// finding: nobody but this program seals.
Result<void> fuzz_index(std::string_view bytes) {
  const fs::path folder = scratch_folder() / "index";
  fs::create_directories(folder / "smoke");
  scratch_file("index/smoke/run.json", R"({"nodes": [], "schema": 1})");
  const fs::path path =
      scratch_file(fs::path("index") / kIndexFile,
                   fmt::format("{}\nnpubench index, sha256 {}\n", bytes, sha256_hex(bytes)));
  NB_TRY(const RunIndex index, RunIndex::open(folder));
  const auto records = index.records();
  for (const MetricSummary& metric : index.metrics()) index.metric(metric.name);
  if (!index.notes().empty()) return bad_input(index.notes().front());
  return {};
}

std::vector<std::string> index_seeds() {
  const fs::path folder = fake_run().suite_folder().parent_path();
  must(RunIndex::open(folder, RunIndex::Mode::kRebuild));
  std::string file = must(read_file(folder / kIndexFile));
  file.resize(file.rfind("\nnpubench index"));
  return {file};
}

Result<void> fuzz_policy(std::string_view bytes) {
  scratch_file("policy/card.json", "{}");
  NB_TRY(const GatePolicy policy, read_policy(scratch_file("policy/policy.json", bytes)));
  const RunRecords run = fake_run().read();
  NB_CHECK(!gate_text(gate(run, run, policy)).empty(), "[policy] no text");
  return {};
}

Result<void> fuzz_noise_profile(std::string_view bytes) {
  NB_TRY(const NoiseProfile card,
         read_noise_profile(scratch_file("noise_profile/card.json", bytes)));
  return dump_json(print_struct(card)) ? Result<void>{} : bad_input("card.json: cannot be written");
}

std::vector<std::string> noise_profile_seeds() {
  FakeRun first("smoke"), second("smoke");
  for (FakeRun* run : {&first, &second})
    for (const int seed : {1, 2, 3}) run->add_training("ascend_910b3", seed, 1.9 + .001 * seed);
  const std::vector<RunRecords> runs = {first.read(), second.read()};
  return {must(dump_json(print_struct(must(calibrate(runs)))))};
}

Acceptance accepted() {
  static const Acceptance kAccepted = must(
      accept_run(fake_run().read(), fake_run().suite_folder().parent_path(), "somebody", "a test"));
  return kAccepted;
}

// The digest of the nodes that an acceptance lists, computed as run_digest does.
Result<void> fuzz_accepted(std::string_view bytes) {
  std::string text(bytes);
  if (auto json = parse_json(bytes, ""); json && json->is_object()) {
    if (const auto nodes = json->find("nodes"); nodes != json->end() && nodes->is_object()) {
      std::string all;
      for (const auto& [node, digest] : nodes->items())
        if (digest.is_string()) all += node + " " + digest.get<std::string>() + "\n";
      (*json)["digest"] = sha256_hex(all);
      text = json->dump(-1, ' ', false, Json::error_handler_t::replace);
    }
  }
  const fs::path pointer = scratch_file("accepted/accepted/smoke.json", text);
  NB_TRY(const auto found, find_accepted(scratch_folder() / "accepted", "smoke"));
  NB_TRY(const RunRecords run, read_accepted(pointer));
  return {};
}

// Lines of former decisions: the next one is written after them.
Result<void> fuzz_accepted_history(std::string_view bytes) {
  scratch_file("accepted_history/accepted/history.jsonl", bytes);
  static const RunRecords kRun = fake_run().read();
  NB_TRY(const Acceptance accepted,
         accept_run(kRun, scratch_folder() / "accepted_history", "somebody", "a test"));
  return {};
}

Result<void> fuzz_gates(std::string_view bytes) {
  const fs::path home = scratch_file(fs::path("gates") / kGateHistory, bytes).parent_path();
  NB_TRY(const std::vector<GatedNight> nights, read_nights(home));
  GatedNight night;
  night.suite = "smoke";
  night.name = "2026-01-04";
  night.night = "INCONCLUSIVE";
  night.open = {"a"};
  alerts_of(nights_before(nights, night), night);
  NB_TRY_VOID(write_night(home, night));
  const auto after = read_nights(home);
  NB_CHECK(after && after->size() >= std::max<std::size_t>(nights.size(), 1),
           "[gates] {} nights before, {} after", nights.size(), after ? after->size() : 0);
  return {};
}

std::vector<std::string> gates_seeds() {
  std::string lines;
  for (const char* name : {"2026-01-01", "2026-01-02", "2026-01-03"}) {
    GatedNight night;
    night.when = std::string(name) + "T05:00:00Z";
    night.suite = "smoke";
    night.name = name;
    night.digest = name;
    night.night = "INCONCLUSIVE";
    night.open = {"a"};
    lines += must(dump_json(print_struct(night), -1)) + "\n";
  }
  return {lines};
}

}  // namespace

void add_results_targets(FuzzTargets& targets) {
  targets.push_back({"record", "record.json of a run", "SHA-256 of the content computed anew",
                     fuzz_record, record_seeds});
  targets.push_back(
      {"items", "items.jsonl of a run", "", fuzz_items, [] { return files_of_run(".jsonl"); }});
  targets.push_back({"steps", "steps.csv of a training", "", fuzz_steps, [] {
                       return std::vector<std::string>{
                           "step,train_loss,val_bpb\n0,5.5,\n1,5.25,2\n2,5,\n"};
                     }});
  targets.push_back({"run_list", "run.json of a run", "", fuzz_run_list, [] {
                       const fs::path folder = scratch_folder() / "run_list_seed";
                       fs::create_directories(folder);
                       must(write_run_list(folder, {"base-0123abcd"}));
                       return std::vector<std::string>{must(read_file(folder / "run.json"))};
                     }});
  targets.push_back({"index", "the index over run folders", "its last line computed anew",
                     fuzz_index, index_seeds});
  targets.push_back(
      {"policy", "policies of the gate", "", fuzz_policy, [] {
         return std::vector<std::string>{
             R"({"alpha": 0.01, "margins": {"gsm8k": 0.02}, "gated_tasks": ["mw/facts"], "min_seeds": 3, "card_sd": {"val_bpb": 0.001}} // c)"};
       }});
  targets.push_back(
      {"noise_profile", "noise profiles", "", fuzz_noise_profile, noise_profile_seeds});
  targets.push_back(
      {"accepted", "pointers to accepted runs", "/digest computed anew", fuzz_accepted,
       [] { return std::vector<std::string>{must(dump_json(print_struct(accepted())))}; }});
  targets.push_back({"accepted_history", "history of accepted runs", "", fuzz_accepted_history, [] {
                       return std::vector<std::string>{
                           must(dump_json(print_struct(accepted()), -1)) + "\n"};
                     }});
  targets.push_back(
      {"gates", "gates.jsonl: the nights that were gated", "", fuzz_gates, gates_seeds});
}

}  // namespace nb::test
