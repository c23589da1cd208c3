#include "model/train/checkpoint.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>

#include "harness/base/check.hpp"
#include "harness/base/hash.hpp"
#include "harness/base/json_io.hpp"
#include "model/ops/transfer.hpp"
#include "model/train/tensor_names.hpp"

namespace nb {
namespace {

constexpr std::string_view kPrefix = "step_";
constexpr std::string_view kSuffix = ".safetensors";
constexpr const char* kRowsName = "progress.rows";

std::vector<std::int64_t> sizes_of(const Tensor& tensor) {
  std::vector<std::int64_t> sizes;
  for (std::size_t i = 0; i < tensor.shape().rank(); ++i) sizes.push_back(tensor.shape()[i]);
  return sizes;
}

// Step and columns of every row. An absent value is the quiet NaN without payload; one that is
// there and NaN has a payload, and is read back without.
constexpr double kAbsent = std::numeric_limits<double>::quiet_NaN();
constexpr auto kAbsentBits = std::bit_cast<std::uint64_t>(kAbsent);
constexpr auto kNan = std::bit_cast<double>(kAbsentBits | 1U);

std::vector<double> pack(const std::vector<StepRow>& rows, TrainingStage stage) {
  std::vector<double> packed;
  for (const StepRow& row : rows) {
    packed.push_back(static_cast<double>(row.step));
    for (const auto& value : step_values(row, stage)) {
      packed.push_back(!value ? kAbsent : std::isnan(*value) ? kNan : *value);
    }
  }
  return packed;
}

Result<std::vector<StepRow>> unpack(const std::vector<double>& packed, TrainingStage stage,
                                    const std::string& path) {
  const std::size_t width = step_columns(stage).size() + 1;
  if (packed.size() % width != 0) {
    return bad_input(fmt::format("{}: {} has {} values, not a multiple of {}", path, kRowsName,
                                 packed.size(), width));
  }
  std::vector<StepRow> rows(packed.size() / width);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double* cell = &packed[i * width];
    rows[i].step = static_cast<std::int64_t>(*cell++);
    for (std::optional<double>* value : step_members(rows[i], stage)) {
      if (std::bit_cast<std::uint64_t>(*cell) != kAbsentBits)
        *value = std::isnan(*cell) ? std::numeric_limits<double>::quiet_NaN() : *cell;
      ++cell;
    }
  }
  return rows;
}

// JSON has no number for what is not finite: "nan", "inf", "-inf".
constexpr std::pair<const char*, double> kNotFinite[] = {
    {"nan", std::numeric_limits<double>::quiet_NaN()},
    {"inf", std::numeric_limits<double>::infinity()},
    {"-inf", -std::numeric_limits<double>::infinity()}};

Json loss_json(double loss) {
  for (const auto& [text, value] : kNotFinite)
    if (loss == value || (std::isnan(loss) && std::isnan(value))) return text;
  return loss;
}

Result<double> loss_of(const Json& json, const std::string& where) {
  if (json.is_number()) return json.get<double>();
  for (const auto& [text, value] : kNotFinite)
    if (json == text) return value;
  return bad_input(fmt::format("{}/loss_average: {} is no number, nan, inf or -inf", where,
                               json.dump(-1, ' ', false, Json::error_handler_t::replace)));
}

Json samples_json(const std::vector<SampleText>& samples) {
  Json list = Json::array();
  for (const SampleText& sample : samples) {
    list.push_back({{"step", sample.step}, {"prompt", sample.prompt}, {"text", sample.text}});
  }
  return list;
}

Result<Json> metadata_json(const SafetensorsFile& file, const std::string& key) {
  NB_TRY(const std::string text, file.text(key));
  return parse_json(text, file.path() + ": /__metadata__/" + key);
}

}  // namespace

