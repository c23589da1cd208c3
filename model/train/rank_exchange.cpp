#include "model/train/rank_exchange.hpp"

#include <span>
#include <vector>

#include "harness/base/check.hpp"
#include "model/collectives/message.hpp"
#include "model/train/stage_task.hpp"

namespace nb {
namespace {

// What a rank updates.
std::vector<Tensor*> trained_values(TrainedModel& model) {
  std::vector<Tensor*> all;
  if (model.sharded != nullptr || model.tensor != nullptr) {
    for (const ParameterRows& one :
         model.sharded != nullptr ? model.sharded->trained() : model.tensor->trained())
      if (!one.rows->value.empty()) all.push_back(&one.rows->value);
    return all;
  }
  for (Parameter* p : model.decoder.trained_parameters())
    if (!p->value.empty()) all.push_back(&p->value);
  return all;
}

std::vector<Tensor*> state_of(const TrainedModel& model) {
  std::vector<Tensor*> all;
  for (const auto& optimizer : model.optimizers)
    for (const NamedState& one : optimizer->state()) all.push_back(one.tensor);
  return all;
}

void put(const std::vector<Tensor*>& tensors, MessageWriter& message) {
  std::size_t bytes = sizeof(std::uint64_t);
  for (const Tensor* tensor : tensors) bytes += sizeof(std::uint64_t) + tensor->host().size_bytes();
  message.reserve(bytes).put(static_cast<std::uint64_t>(tensors.size()));
  for (const Tensor* tensor : tensors) message.put_floats(tensor->host());
}

void get(MessageReader& message, std::uint64_t count, const std::vector<Tensor*>& tensors) {
  NB_CHECK(count == tensors.size(), "[rank_exchange] {} tensors for {}", count, tensors.size());
  for (Tensor* tensor : tensors) message.get_floats(tensor->host());
}

}  // namespace

void pack_rank(TrainedModel& model, const RankReport& report, MessageWriter& message) {
  message.put(static_cast<std::uint64_t>(report.sent.size()));
  for (const auto& [kind, bytes] : report.sent) message.put_text(kind).put(bytes);
  message.put(report.peak_bytes).put_text(report.device);
  if (model.pipeline != nullptr)
    message.put(model.pipeline->passes_end_ns()).put(model.pipeline->busy_ns());
  put(trained_values(model), message);
}

RankReport unpack_rank(std::string_view bytes, TrainedModel& model) {
  MessageReader message(bytes);
  RankReport report;
  for (auto left = message.get<std::uint64_t>(); left > 0; --left) {
    const std::string kind(message.get_text());
    report.sent[kind] = message.get<double>();
  }
  report.peak_bytes = message.get<std::uint64_t>();
  report.device = message.get_text();
  if (model.pipeline != nullptr) {
    const auto end_ns = message.get<std::int64_t>();
    model.pipeline->take_times(end_ns, message.get<std::int64_t>());
  }
  get(message, message.get<std::uint64_t>(), trained_values(model));
  return report;
}

void pack_state(TrainedModel& model, MessageWriter& message) { put(state_of(model), message); }

void unpack_state(std::string_view bytes, TrainedModel& model) {
  MessageReader message(bytes);
  const auto count = message.get<std::uint64_t>();
  if (count > 0)
    for (const auto& optimizer : model.optimizers) optimizer->allocate_state();
  get(message, count, state_of(model));
}

}  // namespace nb
