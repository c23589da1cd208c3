#include "harness/plan/workflow.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "harness/base/json_io.hpp"

namespace nb {
namespace {

constexpr std::uint64_t kMebibyte = 1 << 20;

// As one word of a POSIX shell.
std::string shell_word(std::string_view word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./=:,@+-";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string_view::npos)
    return std::string(word);
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string shell_line(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : " ") + shell_word(word);
  return line;
}

std::string doubled(std::string_view text, std::string_view characters) {
  std::string result;
  for (const char c : text) {
    result += c;
    if (characters.find(c) != std::string_view::npos) result += c;
  }
  return result;
}

std::uint64_t memory_mib(const WorkflowJob& job) { return 2 * job.memory_bytes / kMebibyte + 1; }

Result<std::string> make_text(const std::string& suite, const std::vector<WorkflowJob>& jobs) {
  // Make has no way to write them in a target.
  constexpr std::string_view kImpossible = " \t:#%|;\\*?[~$";
  std::string records, rules;
  for (const WorkflowJob& job : jobs) {
    if (job.record.find_first_of(kImpossible) != std::string::npos)
      return bad_input(
          fmt::format("{}: make has no targets with these characters: give another "
                      "--results-dir, or use --to snakemake",
                      job.record));
    records += " \\\n  " + job.record;
    // A record is right as soon as it is there: the folder's name has the key.
    rules += "\n" + job.record + ":";
    if (!job.parents.empty()) rules += " |";
    for (const std::size_t parent : job.parents) rules += " \\\n  " + jobs[parent].record;
    rules += "\n\t" + doubled(shell_line(job.command), "$") + "\n";
  }
  return fmt::format("# The nodes of the suite {}: make -j2 -f THIS_FILE\n.PHONY: all\nall:{}\n{}",
                     suite, records, rules);
}

// A Python string; its braces are doubled where Snakemake would fill them in.
std::string python_text(std::string_view text) {
  return Json(text).dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
}

std::string snakemake_text(const std::string& suite, const std::vector<WorkflowJob>& jobs) {
  std::vector<std::string> all;
  std::string rules;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const WorkflowJob& job = jobs[i];
    const std::string record = python_text(doubled(job.record, "{}"));
    all.push_back(record);
    std::vector<std::string> inputs;
    // ancient: a record is right as soon as it is there, whichever is newer.
    for (const std::size_t parent : job.parents)
      inputs.push_back("ancient(" + python_text(doubled(jobs[parent].record, "{}")) + ")");
    rules += fmt::format(
        "\n\n# {}\nrule node_{}:\n    input: {}\n    output: {}\n    resources: mem_mb={}\n    "
        "shell: {}\n",
        job.name, i, inputs.empty() ? "[]" : fmt::format("{}", fmt::join(inputs, ", ")), record,
        memory_mib(job), python_text(doubled(shell_line(job.command), "{}")));
  }
  return fmt::format(
      "# The nodes of the suite {}: snakemake --snakefile THIS_FILE --cores 2\n"
      "rule all:\n    input: {}\n{}",
      suite, fmt::join(all, ",\n        "), rules);
}

std::string slurm_text(const std::string& suite, const std::vector<WorkflowJob>& jobs) {
  std::string text = fmt::format(
      "#!/bin/bash\n# Submits the nodes of the suite {} with their dependencies. The folders must "
      "be "
      "shared by all machines.\n# A job that is requeued goes on from its last checkpoint. More "
      "options of sbatch: SBATCH_MORE=\"-p queue\" bash THIS_FILE\nset -euo pipefail\n\n"
      "submit() {{  # name, MiB, dependencies, command\n"
      "  sbatch --parsable --requeue --kill-on-invalid-dep=yes --job-name=\"$1\" --mem=\"$2M\" "
      "${{3:+--dependency=\"$3\"}} ${{SBATCH_MORE:-}} --wrap=\"$4\"\n}}\n\n",
      suite);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const WorkflowJob& job = jobs[i];
    std::string dependencies;
    for (const std::size_t parent : job.parents)
      dependencies += fmt::format("{}$node_{}", dependencies.empty() ? "afterok:" : ":", parent);
    text += fmt::format("node_{}=$(submit {} {} \"{}\" {})\n", i, shell_word(job.name),
                        memory_mib(job), dependencies, shell_word(shell_line(job.command)));
  }
  return text + fmt::format("echo \"{} jobs submitted\"\n", jobs.size());
}

}  // namespace

std::string_view name(WorkflowFormat format) {
  switch (format) {
    case WorkflowFormat::kMake:
      return "make";
    case WorkflowFormat::kSnakemake:
      return "snakemake";
    case WorkflowFormat::kSlurm:
      break;
  }
  return "slurm";
}

Result<std::string> workflow_text(WorkflowFormat format, const std::string& suite,
                                  const std::vector<WorkflowJob>& jobs) {
  switch (format) {
    case WorkflowFormat::kMake:
      return make_text(suite, jobs);
    case WorkflowFormat::kSnakemake:
      return snakemake_text(suite, jobs);
    case WorkflowFormat::kSlurm:
      break;
  }
  return slurm_text(suite, jobs);
}

}  // namespace nb
