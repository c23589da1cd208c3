#include "model/train/hugging_face_config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "model/decoder/presets.hpp"

namespace nb {
namespace {

// Reads members with their defaults; the first mistake stays.
class ConfigReader {
 public:
  ConfigReader(const Json& json, std::string where) : json_(json), where_(std::move(where)) {}

  bool has(const char* key) const { return json_.contains(key) && !json_.at(key).is_null(); }
  std::int64_t size(const char* key, std::optional<std::int64_t> otherwise) {
    if (!has(key)) {
      if (!otherwise) fail(fmt::format("/{} is missing", key));
      return otherwise.value_or(1);
    }
    const Json& value = json_.at(key);
    if (value.is_number_integer() && value >= 1 && value <= kLargestSize)
      return value.get<std::int64_t>();
    fail(fmt::format("/{} is {}, not a size from 1 to {}", key, value.dump(), kLargestSize));
    return 1;
  }
  double number(const char* key, double otherwise) {
    if (!has(key)) return otherwise;
    if (json_.at(key).is_number() && json_.at(key) > 0) return json_.at(key).get<double>();
    fail(fmt::format("/{} is {}, not a number above 0", key, json_.at(key).dump()));
    return otherwise;
  }
  bool flag(const char* key, bool otherwise) {
    if (!has(key)) return otherwise;
    if (json_.at(key).is_boolean()) return json_.at(key).get<bool>();
    fail(fmt::format("/{} is {}, not true or false", key, json_.at(key).dump()));
    return otherwise;
  }
  // Where the key is there, its value must be one of these.
  void only(const char* key, const std::vector<Json>& read) {
    if (!has(key) || std::ranges::find(read, json_.at(key)) != read.end()) return;
    std::vector<std::string> texts;
    for (const Json& value : read) texts.push_back(value.dump());
    fail(fmt::format("/{} is {}; npubench computes {} only", key, json_.at(key).dump(),
                     fmt::join(texts, " or ")));
  }
  const Json* object(const char* key) {
    if (!has(key)) return nullptr;
    if (json_.at(key).is_object()) return &json_.at(key);
    fail(fmt::format("/{} is not an object", key));
    return nullptr;
  }
  void fail(const std::string& what) {
    if (!error_) error_ = where_ + ": " + what;
  }
  Result<void> status() const {
    if (error_) return bad_input(*error_);
    return {};
  }
  const std::string& where() const { return where_; }

 private:
  static constexpr std::int64_t kLargestSize = 1 << 24;  // keeps products in 64 bits
  const Json& json_;
  std::string where_;
  std::optional<std::string> error_;
};

Architecture architecture_of(const char* preset) {
  return preset_config(preset, 2, 2, 2)->architecture;
}

// transformers, modeling_gpt2.py.
DecoderConfig gpt2_config(ConfigReader& reader) {
  DecoderConfig config;
  config.sequence_len = reader.size("n_positions", 1024);
  config.vocab_size = reader.size("vocab_size", 50257);
  config.n_embd = reader.size("n_embd", 768);
  config.n_layer = reader.size("n_layer", 12);
  config.n_head = config.n_kv_head = reader.size("n_head", 12);
  config.architecture = architecture_of("gpt2");
  if (reader.has("n_inner")) config.architecture.hidden = reader.size("n_inner", 1);
  config.architecture.norm_epsilon = reader.number("layer_norm_epsilon", 1e-5);
  config.architecture.tied_head = reader.flag("tie_word_embeddings", true);
  reader.only("activation_function", {"gelu_new", "gelu_pytorch_tanh"});  // the tanh form
  reader.only("scale_attn_weights", {true});
  reader.only("scale_attn_by_inverse_layer_idx", {false});
  reader.only("add_cross_attention", {false});
  return config;
}

// transformers, modeling_llama.py: halves of a head are rotated by the angle. Until v4 the base
// stands alone, from v5 on in "rope_parameters".
DecoderConfig llama_config(ConfigReader& reader) {
  DecoderConfig config;
  config.sequence_len = reader.size("max_position_embeddings", 2048);
  config.vocab_size = reader.size("vocab_size", 32000);
  config.n_embd = reader.size("hidden_size", 4096);
  config.n_layer = reader.size("num_hidden_layers", 32);
  config.n_head = reader.size("num_attention_heads", 32);
  config.n_kv_head = reader.size("num_key_value_heads", config.n_head);
  Architecture& a = config.architecture = architecture_of("llama");
  a.hidden = reader.size("intermediate_size", 11008);
  if (reader.has("head_dim")) a.head_dim = reader.size("head_dim", 1);
  a.norm_epsilon = reader.number("rms_norm_eps", 1e-6);
  a.rotary_base = reader.number("rope_theta", 10000);
  a.tied_head = reader.flag("tie_word_embeddings", false);
  reader.only("hidden_act", {"silu"});
  reader.only("attention_bias", {false});
  reader.only("mlp_bias", {false});
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    const Json* rope = reader.object(key);
    if (rope == nullptr) continue;
    ConfigReader inner(*rope, reader.where() + ": /" + key);
    inner.only("rope_type", {"default"});
    inner.only("type", {"default"});
    a.rotary_base = inner.number("rope_theta", a.rotary_base);
    if (const auto status = inner.status(); !status)
      reader.fail(status.error().message.substr(reader.where().size() + 2));
  }
  return config;
}

}  // namespace

Result<HuggingFaceConfig> parse_hugging_face_config(const Json& json, const std::string& where) {
  if (!json.is_object() || !json.contains("model_type") || !json.at("model_type").is_string())
    return bad_input(where + ": has no \"model_type\"; is it a Hugging Face config.json?");
  const auto type = json.at("model_type").get<std::string>();
  if (type != "gpt2" && type != "llama")
    return bad_input(
        fmt::format("{}: /model_type is \"{}\"; npubench reads gpt2 and llama", where, type));
  ConfigReader reader(json, where);
  HuggingFaceConfig read;
  read.kind = type == "gpt2" ? HuggingFaceKind::kGpt2 : HuggingFaceKind::kLlama;
  read.config = read.kind == HuggingFaceKind::kGpt2 ? gpt2_config(reader) : llama_config(reader);
  NB_TRY_VOID(reader.status());
  NB_TRY_VOID(check_config(read.config, where));
  return read;
}

}  // namespace nb
