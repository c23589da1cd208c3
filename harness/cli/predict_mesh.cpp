#include "harness/cli/predict_mesh.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "harness/base/json_io.hpp"
#include "harness/base/say.hpp"
#include "harness/base/table.hpp"
#include "harness/base/text_width.hpp"
#include "harness/cli/common.hpp"
#include "model/train/context_rank.hpp"
#include "model/train/frozen_weights.hpp"
#include "model/train/mesh_settings.hpp"
#include "model/train/mesh_step.hpp"
#include "model/train/pipeline_schedule.hpp"

namespace nb::cli {
namespace {

constexpr const char* kWhere = "--mesh";

// {"dp": 2, …} or dp=2,fsdp=2,shard=hybrid.
Result<MeshSettings> parse_mesh(const std::string& text) {
  Json json = Json::object();
  if (text.starts_with('{')) {
    json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (json.is_discarded())
      return bad_input(fmt::format("{} {}: no JSON; write for example dp=2,fsdp=2", kWhere, text));
    return parse_struct<MeshSettings>(json, kWhere);
  }
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string part = text.substr(begin, end - begin);
    const std::size_t equals = part.find('=');
    if (equals == std::string::npos)
      return bad_input(
          fmt::format("{} {}: \"{}\" is no key=value; write for example dp=2,fsdp=2,shard=hybrid",
                      kWhere, text, part));
    const std::string key = part.substr(0, equals), value = part.substr(equals + 1);
    if (json.contains(key))
      return bad_input(fmt::format("{} {}: {} is given twice", kWhere, text, key));
    const Json number = Json::parse(value, nullptr, /*allow_exceptions=*/false);
    json[key] = number.is_discarded() ? Json(value) : number;
    begin = end + 1;
  }
  return parse_struct<MeshSettings>(json, kWhere);
}

struct Asked {
  PredictSubject subject;
  MeshSettings mesh;
  MeshStepRequest request;
  std::int64_t rows = 1;  // of a rank in a step
  bool is_batch_given = false;
};

Result<Asked> ask(const PredictRequest& question, const MeshFlags& flags) {
  NB_TRY(MeshSettings mesh, parse_mesh(flags.mesh));
  NB_TRY_VOID(check_mesh(mesh));
  PredictRequest asked = question;
  const std::string cards = std::to_string(mesh.ranks());
  if (std::string& given = asked.given["cards"]; !given.empty() && given != cards)
    return bad_input(
        fmt::format("--cards {}: --mesh {} has {}; leave one out", given, flags.mesh, cards));
  asked.given["cards"] = std::to_string(mesh.data_ranks());  // that share the rows of a step
  NB_TRY(PredictSubject subject, subject_of(asked));
  PredictSettings& settings = subject.settings;
  if (settings.stage != TrainingStage::kBase)
    return bad_input(
        fmt::format("--mesh: the stage is {}; on a mesh base is predicted", name(settings.stage)));
  NB_TRY_VOID(check_prediction(settings));
  MeshSettings without_runs = mesh;  // whose micro-batches are known below
  without_runs.micro_batches = std::nullopt;
  NB_TRY_VOID(check_ranks(without_runs, mesh.data_ranks(), subject.profile, Shared::kMicroBatches,
                          Parallel::kTensor),
              kWhere);
  NB_TRY(const std::int64_t rows, rows_of_step(settings));
  NB_TRY(const DecoderConfig config, config_of(settings));
  NB_TRY_VOID(check_model_ranks(mesh, config, settings.stage, !flags.lora_rank.empty()), kWhere);
  NB_TRY_VOID(check_context(config, mesh.context_ranks(), context_kind(mesh.context_name())),
              kWhere);
  MeshStepRequest request = {.config = config,
                             .mesh = mesh,
                             .device_batch_size = settings.device_batch_size.value_or(1),
                             .recompute = settings.recompute.value_or(false)};
  if (!flags.lora_rank.empty()) {
    const Json rank = Json::parse(flags.lora_rank, nullptr, /*allow_exceptions=*/false);
    if (!rank.is_number_integer() || rank.get<std::int64_t>() < 1)
      return bad_input(
          fmt::format("--lora-rank {}: not a whole number from 1 on", flags.lora_rank));
    request.lora = LoraSettings{};
    request.lora->rank = rank.get<std::int64_t>();
    request.lora->targets = {"all"};
  }
  request.accumulation_steps = std::max<std::int64_t>(rows / request.device_batch_size, 1);
  const bool is_given = settings.device_batch_size.has_value();
  return Asked{std::move(subject), mesh, std::move(request), rows, is_given};
}

// The largest batch that fits and divides the rows, unless one is given; the device's own words
// where none does.
Result<MeshStep> step_of(Asked& asked) {
  constexpr std::int64_t kMostRows = 128;
  std::string lacking;
  MeshStepRequest& request = asked.request;
  const std::int64_t first =
      asked.is_batch_given ? request.device_batch_size : std::min(asked.rows, kMostRows);
  const std::int64_t last = asked.is_batch_given ? first : 1;
  for (std::int64_t batch = first; batch >= last; --batch) {
    if (asked.rows % batch != 0) continue;
    const std::int64_t runs = request.mesh.micro_batches.value_or(1);
    if (asked.rows / batch % runs != 0) {
      lacking = fmt::format("mesh/micro_batches: {} do not divide the {} micro-batches of a step",
                            runs, asked.rows / batch);
      continue;
    }
    request.device_batch_size = batch;
    request.accumulation_steps = asked.rows / batch;
    try {
      return run_mesh_step(request, asked.subject.profile);
    } catch (const OutOfMemory& failure) {
      lacking = failure.what();
    }
  }
  if (lacking.starts_with("mesh/"))
    return bad_input(lacking + "; choose a divisor, or another --device-batch-size");
  return run_error(fmt::format("{}; {}", lacking,
                               asked.is_batch_given ? "give a smaller --device-batch-size"
                                                    : "not even one row fits: more fsdp ranks, "
                                                      "or --recompute true"));
}

using Rows = std::vector<std::vector<std::string>>;

void add_sent(Rows& rows, const SentBytes& sent) {
  rows.push_back({"sent by a rank in a step", sent.empty() ? "nothing" : ""});
  for (const auto& [kind, bytes] : sent)
    rows.push_back({"  " + kind, fmt::format("{} ({} bytes)", human_bytes(bytes),
                                             with_commas(static_cast<long long>(bytes)))});
}

std::string mesh_text(MeshSettings mesh) {
  std::vector<std::string> parts;
  const Json json = print_struct(mesh);
  for (const auto& [key, value] : json.items())
    if (key != "dp" || value != 1 || json.size() == 1)
      parts.push_back(
          fmt::format("{} {}", key, value.is_string() ? value.get<std::string>() : value.dump()));
  return fmt::format("{}", fmt::join(parts, ", "));
}

Rows first_rows(const PredictRequest& question, const Asked& asked) {
  const MeshStepRequest& r = asked.request;
  const PredictSettings& s = asked.subject.settings;
  return {{"device", fmt::format("{} × {}", asked.mesh.ranks(), question.device)},
          {"mesh", mesh_text(asked.mesh)},
          {"model", fmt::format("{} d{}, {} parameters{}", s.model.value_or("nanochat"), s.depth,
                                with_commas(param_count(r.config)),
                                r.lora ? fmt::format(", adapters of rank {}", r.lora->rank) : "")},
          {"step of a rank",
           fmt::format("{} of {} × {} tokens",
                       count_text(r.accumulation_steps, "micro-batch", "micro-batches"),
                       r.device_batch_size, r.config.sequence_len)}};
}

}  // namespace

