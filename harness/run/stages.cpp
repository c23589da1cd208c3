#include "harness/run/stages.hpp"

#include "harness/base/check.hpp"

namespace nb {
namespace {

// The table: a Work without its line here does not compile.
struct Stages {
  const StageContext& context;
  Record& record;
  Result<void> operator()(const DatasetWork& work) { return run_dataset(work, context, record); }
  Result<void> operator()(const TokenizerWork& work) {
    return run_tokenizer(work, context, record);
  }
  Result<void> operator()(const ShardsWork& work) { return run_shards(work, context, record); }
  Result<void> operator()(const ConversationsWork& work) {
    return run_conversations(work, context, record);
  }
  Result<void> operator()(const TrainWork& work) { return run_train(work, context, record); }
  Result<void> operator()(const EvalWork& work) { return run_eval(work, context, record); }
  Result<void> operator()(const MicroWork& work) { return run_micro(work, context, record); }
  Result<void> operator()(const PredictWork& work) { return run_predict(work, context, record); }
  Result<void> operator()(const ProbeWork& work) { return run_probe_stage(work, context, record); }
  Result<void> operator()(const AskWork&) {
    NB_CHECK(false, "[run] {} needs who answers: run_evaluation()", context.node.name);
    return {};
  }
};

}  // namespace

Result<void> execute_stage(const StageContext& context, Record& record) {
  return std::visit(Stages{context, record}, context.node.work);
}

}  // namespace nb