Result<void> save_checkpoint(const std::filesystem::path& path, const Decoder& decoder,
                             Optimizers optimizers, const RunProgress& progress, const Json& loader,
                             const Json& identity) {
  SafetensorsWriter writer;
  for (const Parameter& p : decoder.parameters()) {
    writer.add(p.name, p.value.dtype(), sizes_of(p.value), p.value.host());
  }
  for (const Parameter& p : decoder.adapters().parameters())
    writer.add(p.name, p.value.dtype(), sizes_of(p.value), p.value.host());
  for (const auto& optimizer : optimizers) {
    for (const NamedState& state : optimizer->state()) {
      writer.add("optimizer." + state.name, state.tensor->dtype(), sizes_of(*state.tensor),
                 std::as_const(*state.tensor).host());
    }
  }
  const std::vector<double> rows = pack(progress.rows, progress.stage);
  writer.add(kRowsName, {std::ssize(progress.rows), std::ssize(step_columns(progress.stage)) + 1},
             rows);
  Json state = {{"step", progress.step},
                {"is_finished", progress.is_finished},
                {"loss_average", loss_json(progress.loss_average)},
                {"train_time_ns", progress.train_time_ns},
                {"samples", samples_json(progress.samples)}};
  if (progress.apart_since) state["apart_since"] = *progress.apart_since;
  if (!progress.sent_bytes.empty()) state["sent_bytes"] = progress.sent_bytes;
  if (!progress.pipeline.sent_bytes.empty())
    state["pipeline"] = {{"sent_bytes", progress.pipeline.sent_bytes},
                         {"bubble", progress.pipeline.bubble}};
  std::vector<std::pair<const char*, Json>> texts = {
      {"model_config", print_struct(decoder.config())},
      {"identity", identity},
      {"progress", state},
      {"loader", loader},
      {"device", decoder.device().state()}};
  if (decoder.adapters().settings())
    texts.emplace_back("lora", print_struct(*decoder.adapters().settings()));
  for (const auto& [key, value] : texts) {
    NB_TRY(std::string text, dump_json(value, -1), path.string());
    writer.add_text(key, std::move(text));
  }
  writer.add_text("format", "pt");  // what other readers of safetensors look for
  return writer.write(path);
}

Result<std::int64_t> trained_steps(const SafetensorsFile& file) {
  constexpr const char* kTry = "set packed/keeps_optimizer to false";
  NB_TRY(const Json state, metadata_json(file, "progress"), kTry);
  if (!state.contains("step") || !state.at("step").is_number_integer())
    return bad_input(
        fmt::format("{}: does not say how long it was trained; {}", file.path(), kTry));
  // RL may make several updates a step.
  NB_TRY(const Json identity, metadata_json(file, "identity"), kTry);
  const Json::json_pointer updates("/settings/updates_per_rollout");
  const bool says = identity.contains(updates) && identity.at(updates).is_number_integer();
  return state.at("step").get<std::int64_t>() *
         (says ? identity.at(updates).get<std::int64_t>() : 1);
}

Result<void> load_optimizers(const SafetensorsFile& file, Optimizers optimizers) {
  for (const auto& optimizer : optimizers) {
    optimizer->allocate_state();
    for (const NamedState& named : optimizer->state())
      NB_TRY_VOID(file.read("optimizer." + named.name, named.tensor->dtype(),
                            sizes_of(*named.tensor), named.tensor->host()));
  }
  return {};
}

Result<LoadedRun> load_checkpoint(const SafetensorsFile& file, Decoder& decoder,
                                  Optimizers optimizers, TrainingStage stage) {
  for (std::vector<Parameter>* parameters :
       {&decoder.parameters(), &decoder.adapters().parameters()})
    for (Parameter& p : *parameters)
      NB_TRY_VOID(file.read(p.name, p.value.dtype(), sizes_of(p.value), p.value.host()));
  NB_TRY(const Json state, metadata_json(file, "progress"));
  LoadedRun run;
  run.progress.stage = stage;
  NB_TRY(const std::vector<double> rows, file.read_doubles(kRowsName));
  NB_TRY(run.progress.rows, unpack(rows, stage, file.path()));
  const std::string where = file.path() + ": /__metadata__/progress";
  try {
    run.progress.step = state.at("step").get<std::int64_t>();
    run.progress.is_finished = state.at("is_finished").get<bool>();
    NB_TRY(run.progress.loss_average, loss_of(state.at("loss_average"), where));
    run.progress.train_time_ns = state.at("train_time_ns").get<std::int64_t>();
    if (state.contains("apart_since"))
      run.progress.apart_since = state.at("apart_since").get<std::int64_t>();
    if (state.contains("sent_bytes")) state.at("sent_bytes").get_to(run.progress.sent_bytes);
    if (state.contains("pipeline")) {
      state.at("pipeline").at("sent_bytes").get_to(run.progress.pipeline.sent_bytes);
      state.at("pipeline").at("bubble").get_to(run.progress.pipeline.bubble);
    }
    for (const Json& sample : state.at("samples")) {
      run.progress.samples.push_back({sample.at("step").get<std::int64_t>(),
                                      sample.at("prompt").get<std::string>(),
                                      sample.at("text").get<std::string>()});
    }
  } catch (const Json::exception& failure) {
    return bad_input(fmt::format("{}: {}", where, failure.what()));
  }
  if (run.progress.step > 0) NB_TRY_VOID(load_optimizers(file, optimizers));
  NB_TRY(Json loader, metadata_json(file, "loader"));
  run.loader = std::make_unique<Json>(std::move(loader));
  NB_TRY(const Json device, metadata_json(file, "device"));
  NB_TRY_VOID(decoder.device().restore(device), file.path());
  return run;
}