int show_mesh(const PredictRequest& question, const MeshFlags& flags, bool json) {
  auto asked = ask(question, flags);
  if (!asked) return fail(asked.error());
  const auto step = step_of(*asked);
  if (!step) return fail(with_context(step.error(), question.device));
  const MeshStepRequest& r = asked->request;
  const std::string finding = frozen_weights_finding(r, *step, asked->subject.profile);
  const auto tokens = static_cast<double>(asked->subject.settings.total_batch_tokens);
  if (json)
    return print_json({{"device", question.device},
                       {"mesh", print_struct(asked->mesh)},
                       {"device_batch_size", r.device_batch_size},
                       {"accumulation_steps", r.accumulation_steps},
                       {"step_time_ns", step->step_time_ns},
                       {"communication_time_ns", step->communication_time_ns},
                       {"sent_bytes", step->sent},
                       {"peak_allocated_bytes", step->peak.allocated_bytes},
                       {"peak_reserved_bytes", step->peak.reserved_bytes},
                       {"sent_bytes_of_ranks", step->sent_bytes_of_ranks},
                       {"peaks_of_ranks", step->peaks_of_ranks},
                       {"bubble", optional_json(step->bubble)},
                       {"finding", finding.empty() ? Json() : Json(finding)}});
  TextTable table{{"simulated", ""}, first_rows(question, *asked)};
  Rows& rows = table.rows;
  rows.push_back({"step time", human_time_ns(static_cast<double>(step->step_time_ns))});
  rows.push_back({"  waiting for other cards",
                  human_time_ns(static_cast<double>(step->communication_time_ns)) +
                      " (nothing runs beside compute)"});
  rows.push_back(
      {"throughput", human_rate(1e9 * tokens / static_cast<double>(step->step_time_ns), "tok/s")});
  add_sent(rows, step->sent);
  rows.push_back({"peak memory of a rank, allocated",
                  human_bytes(static_cast<double>(step->peak.allocated_bytes))});
  rows.push_back({"peak memory of a rank, reserved",
                  human_bytes(static_cast<double>(step->peak.reserved_bytes))});
  for (std::size_t rank = 1; rank < step->peaks_of_ranks.size(); ++rank)
    rows.push_back({fmt::format("  rank {}: sent, peak", rank),
                    fmt::format("{}, {}", human_bytes(step->sent_bytes_of_ranks[rank]),
                                human_bytes(static_cast<double>(step->peaks_of_ranks[rank])))});
  if (step->bubble)
    rows.push_back(
        {"bubble", fmt::format("{:.1f} % of the time that a stage computes; (p − 1) / m: {:.1f} %",
                               100 * *step->bubble,
                               100 * pipeline_bubble(r.mesh.stages(), r.mesh.micro_batches.value_or(
                                                                          r.accumulation_steps)))});
  if (!finding.empty()) rows.push_back({"finding", finding});
  say("{}", to_text(table, output_width()));
  return kExitOk;
}

}  // namespace nb::cli
