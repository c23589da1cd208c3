// Where the defects of training (port_defects.hpp) take hold: optimizers, settings, batches.
// Without any, each function gives back what it got.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "harness/base/json_io.hpp"
#include "model/data/chat/conversation_set.hpp"
#include "model/data/chat/conversation_stream.hpp"
#include "model/data/loader.hpp"
#include "model/optim/groups.hpp"
#include "model/train/chat_settings.hpp"
#include "model/train/port_defects.hpp"
#include "model/train/settings.hpp"
#include "model/train/stage_task.hpp"

namespace nb {

OptimizerRules optimizer_rules(const PortDefects& defects,
                               AdamWDenominator denominator = AdamWDenominator::kScaledStep);
// StepPlan::gradient_sum.
std::optional<DType> gradient_sum(const PortDefects& defects);

// The settings that the port trains with: its number of steps, where it is another one, and its
// batch. Odd batches stay what they are not divisible by: the stage's own check says so.
TrainSettings as_ported(TrainSettings settings, const DecoderConfig& config,
                        const PortDefects& defects);
MidSettings as_ported(MidSettings settings, const PortDefects& defects);
SftSettings as_ported(SftSettings settings, std::int64_t conversations, const PortDefects& defects);
DpoSettings as_ported(DpoSettings settings, std::int64_t pairs, const PortDefects& defects);
RlSettings as_ported(RlSettings settings, std::int64_t questions, const PortDefects& defects);

// Of packed SFT, whose steps follow from its data: half of them, the rate twice as fast.
StreamPlan as_ported(StreamPlan plan, const PortDefects& defects);

// Of a mesh with tensor parallel ranks; none: there are none.
void as_ported(std::optional<TensorPlan>& plan, const PortDefects& defects);

// Two replicas share the micro-batches of a step. bad_input: an odd number of them.
Result<void> check_replicas(std::int64_t accumulation_steps, const PortDefects& defects);
// The replica that a port forgets to average gradients with, behind the model's optimizers.
void add_replica(TrainedModel& model, const OptimizerRates& rates, const TrainSettings& settings,
                 const PortDefects& defects);

Batch as_ported(Batch batch, const PortDefects& defects);
// 1: the token is trained on.
void mask_as_ported(std::vector<std::uint8_t>& mask, const PortDefects& defects);
// None: as it is.
std::optional<ConversationSet> set_as_ported(const ConversationSet& set,
                                             const PortDefects& defects);

// What a checkpoint says of its settings, with the defects: a run does not go on without them.
Json with_defects(Json hashed_settings, const PortDefects& defects);

}  // namespace nb
