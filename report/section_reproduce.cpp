// The exact commands that make these numbers again.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "harness/base/subprocess.hpp"
#include "report/sections.hpp"

namespace nb {
namespace {

std::string distinct(const RunRecords& run, const char* pointer) {
  std::set<std::string> values;
  for (const StoredRecord& stored : run.records) {
    const Json::json_pointer at(pointer);
    if (stored.record.environment->contains(at)) {
      const Json& value = stored.record.environment->at(at);
      values.insert(value.is_string() ? value.get<std::string>() : value.dump());
    }
  }
  return fmt::format("{}", fmt::join(values, ", "));
}

}  // namespace

std::vector<Block> reproduce_blocks(const ReportContext& context) {
  const Words& say = context.say;
  const RunRecords& run = *context.input.run;
  std::vector<Block> blocks;
  const std::string program = distinct(run, "/program"), code = distinct(run, "/code/digest");
  if (!program.empty())
    blocks.emplace_back(Paragraph{say("made_by", program, code.empty() ? "—" : code)});
  const std::string path = shell_text(run.path.string());
  std::string commands;
  const bool ran_here = std::ranges::any_of(run.records, [](const StoredRecord& stored) {
    return stored.record.kind == "train" || stored.record.kind == "predict";
  });
  if (ran_here) {
    const std::string suite = shell_text("suites/" + run.path.filename().string() + ".json");
    const std::string results = shell_text(run.path.parent_path().string());
    commands += fmt::format("npubench run {} --results-dir {}\n", suite, results);
    const auto first = std::ranges::find_if(
        run.records, [](const StoredRecord& stored) { return stored.record.kind == "train"; });
    if (first != run.records.end())
      commands += fmt::format("npubench run {} --results-dir {} --node {} --fresh\n", suite,
                              results, first->record.node_key.substr(0, 8));
  }
  std::string baseline;
  for (const Comparison& c : context.input.comparisons) {
    if (!c.device_a.empty()) {
      commands += fmt::format("npubench compare {} --devices {} {}\n", path, shell_text(c.device_a),
                              shell_text(c.device_b));
      continue;
    }
    commands += fmt::format("npubench compare {} {}\n", shell_text(c.label_a), path);
    baseline = c.label_a;
  }
  if (context.input.gate && !baseline.empty())
    commands += fmt::format("npubench gate {} {}\n", shell_text(baseline), path);
  commands += fmt::format(
      "npubench report {}{}{}\n", path,
      baseline.empty() ? "" : " --baseline " + shell_text(baseline),
      say.language() == Language::kEn ? "" : fmt::format(" --lang {}", name(say.language())));
  blocks.emplace_back(
      Paragraph{say(ran_here ? Phrase("reproduce_how") : Phrase("reproduce_foreign"))});
  blocks.emplace_back(CodeBlock{commands});
  return blocks;
}

}  // namespace nb
