#include "model/predict/megatron_job.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "model/device/calibration.hpp"

namespace nb {
namespace {

// Sizes of the public checkpoints' configurations; the same as in the calibration's rows (a test
// compares).
constexpr NamedModel kModels[] = {
    {"chatglm3-6b", {28, 4096, 13696, 32, 2, 128, 65024, true, false, 0}},
    {"gemma-7b", {28, 3072, 24576, 16, 16, 256, 256000, true, true, 0}},
    {"gpt3-15b", {8, 12288, 49152, 96, 96, 128, 50257, false, true, 0}},
    {"llama-65b", {80, 8192, 22016, 64, 64, 128, 32000, true, false, 0}},
    {"llama-7b", {32, 4096, 11008, 32, 32, 128, 32000, true, false, 0}},
    {"llama2-13b", {40, 5120, 13824, 40, 40, 128, 32000, true, false, 0}},
    {"llama2-70b", {80, 8192, 28672, 64, 8, 128, 32000, true, false, 0}},
    {"llama2-7b", {32, 4096, 11008, 32, 32, 128, 32000, true, false, 0}},
    {"llama3-8b", {32, 4096, 14336, 32, 8, 128, 128256, true, false, 0}},
    {"mistral-7b", {32, 4096, 14336, 32, 8, 128, 32000, true, false, 4096}},
    {"qwen1.5-1.8b", {24, 2048, 5504, 16, 16, 128, 151936, true, false, 0}},
    {"qwen1.5-7b", {32, 4096, 11008, 32, 32, 128, 151936, true, false, 0}},
};

Result<std::int64_t> needed(const CalibrationRow& row, std::string_view column) {
  NB_TRY(const auto value, row.whole(column));
  if (!value)
    return bad_input(
        fmt::format("{}: {} has no {}: its step cannot be predicted", row.where, row.id, column));
  return *value;
}

Result<bool> flag(const CalibrationRow& row, std::string_view column) {
  NB_TRY(const std::int64_t value, needed(row, column));
  return value != 0;
}

// Whole parts, each at least one.
Result<void> check_parts(std::string_view what, std::int64_t whole, std::string_view by,
                         std::int64_t parts) {
  if (parts >= 1 && whole >= parts && whole % parts == 0) return {};
  return bad_input(fmt::format("{} {} is not divisible by {} {}", what, whole, by, parts));
}

}  // namespace

FieldList MegatronModel::fields() {
  return {{"layers", "decoder blocks", &layers, {.min = 1, .required = true}},
          {"width", "of the residual stream", &width, {.min = 1, .required = true}},
          {"hidden", "inner width of the MLP", &hidden, {.min = 1, .required = true}},
          {"heads", "of attention", &heads, {.min = 1, .required = true}},
          {"kv_heads", "key-value heads; 0: as many as heads", &kv_heads, {.min = 0}},
          {"head_dim", "width of a head; 0: width / heads", &head_dim, {.min = 0}},
          {"vocab", "rows of the embedding", &vocab, {.min = 1, .required = true}},
          {"gated", "SwiGLU or GeGLU: three matrices in an MLP", &is_gated},
          {"tied", "the head is the embedding table", &is_tied},
          {"window", "keys that a query sees; 0: all", &window, {.min = 0}}};
}

FieldList MegatronRun::fields() {
  const EnumRef dtype = {{"bf16", "fp16"},
                         [this] { return is_fp16 ? std::size_t{1} : std::size_t{0}; },
                         [this](std::size_t i) { is_fp16 = i == 1; }};
  return {{"sequence_len", "tokens per row", &sequence_len, {.unit = "token", .min = 1}},
          {"micro_batch", "rows of a card at once", &micro_batch, {.min = 1}},
          {"global_batch", "rows of a step", &global_batch, {.min = 1}},
          {"ranks", "cards", &ranks, {.min = 1}},
          {"nodes", "that hold them; absent: as few as possible", &nodes, {.min = 1}},
          {"tp", "cards that share each product", &tp, {.min = 1}},
          {"pp", "stages of the pipeline", &pp, {.min = 1}},
          {"vpp", "parts of a stage, interleaved", &vpp, {.min = 1}},
          {"cp", "cards that share a row: context parallelism", &cp, {.min = 1}},
          {"recompute", "none, or full: layers keep their input alone",
           enumerated(&recompute, {"none", "full"})},
          {"recompute_layers", "of a stage that recompute; 0: all", &recompute_layers, {.min = 0}},
          {"dtype", "of products: bf16 or fp16", dtype},
          {"sequence_parallel", "norms and residuals are cut over tp as well", &sequence_parallel},
          {"distributed_optimizer", "moments and master are cut over dp", &distributed_optimizer},
          {"mc2", "Ascend: products run beside their collective", &mc2},
          {"overlap_grad_reduce", "gradients are exchanged beside backward", &overlap_grad_reduce},
          {"fused_norm", "one kernel", &fused_norm},
          {"fused_swiglu", "one kernel", &fused_swiglu},
          {"fused_rope", "one kernel", &fused_rope},
          {"fused_gradient_accumulation", "products add to the fp32 gradient",
           &fused_gradient_accumulation},
          {"reuse_fp32_param", "the 16-bit parameter is half of its master", &reuse_fp32_param},
          {"adam_copies_gradient", "npu_apply_adam_w of MindSpeed before April 2025",
           &adam_copies_gradient}};
}

std::int64_t MegatronModel::layer_weights() const {
  return width * (2 * q_width() + 2 * kv_width()) + (is_gated ? 3 : 2) * width * hidden;
}

std::int64_t MegatronModel::parameter_count() const {
  return layers * (layer_weights() + 2 * width) + width + (is_tied ? 1 : 2) * vocab * width;
}

double MegatronModel::visible_keys(std::int64_t length) const {
  const std::int64_t seen = window > 0 ? std::min(window, length) : length;
  const auto rows = static_cast<double>(length), keys = static_cast<double>(seen);
  return (keys * (keys + 1) / 2 + (rows - keys) * keys) / rows;
}

Result<void> check_job(const MegatronJob& job) {
  const MegatronModel& m = job.model;
  const MegatronRun& r = job.run;
  for (const auto& [what, value] :
       {std::pair{"tp", r.tp}, {"pp", r.pp}, {"vpp", r.vpp}, {"cp", r.cp}, {"ranks", r.ranks}})
    if (value < 1) return bad_input(fmt::format("{} {} is not at least 1", what, value));
  NB_TRY_VOID(check_parts("ranks", r.ranks, "tp × pp × cp =", r.tp * r.pp * r.cp));
  if (m.kv_heads < 1 || m.heads % m.kv_heads != 0)
    return bad_input(fmt::format("heads {} are not divisible by kv_heads {}", m.heads, m.kv_heads));
  if (m.head_dim == 0) NB_TRY_VOID(check_parts("width", m.width, "heads", m.heads));
  NB_TRY_VOID(check_parts("heads", m.heads, "tp", r.tp));
  // Megatron-LM, core/transformer/attention.py: each card has whole groups of queries.
  NB_TRY_VOID(check_parts("kv_heads", m.kv_heads, "tp", r.tp));
  NB_TRY_VOID(check_parts("hidden", m.hidden, "tp", r.tp));
  NB_TRY_VOID(check_parts("layers", m.layers, "pp × vpp =", r.pp * r.vpp));
  NB_TRY_VOID(check_parts("sequence_len", r.sequence_len, "cp", r.cp));
  NB_TRY_VOID(
      check_parts("global batch", r.global_batch, "micro-batch × dp =", r.micro_batch * r.dp()));
  if (r.recompute_layers < 0 || r.recompute_layers * r.pp > m.layers)
    return bad_input(fmt::format("recompute_layers {} is not one of the {} layers of a stage",
                                 r.recompute_layers, m.layers / r.pp));
  if (r.vpp > 1 && r.pp == 1)
    return bad_input(fmt::format("vpp {} interleaves stages of a pipeline, but pp is 1", r.vpp));
  return {};
}

double megatron_flops_per_token(const MegatronJob& job, FlopConvention convention) {
  const MegatronModel& m = job.model;
  const auto weights =
      static_cast<double>(m.layers * m.layer_weights()) + static_cast<double>(m.vocab * m.width);
  const double keys = convention == FlopConvention::kFull
                          ? static_cast<double>(job.run.sequence_len)
                          : m.visible_keys(job.run.sequence_len);
  return 6 * weights + 12 * static_cast<double>(m.layers * m.q_width()) * keys;
}

std::span<const NamedModel> megatron_models() { return kModels; }

const MegatronModel* find_megatron_model(std::string_view name) {
  for (const NamedModel& known : kModels)
    if (known.name == name) return &known.model;
  return nullptr;
}

Result<MegatronJob> job_of(const CalibrationRow& row) {
  MegatronJob job;
  job.name = row.id;
  MegatronModel& m = job.model;
  MegatronRun& r = job.run;
  struct Size {
    std::string_view column;
    std::int64_t* value;
  };
  std::int64_t nodes = 1;
  for (const Size& size :
       {Size{"layers", &m.layers}, Size{"width", &m.width}, Size{"hidden", &m.hidden},
        Size{"heads", &m.heads}, Size{"kv_heads", &m.kv_heads}, Size{"head_dim", &m.head_dim},
        Size{"vocab", &m.vocab}, Size{"window", &m.window}, Size{"seq", &r.sequence_len},
        Size{"micro_batch", &r.micro_batch}, Size{"global_batch", &r.global_batch},
        Size{"ranks", &r.ranks}, Size{"nodes", &nodes}, Size{"tp", &r.tp}, Size{"pp", &r.pp},
        Size{"vpp", &r.vpp}, Size{"cp", &r.cp}}) {
    NB_TRY(*size.value, needed(row, size.column));
  }
  r.nodes = nodes;
  struct Switch {
    std::string_view column;
    bool* value;
  };
  for (const Switch& item :
       {Switch{"gated", &m.is_gated}, Switch{"tied", &m.is_tied},
        Switch{"sequence_parallel", &r.sequence_parallel},
        Switch{"distributed_optimizer", &r.distributed_optimizer}, Switch{"mc2", &r.mc2},
        Switch{"overlap_grad_reduce", &r.overlap_grad_reduce}, Switch{"fused_norm", &r.fused_norm},
        Switch{"fused_swiglu", &r.fused_swiglu}, Switch{"fused_rope", &r.fused_rope}}) {
    NB_TRY(*item.value, flag(row, item.column));
  }
  r.is_fp16 = row.text("dtype") == "fp16";
  r.recompute =
      row.text("recompute") == "full" ? MegatronRecompute::kFull : MegatronRecompute::kNone;
  NB_TRY(const auto recomputed, row.whole("recompute_layers"));
  r.recompute_layers = recomputed.value_or(0);
  NB_TRY_VOID(check_job(job), row.where);
  return job;
}

}  // namespace nb
