#include "harness/run/job.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "harness/base/fs.hpp"
#include "model/collectives/remote_ranks.hpp"
#include "results/store/store.hpp"

namespace nb {
namespace {

// Of a training on a mesh; else 1.
int ranks_of(const Node& node) {
  const auto* work = std::get_if<TrainWork>(&node.work);
  return work == nullptr || !work->device.mesh ? 1 : static_cast<int>(work->device.mesh->ranks());
}

// What the other processes need to know of a training.
Json news_of(const StageContext& context) {
  Json parents = Json::array();
  for (const ParentRun& parent : context.parents)
    parents.push_back(fs::absolute(parent.folder).string());
  return {{"key", context.node.key},
          {"ranks", ranks_of(context.node)},
          {"parents", std::move(parents)}};
}

// One training of another process, in a folder that is thrown away.
Result<void> follow(const Plan& plan, const Json& news, const fs::path& data_dir,
                    const fs::path& scratch) {
  const auto key = news.at("key").get<std::string>();
  const auto node = std::ranges::find(plan.nodes, key, &Node::key);
  if (node == plan.nodes.end())
    return run_error("it has not read the same suite, data or program as process 0");
  StageContext context{
      *node, scratch, {}, data_dir, [](const std::string&) {}, [](const std::string&) {}, false};
  for (std::size_t i = 0; i < node->parents.size(); ++i) {
    const fs::path folder = news.at("parents").at(i).get<std::string>();
    NB_TRY(Record record, read_record(folder),
           "the results folder must be there for all processes");
    context.parents.push_back({plan.nodes[node->parents[i]].kind(), folder, std::move(record)});
  }
  NB_TRY_VOID(make_folders(scratch));
  Record unused;
  return execute_stage(context, unused);
}

}  // namespace

Result<void> check_job(const Plan& plan, int processes) {
  bool has_mesh = false;
  for (const Node& node : plan.nodes) {
    const int ranks = ranks_of(node);
    if (ranks == 1) continue;
    has_mesh = true;
    const auto& work = std::get<TrainWork>(node.work);
    if (ranks % processes != 0)
      return bad_input(fmt::format(
          "{}: {} processes cannot share a mesh of {} ranks; start as many as it has ranks "
          "(mpirun -n {}), or a number that divides them",
          node.name, processes, ranks, ranks));
    if (!work.device.planted.empty())
      return bad_input(fmt::format(
          "{}: planted faults are played with ranks in one process; start it without mpirun",
          node.name));
    if (work.rl || work.dpo)
      return bad_input(
          fmt::format("{}: {} on a mesh has its ranks in one process; start it without mpirun",
                      node.name, work.stage));
  }
  if (!has_mesh)
    return bad_input(fmt::format(
        "{} processes, but no training of this suite has a mesh; start it without mpirun",
        processes));
  return {};
}

StageFunction lead_trainings(Processes& processes) {
  return [&processes](const StageContext& context, Record& record) -> Result<void> {
    if (ranks_of(context.node) == 1) return execute_stage(context, record);
    processes.begin_training();
    processes.tell(JobNews::kNode, news_of(context).dump());
    struct End {
      Processes& processes;
      ~End() { processes.tell(JobNews::kNodeEnd); }
    };
    const End end{processes};
    return execute_stage(context, record);
  };
}

int follow_trainings(Processes& processes, const Result<Plan>& plan, const fs::path& data_dir) {
  fs::path scratch;
  for (;;) {
    const auto [what, text] = processes.next_news();
    if (what == JobNews::kJobEnd) return std::stoi(text);
    if (what != JobNews::kNode) continue;  // of a training that it could not join
    processes.begin_training();
    const Json news = Json::parse(text);
    Result<void> done;
    std::error_code error;
    try {
      scratch = fs::temp_directory_path(error);
      if (error)
        throw std::runtime_error("no folder for temporary files; set TMPDIR to one that exists");
      scratch /= fmt::format("npubench-{}-{}", ::getpid(), processes.index());
      done = plan ? follow(*plan, news, data_dir, scratch)
                  : Result<void>(tl::unexpected<Error>(plan.error()));
    } catch (const std::exception& e) {
      done = run_error(e.what());
    }
    if (!scratch.empty()) fs::remove_all(scratch, error);
    // Where the leading process has ended the training it knows more.
    if (!done && !processes.has_left())
      tell_unable({processes, news.at("ranks").get<int>()},
                  fmt::format("process {}: {}", processes.index(), done.error().message));
    while (!processes.has_left() && processes.next_news().first != JobNews::kNodeEnd) {
    }
  }
}

}  // namespace nb
