// Every stage, one file each. See stage.hpp for what they are given and must fill.
#pragma once

#include "harness/run/stage.hpp"

namespace nb {

Result<void> run_dataset(const DatasetWork& work, const StageContext& context, Record& record);
Result<void> run_tokenizer(const TokenizerWork& work, const StageContext& context, Record& record);
Result<void> run_shards(const ShardsWork& work, const StageContext& context, Record& record);
Result<void> run_conversations(const ConversationsWork& work, const StageContext& context,
                               Record& record);
Result<void> run_train(const TrainWork& work, const StageContext& context, Record& record);
Result<void> run_eval(const EvalWork& work, const StageContext& context, Record& record);
Result<void> run_micro(const MicroWork& work, const StageContext& context, Record& record);
Result<void> run_predict(const PredictWork& work, const StageContext& context, Record& record);
Result<void> run_probe_stage(const ProbeWork& work, const StageContext& context, Record& record);

}  // namespace nb