namespace {

// JSON pointer of the first difference; empty when equal.
std::string first_difference(const Json& a, const Json& b, const std::string& pointer) {
  if (a.is_object() && b.is_object()) {
    Json keys = a;
    keys.update(b);
    for (const auto& [key, unused] : keys.items()) {
      const std::string at = pointer + "/" + key;
      if (!a.contains(key) || !b.contains(key)) return at;
      const std::string inner = first_difference(a.at(key), b.at(key), at);
      if (!inner.empty()) return inner;
    }
    return "";
  }
  return a == b ? "" : pointer.empty() ? "/" : pointer;
}

std::string value_at(const Json& json, const std::string& pointer) {
  const Json::json_pointer at(pointer == "/" ? "" : pointer);
  return json.contains(at) ? json.at(at).dump() : "nothing";
}

}  // namespace

Result<void> check_identity(const SafetensorsFile& file, const Json& identity) {
  NB_TRY(const Json stored, metadata_json(file, "identity"));
  const std::string difference = first_difference(stored, identity, "");
  if (difference.empty()) return {};
  return bad_input(fmt::format("{}: a checkpoint of another run: {} is {} there, but {} here",
                               file.path(), difference, value_at(stored, difference),
                               value_at(identity, difference)));
}

Result<SafetensorsFile> open_checkpoint_of(const Json& identity,
                                           const std::filesystem::path& path) {
  NB_TRY(SafetensorsFile file, SafetensorsFile::open(path, /*advice=*/""));
  // Whoever wrote the header's clock and rows without a digest cannot vouch for them.
  if (!file.is_sealed())
    return bad_input(
        fmt::format("{}: has no SHA-256 of the whole file: of an older version of npubench, or "
                    "damaged",
                    file.path()));
  NB_TRY_VOID(check_identity(file, identity));
  NB_TRY(const Json state, metadata_json(file, "progress"));
  const std::int64_t step = state.value("step", std::int64_t{-1});
  if (path.filename() != checkpoint_path("", step).filename())
    return bad_input(fmt::format("{}: holds step {}, not that of its name", file.path(), step));
  return file;
}

Result<DecoderConfig> read_model_config(const SafetensorsFile& file) {
  NB_TRY(const Json json, metadata_json(file, "model_config"));
  const std::string where = file.path() + ": /__metadata__/model_config";
  NB_TRY(const DecoderConfig config, parse_struct<DecoderConfig>(json, where));
  NB_TRY_VOID(check_config(config, where));
  return config;
}

Result<std::string> trained_tokenizer(const SafetensorsFile& file) {
  if (!file.texts().contains("identity")) return std::string();
  NB_TRY(const Json identity, metadata_json(file, "identity"));
  const auto found = identity.find("tokenizer");
  if (found == identity.end() || !found->is_string()) return std::string();
  return found->get<std::string>();
}

namespace {

// null where `json` is no object or has no such member.
Json member(const Json& json, const char* key) {
  return json.is_object() && json.contains(key) ? json.at(key) : Json();
}

Result<Json> metadata_or_null(const SafetensorsFile& file, const std::string& key) {
  if (!file.texts().contains(key)) return Json();
  return metadata_json(file, key);
}

}  // namespace

