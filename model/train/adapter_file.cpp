#include "model/train/adapter_file.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/base/check.hpp"
#include "harness/base/json_io.hpp"
#include "model/ops/transfer.hpp"
#include "model/train/checkpoint.hpp"

namespace nb {
namespace {

constexpr const char* kSettings = "lora";
constexpr const char* kConfig = "model_config";

std::vector<std::int64_t> matrix_sizes(const Tensor& tensor) {
  return {tensor.shape()[0], tensor.shape()[1]};
}

Result<Json> metadata(const SafetensorsFile& file, const char* key) {
  NB_TRY(const std::string text, file.text(key));
  return parse_json(text, fmt::format("{}: /__metadata__/{}", file.path(), key));
}

}  // namespace

Result<void> save_adapters(const std::filesystem::path& path, const Decoder& decoder) {
  NB_CHECK(decoder.adapters().settings().has_value(), "[adapters] {}: the decoder has none",
           path.string());
  SafetensorsWriter writer;
  for (const Parameter& p : decoder.adapters().parameters())
    writer.add(p.name, p.value.dtype(), matrix_sizes(p.value), p.value.host());
  for (const auto& [key, value] :
       {std::pair{kSettings, print_struct(*decoder.adapters().settings())},
        std::pair{kConfig, print_struct(decoder.config())}}) {
    NB_TRY(std::string text, dump_json(value, -1), path.string());
    writer.add_text(key, std::move(text));
  }
  writer.add_text("format", "pt");
  return writer.write(path);
}

namespace {

struct FileAdapters {
  LoraSettings settings;
  std::vector<ParameterSpec> specs;
  std::vector<std::vector<float>> values;  // of each
};

Result<FileAdapters> read_adapters(const SafetensorsFile& file, const DecoderConfig& own) {
  if (!has_adapters(file))
    return bad_input(
        fmt::format("{}: holds no adapters (no \"lora\" in its metadata)", file.path()));
  NB_TRY(const Json config_json, metadata(file, kConfig));
  NB_TRY(const auto config, parse_struct<DecoderConfig>(config_json, file.path()));
  if (config != own)
    return bad_input(fmt::format("{}: adapters of another model ({}); this one is {}", file.path(),
                                 config_json.dump(), print_struct(own).dump()));
  NB_TRY(const Json settings_json, metadata(file, kSettings));
  const std::string where = file.path() + ": /__metadata__/lora";
  FileAdapters read;
  NB_TRY(read.settings, parse_struct<LoraSettings>(settings_json, where));
  NB_TRY_VOID(check_lora(read.settings, config, where));
  read.specs = lora_specs(read.settings, config);
  for (const ParameterSpec& spec : read.specs) {
    NB_TRY(std::vector<float> of_one, file.read_floats(spec.name, {spec.shape[0], spec.shape[1]}));
    read.values.push_back(std::move(of_one));
  }
  return read;
}

}  // namespace

bool has_adapters(const SafetensorsFile& file) { return file.texts().contains(kSettings); }

Result<void> load_adapters(const SafetensorsFile& file, Decoder& decoder) {
  NB_CHECK(!decoder.adapters().settings().has_value(),
           "[adapters] {}: the decoder has some already", file.path());
  NB_TRY(const FileAdapters read, read_adapters(file, decoder.config()));
  decoder.adapters().add(read.settings, 0);
  for (std::size_t i = 0; i < read.values.size(); ++i) {
    Parameter& p = decoder.adapters().parameters()[i];
    ops::upload(decoder.device(), read.values[i], p.value, p.name);
  }
  return {};
}

Result<void> load_model(const SafetensorsFile& file, Decoder& decoder) {
  NB_TRY_VOID(load_weights(file, decoder));
  if (has_adapters(file)) NB_TRY_VOID(load_adapters(file, decoder));
  return {};
}

Result<bool> load_merged_weights(const SafetensorsFile& file, Decoder& decoder) {
  NB_TRY_VOID(load_weights(file, decoder));
  if (!has_adapters(file)) return false;
  NB_TRY(const FileAdapters read, read_adapters(file, decoder.config()));
  const auto matrix = [&](std::size_t i) {
    const auto& shape = read.specs[i].shape;
    return ConstMatrix{read.values[i].data(), shape[0], shape[1], shape[1]};
  };
  const double scale = read.settings.alpha / static_cast<double>(read.settings.rank);
  for (std::size_t i = 0; i + 1 < read.specs.size(); i += 2) {
    const std::string& a = read.specs[i].name;
    const std::string weight = a.substr(0, a.rfind('.')) + ".weight";
    const auto found = std::ranges::find(decoder.parameters(), weight, &Parameter::name);
    NB_CHECK(found != decoder.parameters().end(), "[adapters] no {} beside {}", weight, a);
    merge_adapter(*found, matrix(i), matrix(i + 1), scale);
  }
  return true;
}

}  // namespace nb
