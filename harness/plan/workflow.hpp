// A plan as the input of an engine that runs jobs on many machines: each node is a job that starts
// when its parents are done, and its record is what the job makes. Pure text; nothing is run.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.hpp"

namespace nb {

enum class WorkflowFormat { kMake, kSnakemake, kSlurm };
inline constexpr WorkflowFormat kWorkflowFormats[] = {
    WorkflowFormat::kMake, WorkflowFormat::kSnakemake, WorkflowFormat::kSlurm};
std::string_view name(WorkflowFormat format);  // "make", "snakemake", "slurm"

struct WorkflowJob {
  std::string name;                  // of the node
  std::string record;                // path of the file that is there once it is done
  std::vector<std::string> command;  // words
  std::vector<std::size_t> parents;  // places in the list, each smaller than this one's
  std::uint64_t memory_bytes = 0;    // expected
};

// Make: `make -j2 -f FILE`. Snakemake: `snakemake --snakefile FILE --cores 2`. Slurm: a script that
// submits every job with its dependencies; a requeued job goes on from its last checkpoint.
// bad_input: a path that the format cannot hold.
Result<std::string> workflow_text(WorkflowFormat format, const std::string& suite,
                                  const std::vector<WorkflowJob>& jobs);

}  // namespace nb
