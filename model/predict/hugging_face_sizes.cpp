#include "model/predict/hugging_face_sizes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

namespace nb {
namespace {

// What a kind of model calls its sizes, and what transformers assumes where the file says nothing
// (configuration_<type>.py of v4.44, qwen3 of v4.51; chatglm: THUDM/chatglm3-6b
// configuration_chatglm.py; baichuan: baichuan-inc/Baichuan2-7B-Base configuration_baichuan.py).
struct ModelType {
  std::string_view type;
  const char *layers, *width, *hidden, *heads, *kv_heads, *head_dim, *vocab;
  bool is_gated, is_tied;
};
constexpr const char* kLayers = "num_hidden_layers";
constexpr const char* kWidth = "hidden_size";
constexpr const char* kHidden = "intermediate_size";
constexpr const char* kHeads = "num_attention_heads";
constexpr const char* kKvHeads = "num_key_value_heads";
constexpr const char* kVocab = "vocab_size";
constexpr ModelType kModelTypes[] = {
    {"baichuan", kLayers, kWidth, kHidden, kHeads, kKvHeads, "head_dim", kVocab, true, false},
    {"chatglm", "num_layers", kWidth, "ffn_hidden_size", kHeads, "multi_query_group_num",
     "kv_channels", "padded_vocab_size", true, false},
    {"gemma", kLayers, kWidth, kHidden, kHeads, kKvHeads, "head_dim", kVocab, true, true},
    {"gpt2", "n_layer", "n_embd", "n_inner", "n_head", kKvHeads, "head_dim", kVocab, false, true},
    {"llama", kLayers, kWidth, kHidden, kHeads, kKvHeads, "head_dim", kVocab, true, false},
    {"mistral", kLayers, kWidth, kHidden, kHeads, kKvHeads, "head_dim", kVocab, true, false},
    {"phi3", kLayers, kWidth, kHidden, kHeads, kKvHeads, "head_dim", kVocab, true, false},
    {"qwen2", kLayers, kWidth, kHidden, kHeads, kKvHeads, "head_dim", kVocab, true, false},
    {"qwen3", kLayers, kWidth, kHidden, kHeads, kKvHeads, "head_dim", kVocab, true, false},
};
constexpr const char* kExperts[] = {"num_experts", "num_local_experts", "n_routed_experts",
                                    "moe_num_experts"};

bool has(const Json& json, const char* key) {
  return json.contains(key) && !json.at(key).is_null();
}

bool flag(const Json& json, const char* key, bool otherwise) {
  return has(json, key) && json.at(key).is_boolean() ? json.at(key).get<bool>() : otherwise;
}

}  // namespace

bool is_hugging_face_config(const Json& json) {
  return json.is_object() && (json.contains("model_type") || json.contains("architectures"));
}

Result<MegatronModel> parse_hugging_face_sizes(const Json& json, const std::string& where) {
  const std::string type = has(json, "model_type") && json.at("model_type").is_string()
                               ? json.at("model_type").get<std::string>()
                               : "";
  const auto kind = std::ranges::find(kModelTypes, type, &ModelType::type);
  std::vector<std::string> known;
  for (const ModelType& one : kModelTypes) known.emplace_back(one.type);
  if (kind == std::end(kModelTypes))
    return bad_input(fmt::format(
        "{}: /model_type \"{}\" is not known{} (known: {}); write its sizes into a file of your "
        "own: layers, width, hidden, heads, kv_heads, vocab",
        where, type, did_you_mean(type, known), fmt::join(known, ", ")));
  for (const char* key : kExperts)
    if (has(json, key) && json.at(key) != 0 && json.at(key) != 1)
      return bad_input(fmt::format("{}: /{}: a mixture of experts is not predicted", where, key));
  std::optional<Error> failure;
  const auto size = [&](const char* key, std::optional<std::int64_t> otherwise) -> std::int64_t {
    constexpr std::int64_t kLargest = 1 << 24;  // keeps products in 64 bits
    if (!has(json, key) && otherwise) return *otherwise;
    const Json value = has(json, key) ? json.at(key) : Json();
    if (value.is_number_integer() && value >= 1 && value <= kLargest)
      return value.get<std::int64_t>();
    if (!failure)
      failure = Error{ErrorCode::kBadInput, fmt::format("{}: /{} is {}, not a size from 1 to {}",
                                                        where, key, value.dump(), kLargest)};
    return 1;
  };
  MegatronModel model;
  model.layers = size(kind->layers, {});
  model.width = size(kind->width, {});
  model.hidden = size(kind->hidden, type == "gpt2" ? std::optional(4 * model.width) : std::nullopt);
  model.heads = size(kind->heads, {});
  model.kv_heads = size(kind->kv_heads, model.heads);
  // chatglm has one key-value head a query's, unless it says otherwise.
  if (type == "chatglm" && !flag(json, "multi_query_attention", false))
    model.kv_heads = model.heads;
  model.head_dim = size(kind->head_dim, std::max<std::int64_t>(model.width / model.heads, 1));
  model.vocab = size(kind->vocab, {});
  model.is_gated = kind->is_gated;
  model.is_tied = flag(json, "tie_word_embeddings", kind->is_tied);
  if (has(json, "sliding_window") &&
      flag(json, "use_sliding_window", type != "qwen2" && type != "qwen3"))
    model.window = size("sliding_window", {});
  if (failure) return tl::unexpected(*failure);
  return model;
}

}  // namespace nb
