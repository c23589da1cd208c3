#include "model/train/adapter_file.hpp"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "harness/base/check.hpp"
#include "harness/base/json_io.hpp"
#include "model/ops/transfer.hpp"

namespace nb {
namespace {

constexpr const char* kSettings = "lora";
constexpr const char* kConfig = "model_config";

std::vector<std::int64_t> sizes_of(const Tensor& tensor) {
  return {tensor.shape()[0], tensor.shape()[1]};
}

Result<Json> metadata(const SafetensorsFile& file, const char* key) {
  NB_TRY(const std::string text, file.text(key));
  return parse_json(text, fmt::format("{}: /__metadata__/{}", file.path(), key));
}

}  // namespace

Result<void> save_adapters(const std::filesystem::path& path, const Decoder& decoder) {
  NB_CHECK(decoder.lora().has_value(), "[adapters] {}: the decoder has none", path.string());
  SafetensorsWriter writer;
  for (const Parameter& p : decoder.adapters())
    writer.add(p.name, p.value.dtype(), sizes_of(p.value), p.value.host());
  for (const auto& [key, value] : {std::pair{kSettings, print_struct(*decoder.lora())},
                                   std::pair{kConfig, print_struct(decoder.config())}}) {
    NB_TRY(std::string text, dump_json(value, -1), path.string());
    writer.add_text(key, std::move(text));
  }
  writer.add_text("format", "pt");
  return writer.write(path);
}

Result<void> load_adapters(const SafetensorsFile& file, Decoder& decoder) {
  NB_CHECK(!decoder.lora().has_value(), "[adapters] {}: the decoder has some already", file.path());
  if (!file.texts().contains(kSettings))
    return bad_input(
        fmt::format("{}: holds no adapters (no \"lora\" in its metadata)", file.path()));
  NB_TRY(const Json config_json, metadata(file, kConfig));
  NB_TRY(const auto config, parse_struct<DecoderConfig>(config_json, file.path()));
  if (config != decoder.config())
    return bad_input(fmt::format("{}: adapters of another model ({}); this one is {}", file.path(),
                                 config_json.dump(), print_struct(decoder.config()).dump()));
  NB_TRY(const Json settings_json, metadata(file, kSettings));
  const std::string where = file.path() + ": /__metadata__/lora";
  NB_TRY(const auto settings, parse_struct<LoraSettings>(settings_json, where));
  NB_TRY_VOID(check_lora(settings, config, where));
  std::vector<std::vector<float>> values;
  for (const ParameterSpec& spec : lora_specs(settings, config)) {
    NB_TRY(std::vector<float> of_one, file.read_floats(spec.name, {spec.shape[0], spec.shape[1]}));
    values.push_back(std::move(of_one));
  }
  decoder.add_lora(settings, 0);
  for (std::size_t i = 0; i < values.size(); ++i) {
    Parameter& p = decoder.adapters()[i];
    ops::upload(decoder.device(), values[i], p.value, p.name);
  }
  return {};
}

}  // namespace nb