Result<Json> checkpoint_history(const SafetensorsFile& file) {
  NB_TRY(const Json identity, metadata_or_null(file, "identity"));
  const Json settings = member(identity, "settings");
  if (!settings.is_object()) return Json();
  NB_TRY(const Json model, metadata_or_null(file, "model_config"));
  NB_TRY(const Json progress, metadata_or_null(file, "progress"));
  NB_TRY(const Json loader, metadata_or_null(file, "loader"));
  const Json shards = member(loader, "shards");
  // BASE reads shards, the stages after it conversations.
  const Json data = shards.is_null() ? member(identity, "data") : Json(sha256_json(shards));
  Json history{{"settings", settings},
               {"model", model},
               {"seed", member(settings, "seed")},
               {"steps", member(progress, "step")},
               {"data", data},
               {"tokenizer", member(identity, "tokenizer")},
               {"device", member(identity, "device")},
               {"numerics_of", member(identity, "numerics")},
               {"numerics", member(identity, "policy")}};
  if (const Json parent = member(identity, "parent"); parent.is_object()) {
    history["stage"] = member(identity, "stage");
    history["before"] = member(parent, "history");
  }
  return history;
}

namespace {

// What stands beside the weights in a checkpoint of ours.
bool is_beside_weights(const std::string& tensor) {
  return tensor.starts_with("optimizer.") || tensor.starts_with("progress.") ||
         tensor.find(".lora_") != std::string::npos;
}

}  // namespace

Result<void> load_weights(const SafetensorsFile& file, Decoder& decoder) {
  std::set<std::string> expected, present;
  for (const Parameter& p : decoder.parameters()) expected.insert(p.name);
  for (const auto& [tensor, entry] : file.entries())
    if (!is_beside_weights(tensor)) present.insert(tensor);
  NB_TRY_VOID(check_tensor_names(
      expected, present, file.path(),
      fmt::format("the {} layers of its model_config", decoder.config().n_layer)));
  for (Parameter& p : decoder.parameters()) {
    NB_TRY(const std::vector<float> values, file.read_floats(p.name, sizes_of(p.value)));
    ops::upload(decoder.device(), values, p.value, p.name);
  }
  return {};
}

std::filesystem::path checkpoint_path(const std::filesystem::path& folder, std::int64_t step) {
  return folder / "checkpoints" / fmt::format("{}{:06d}{}", kPrefix, step, kSuffix);
}

std::vector<NumberedCheckpoint> list_checkpoints(const std::filesystem::path& folder) {
  std::vector<NumberedCheckpoint> found;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder / "checkpoints", ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.size() <= kPrefix.size() + kSuffix.size() || !name.starts_with(kPrefix) ||
        !name.ends_with(kSuffix)) {
      continue;
    }
    std::int64_t step = 0;
    bool is_number = true;
    for (const char digit : std::string_view(name).substr(
             kPrefix.size(), name.size() - kPrefix.size() - kSuffix.size())) {
      is_number = is_number && digit >= '0' && digit <= '9' && step < 1'000'000'000'000;
      step = 10 * step + (digit - '0');
    }
    if (is_number) found.push_back({step, entry.path()});
  }
  std::ranges::sort(found, [](const NumberedCheckpoint& a, const NumberedCheckpoint& b) {
    return std::tie(a.step, a.path) > std::tie(b.step, b.path);
  });
  return found;
}

void remove_torn_checkpoints(const std::filesystem::path& folder) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder / "checkpoints", ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("." + std::string(kPrefix)) && name.ends_with(".tmp")) {
      std::error_code stays;
      std::filesystem::remove(entry.path(), stays);
    }
  }
}

void prune_checkpoints(const std::filesystem::path& folder, std::int64_t step, std::size_t keep,
                       std::span<const std::int64_t> kept_steps) {
  for (const NumberedCheckpoint& one : list_checkpoints(folder)) {
    const bool is_named = one.path == checkpoint_path(folder, one.step);
    if (is_named && one.step <= step) {
      if (keep > 0) {
        --keep;
        continue;
      }
      if (std::ranges::find(kept_steps, one.step) != kept_steps.end()) continue;
    }
    std::error_code ignored;  // a file that stays costs disk, not results
    std::filesystem::remove(one.path, ignored);
  }
}

}  // namespace nb
