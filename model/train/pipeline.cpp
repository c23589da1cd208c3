#include "model/train/pipeline.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "harness/base/check.hpp"
#include "model/ops/optimizer_ops.hpp"
#include "model/train/stage_task.hpp"
#include "model/train/step.hpp"

namespace nb {
namespace {

constexpr std::size_t kParts = 3;  // fp32 numbers that hold all bits of a double

std::vector<DecoderPart> parts_of(const DecoderConfig& config, int stages) {
  std::vector<DecoderPart> parts;
  for (int stage = 0; stage < stages; ++stage) parts.push_back(part_of(config, stage, stages));
  return parts;
}

// Stages that read a parameter.
std::vector<int> readers(const DecoderConfig& config, std::span<const DecoderPart> parts,
                         const std::string& parameter) {
  std::vector<int> stages;
  for (std::size_t stage = 0; stage < parts.size(); ++stage)
    if (reads(config, parts[stage], parameter)) stages.push_back(static_cast<int>(stage));
  return stages;
}

}  // namespace

void PipelineFacts::add(const std::optional<PipelineFacts>& more) {
  if (!more) return;
  sent_bytes.resize(more->sent_bytes.size());
  for (std::size_t i = 0; i < sent_bytes.size(); ++i) sent_bytes[i] += more->sent_bytes[i];
  bubble += more->bubble;
}

PipelineRank::PipelineRank(Decoder& decoder, const PipelinePlan& plan)
    : decoder_(decoder),
      device_(decoder.device()),
      plan_(plan),
      part_(part_of(decoder.config(), plan.stage(), plan.stages)) {
  NB_CHECK(decoder.adapters().parameters().empty(), "[pipeline] adapters");
  std::vector<Tensor> own;
  for (Parameter& p : decoder.parameters()) {
    const bool is_own = reads(decoder.config(), part_, p.name);
    Tensor& value = own.emplace_back();
    if (is_own)
      value = device_.allocate(p.value.shape(), p.value.dtype(), p.name, Lifetime::kLasting,
                               BlockUse::kParameter);
    else if (plan.rank == 0 && plan.parts == 1)
      value = p.value.values_only();
    p.is_trained = is_own;
  }
  for (std::size_t i = 0; i < own.size(); ++i) decoder.parameters()[i].value = std::move(own[i]);
  device_.empty_cache();
  device_.reset_memory_peaks();
}

void PipelineRank::begin(Communicator& world) {
  NB_CHECK(stages_ == nullptr && world.rank() == plan_.rank && world.size() == plan_.ranks(),
           "[pipeline] rank {} of {} begins as {} of {}", plan_.rank, plan_.ranks(), world.rank(),
           world.size());
  const auto count = [](int n) { return static_cast<std::size_t>(n); };
  const int each = plan_.of_stage();
  std::vector<std::vector<int>> stages(count(each)), copies(count(plan_.stages * plan_.parts)),
      ends(count(each));
  for (int r = 0; r < plan_.ranks(); ++r) {
    stages[count(r % each)].push_back(r);
    copies[count(r / each * plan_.parts + r % plan_.parts)].push_back(r);
    if (r < each || r >= plan_.ranks() - each) ends[count(r % each)].push_back(r);
  }
  stages_ = world.split(stages, "pp");
  if (plan_.copies > 1) copies_ = world.split(copies, "dp");
  if (plan_.stages > 2 && decoder_.config().architecture.tied_head)
    ends_ = world.split(ends, "embedding");
}

void PipelineRank::end() {
  ends_.reset();
  copies_.reset();
  stages_.reset();
}

void PipelineRank::exchange(Parcel& sent, Parcel& expected) {
  std::vector<Transfer> transfers;
  for (Parcel* parcel : {&sent, &expected})
    for (std::size_t k = 0; k < parcel->tensors.size(); ++k)
      transfers.push_back({parcel == &sent, parcel->peer, CollectiveBuffer(parcel->tensors[k]),
                           static_cast<int>(k)});
  if (transfers.empty()) return;
  const std::int64_t before_ns = device_.collective_ready_ns();
  stages_->transfer(transfers, "pipeline");
  waited_ns_ += device_.collective_ready_ns() - before_ns;
  sent.tensors.clear();
}

void PipelineRank::run_between_drains(const Passes& passes, std::size_t first, std::size_t count) {
  const int stage = plan_.stage();
  std::map<std::int64_t, std::unique_ptr<PartPass>> under_way;
  Parcel sent;
  for (const PipelineAction& action :
       pipeline_actions(plan_.schedule, stage, plan_.stages, static_cast<std::int64_t>(count))) {
    const std::size_t micro_batch = first + static_cast<std::size_t>(action.micro_batch);
    const Batch& batch = *passes.batches[micro_batch];
    std::unique_ptr<PartPass>& pass = under_way[action.micro_batch];
    if (action.is_forward)
      pass = std::make_unique<PartPass>(decoder_, part_, batch.inputs, batch.targets, batch.rows,
                                        batch.length);
    Parcel expected;
    expected.peer = action.is_forward ? stage - 1 : stage + 1;
    expected.tensors = action.is_forward ? pass->expect_inputs() : pass->expect_gradients();
    exchange(sent, expected);
    expected.tensors.clear();
    sent.peer = action.is_forward ? stage + 1 : stage - 1;
    if (action.is_forward) {
      sent.tensors = pass->forward(passes.share);
      continue;
    }
    sent.tensors = pass->backward();
    if (part_.has_head(decoder_.config()))
      passes.on_loss(micro_batch, static_cast<double>(pass->loss()));
    under_way.erase(action.micro_batch);
    if (passes.behind_backward) passes.behind_backward();
  }
  Parcel none;
  exchange(sent, none);
}

void PipelineRank::run(const Passes& passes) {
  const std::int64_t begin_ns = device_.collective_ready_ns();
  waited_ns_ = 0;
  const std::size_t all = passes.batches.size();
  const auto each =
      static_cast<std::size_t>(plan_.micro_batches.value_or(static_cast<std::int64_t>(all)));
  NB_CHECK(each > 0 && all % each == 0, "[pipeline] {} micro-batches by {}", all, each);
  for (std::size_t first = 0; first < all; first += each) run_between_drains(passes, first, each);
  end_ns_ = device_.collective_ready_ns();
  busy_ns_ = end_ns_ - begin_ns - waited_ns_;
}

bool PipelineRank::is_first_reader(const std::string& parameter) const {
  const DecoderConfig& config = decoder_.config();
  return readers(config, parts_of(config, plan_.stages), parameter).front() == plan_.stage();
}

void PipelineRank::reduce(std::optional<DType> wire) {
  const DecoderConfig& config = decoder_.config();
  const std::vector<DecoderPart> parts = parts_of(config, plan_.stages);
  for (Parameter* p : decoder_.trained_parameters()) {
    const std::size_t count = readers(config, parts, p->name).size();
    if (count < 2) continue;
    Communicator* group = count == parts.size() ? stages_.get() : ends_.get();
    NB_CHECK(group != nullptr, "[pipeline] {} is read by {} stages", p->name, count);
    group->all_reduce(CollectiveBuffer(p->grad), Reduce::kSum, p->name);
  }
  if (copies_ == nullptr) return;
  for (Parameter* p : decoder_.trained_parameters()) {
    CollectiveBuffer gradient(p->grad);
    gradient.dtype = wire.value_or(gradient.dtype);
    copies_->all_reduce(gradient, Reduce::kAverage, p->name);
  }
}

// Each stage's squares, one per parameter, go to all stages, which add them as one card does.
double PipelineRank::norm(bool is_device_work) {
  const DecoderConfig& config = decoder_.config();
  const std::vector<DecoderPart> parts = parts_of(config, plan_.stages);
  std::vector<std::size_t> counts(parts.size());
  std::vector<std::pair<std::size_t, std::size_t>> places;  // stage and number there, by parameter
  for (const Parameter& p : decoder_.parameters()) {
    const std::vector<int> stages = readers(config, parts, p.name);
    const auto first = static_cast<std::size_t>(stages.front());
    places.emplace_back(first, counts[first]);
    for (const int stage : stages) ++counts[static_cast<std::size_t>(stage)];
  }
  const std::size_t most = std::ranges::max(counts) * kParts;
  std::vector<Tensor*> own;
  for (Parameter* p : decoder_.trained_parameters()) own.push_back(&p->grad);
  std::vector<double> squares;
  if (is_device_work)
    squares = ops::grad_squares_each(device_, own);
  else if (device_.executes())
    squares = ops::squares_of_each(own);
  if (!device_.executes()) {
    const auto piece = static_cast<std::int64_t>(most);
    stages_->all_gather({piece, DType::kFp32}, {piece * plan_.stages, DType::kFp32}, "grad_norm");
    return 0;
  }
  std::vector<float> mine(most), all(most * parts.size());
  for (std::size_t i = 0; i < squares.size(); ++i)
    for (std::size_t part = 0; part < kParts; ++part) {
      mine[i * kParts + part] = static_cast<float>(squares[i]);
      squares[i] -= static_cast<double>(mine[i * kParts + part]);
    }
  stages_->all_gather({mine, DType::kFp32}, {all, DType::kFp32}, "grad_norm");
  double sum = 0;
  for (const auto& [stage, number] : places) {
    const float* at = all.data() + stage * most + number * kParts;
    sum += static_cast<double>(at[0]) + static_cast<double>(at[1]) + static_cast<double>(at[2]);
  }
  return std::sqrt(sum);
}

double PipelineRank::update(TrainedModel& model, std::optional<double> grad_clip,
                            const SchedulePoint& point, const std::function<double()>& loss,
                            const StageObserver* observer) {
  reduce(model.reduce);
  const double whole = norm(grad_clip.has_value());
  if (grad_clip && *grad_clip > 0) {
    std::vector<Tensor*> own;
    for (Parameter* p : decoder_.trained_parameters()) own.push_back(&p->grad);
    const double factor = *grad_clip / (whole + 1e-6);
    ops::grad_scale(device_, own, factor < 1 ? static_cast<float>(factor) : 1.0F);
  }
  finish_update(decoder_, model.optimizers, whole, point, loss(), observer);
  return whole;
}

void PipelineRank::tell_loss(double loss) {
  auto value = static_cast<float>(loss);
  stages_->broadcast(device_.executes() ? CollectiveBuffer(std::span(&value, 1), DType::kFp32)
                                        : CollectiveBuffer(1, DType::kFp32),
                     plan_.stages - 1, "train_loss");
}

double bubble_of(std::span<PipelineRank* const> ranks, std::int64_t begin_ns) {
  std::int64_t end_ns = begin_ns;
  double busy_ns = 0;
  for (const PipelineRank* rank : ranks) {
    end_ns = std::max(end_ns, rank->passes_end_ns());
    busy_ns += static_cast<double>(rank->busy_ns()) / static_cast<double>(ranks.size());
  }
  return busy_ns > 0 ? static_cast<double>(end_ns - begin_ns) / busy_ns - 1 : 0;
}

}  // namespace nb
