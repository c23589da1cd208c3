#include "model/predict/megatron_trace.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "model/predict/family_values.hpp"

namespace nb {
namespace {

MegatronJob traced_job(std::int64_t pp, std::int64_t vpp) {
  MegatronJob job;
  job.name = "llama2-7b";
  job.model = *find_megatron_model("llama2-7b");
  job.run.sequence_len = 4096;
  job.run.ranks = 8;
  job.run.tp = 1;
  job.run.pp = pp;
  job.run.vpp = vpp;
  job.run.global_batch = 256;
  job.run.distributed_optimizer = true;
  return job;
}

double end_us(const Json& trace) {
  double end = 0;
  for (const Json& e : trace["traceEvents"])
    if (e["ph"] == "X") end = std::max(end, e["ts"].get<double>() + e["dur"].get<double>());
  return end;
}

TEST(MegatronTrace, EndsWhereTheStepEnds) {
  const PricedMachine machine = *priced_machine("ascend_910b2", "megatron_mindspeed");
  for (const auto& [pp, vpp] : {std::pair{1, 1}, std::pair{2, 1}, std::pair{4, 2}}) {
    const MegatronJob job = traced_job(pp, vpp);
    const auto step = megatron_step(job, megatron_machine(machine.profile, machine.between_nodes));
    ASSERT_TRUE(step) << step.error().message;
    ASSERT_EQ(step->stages.size(), static_cast<std::size_t>(pp));
    const Json trace = megatron_trace(job, *step);
    EXPECT_NEAR(end_us(trace) * 1000 / step->step_ns, 1, 1e-9) << pp << " stages";
  }
}

// Slices of one thread follow each other, and a micro-batch's parts fill it.
TEST(MegatronTrace, NothingOverlapsOnAStage) {
  const PricedMachine machine = *priced_machine("ascend_910b2", "megatron_mindspeed");
  const MegatronJob job = traced_job(4, 1);
  const MegatronStep step =
      *megatron_step(job, megatron_machine(machine.profile, machine.between_nodes));
  const Json trace = megatron_trace(job, step);
  std::map<std::pair<int, int>, double> busy_until;
  std::map<int, double> batches_us, parts_us;
  for (const Json& e : trace["traceEvents"]) {
    if (e["ph"] != "X") continue;
    const int stage = e["pid"], thread = e["tid"];
    double& until = busy_until[{stage, thread}];
    EXPECT_GE(e["ts"].get<double>(), until - 1e-3) << e.dump();
    until = e["ts"].get<double>() + e["dur"].get<double>();
    if (e["name"].get<std::string>().starts_with("micro-batch"))
      batches_us[stage] += e["dur"].get<double>();
    if (thread == 1) parts_us[stage] += e["dur"].get<double>();
  }
  ASSERT_EQ(batches_us.size(), 4U);
  for (const auto& [stage, time_us] : batches_us)
    EXPECT_NEAR(parts_us[stage], time_us, 1e-6 * time_us) << stage;
}

TEST(MegatronTrace, ManyMicroBatchesAreShownByTheirFirstAndLast) {
  const PricedMachine machine = *priced_machine("ascend_910b2", "megatron_mindspeed");
  MegatronJob job = traced_job(1, 1);
  job.run.global_batch = 8 * 4096;
  const MegatronStep step =
      *megatron_step(job, megatron_machine(machine.profile, machine.between_nodes));
  const Json trace = megatron_trace(job, step);
  std::int64_t shown = 0;
  for (const Json& e : trace["traceEvents"])
    shown += e["name"].get<std::string>().starts_with("micro-batch ") ? 1 : 0;
  EXPECT_EQ(shown, kTracedMicroBatches);
  EXPECT_NEAR(end_us(trace) * 1000 / step.step_ns, 1, 1e-9);
}

}  // namespace
}  // namespace nb
