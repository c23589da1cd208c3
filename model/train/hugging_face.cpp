#include "model/train/hugging_face.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <string_view>
#include <system_error>

#include "harness/base/check.hpp"
#include "harness/base/fs.hpp"
#include "harness/base/hash.hpp"
#include "model/decoder/parameters.hpp"
#include "model/ops/transfer.hpp"
#include "model/train/tensor_names.hpp"

namespace nb {
namespace {

constexpr const char* kConfigFile = "config.json";
constexpr const char* kWhole = "model.safetensors";
constexpr const char* kIndex = "model.safetensors.index.json";

// How a tensor of theirs becomes one of ours.
enum class Form {
  kSame,
  kTransposed,  // GPT-2's Conv1D holds (in, out)
  kFirst,       // the first, second and third part of GPT-2's c_attn: q, k and v side by side
  kSecond,
  kThird,  // in the last axis; matrices transposed
};
bool is_part(Form form) { return form >= Form::kFirst; }

// "#" stands for the layer. Ours are nanochat's names (parameters.cpp).
struct NameRow {
  std::string_view ours, theirs;
  Form form = Form::kSame;
};

// transformers, modeling_gpt2.py; as on the hub, without "transformer." in front.
constexpr NameRow kGpt2Names[] = {
    {"transformer.wte.weight", "wte.weight"},
    {"transformer.wpe.weight", "wpe.weight"},
    {"transformer.h.#.ln_1.weight", "h.#.ln_1.weight"},
    {"transformer.h.#.ln_1.bias", "h.#.ln_1.bias"},
    {"transformer.h.#.attn.c_q.weight", "h.#.attn.c_attn.weight", Form::kFirst},
    {"transformer.h.#.attn.c_q.bias", "h.#.attn.c_attn.bias", Form::kFirst},
    {"transformer.h.#.attn.c_k.weight", "h.#.attn.c_attn.weight", Form::kSecond},
    {"transformer.h.#.attn.c_k.bias", "h.#.attn.c_attn.bias", Form::kSecond},
    {"transformer.h.#.attn.c_v.weight", "h.#.attn.c_attn.weight", Form::kThird},
    {"transformer.h.#.attn.c_v.bias", "h.#.attn.c_attn.bias", Form::kThird},
    {"transformer.h.#.attn.c_proj.weight", "h.#.attn.c_proj.weight", Form::kTransposed},
    {"transformer.h.#.attn.c_proj.bias", "h.#.attn.c_proj.bias"},
    {"transformer.h.#.ln_2.weight", "h.#.ln_2.weight"},
    {"transformer.h.#.ln_2.bias", "h.#.ln_2.bias"},
    {"transformer.h.#.mlp.c_fc.weight", "h.#.mlp.c_fc.weight", Form::kTransposed},
    {"transformer.h.#.mlp.c_fc.bias", "h.#.mlp.c_fc.bias"},
    {"transformer.h.#.mlp.c_proj.weight", "h.#.mlp.c_proj.weight", Form::kTransposed},
    {"transformer.h.#.mlp.c_proj.bias", "h.#.mlp.c_proj.bias"},
    {"transformer.ln_f.weight", "ln_f.weight"},
    {"transformer.ln_f.bias", "ln_f.bias"},
    {"lm_head.weight", "lm_head.weight"},
};

// transformers, modeling_llama.py.
constexpr NameRow kLlamaNames[] = {
    {"transformer.wte.weight", "model.embed_tokens.weight"},
    {"transformer.h.#.ln_1.weight", "model.layers.#.input_layernorm.weight"},
    {"transformer.h.#.attn.c_q.weight", "model.layers.#.self_attn.q_proj.weight"},
    {"transformer.h.#.attn.c_k.weight", "model.layers.#.self_attn.k_proj.weight"},
    {"transformer.h.#.attn.c_v.weight", "model.layers.#.self_attn.v_proj.weight"},
    {"transformer.h.#.attn.c_proj.weight", "model.layers.#.self_attn.o_proj.weight"},
    {"transformer.h.#.ln_2.weight", "model.layers.#.post_attention_layernorm.weight"},
    {"transformer.h.#.mlp.c_gate.weight", "model.layers.#.mlp.gate_proj.weight"},
    {"transformer.h.#.mlp.c_fc.weight", "model.layers.#.mlp.up_proj.weight"},
    {"transformer.h.#.mlp.c_proj.weight", "model.layers.#.mlp.down_proj.weight"},
    {"transformer.ln_f.weight", "model.norm.weight"},
    {"lm_head.weight", "lm_head.weight"},
};

std::span<const NameRow> names_of(HuggingFaceKind kind) {
  if (kind == HuggingFaceKind::kGpt2) return kGpt2Names;
  return kLlamaNames;
}
std::string_view name(HuggingFaceKind kind) {
  return kind == HuggingFaceKind::kGpt2 ? "gpt2" : "llama";
}

// Buffers that older checkpoints carry: masks and rotary frequencies, which are computed.
bool is_buffer(std::string_view tensor) {
  return tensor.ends_with(".attn.bias") || tensor.ends_with(".attn.masked_bias") ||
         tensor.ends_with(".rotary_emb.inv_freq");
}

// "transformer.h.11.ln_1.bias" → "transformer.h.#.ln_1.bias" and "11".
struct Layered {
  std::string pattern, layer;
};
Layered layered(const std::string& ours) {
  constexpr std::string_view kBlock = "transformer.h.";
  if (!ours.starts_with(kBlock)) return {ours, ""};
  const std::size_t end = ours.find('.', kBlock.size());
  return {std::string(kBlock) + "#" + ours.substr(end),
          ours.substr(kBlock.size(), end - kBlock.size())};
}

struct Source {
  std::string name;
  Form form = Form::kSame;
};
Source source_of(HuggingFaceKind kind, const std::string& ours) {
  const Layered at = layered(ours);
  for (const NameRow& row : names_of(kind)) {
    if (row.ours != at.pattern) continue;
    std::string theirs(row.theirs);
    if (const std::size_t mark = theirs.find('#'); mark != std::string::npos)
      theirs.replace(mark, 1, at.layer);
    return {std::move(theirs), row.form};
  }
  NB_CHECK(false, "[hugging_face] {} has no {}", name(kind), ours);
}

// GPT-2 as save_pretrained writes it has "transformer." in front of all but the head.
std::string without_prefix(HuggingFaceKind kind, const std::string& theirs) {
  constexpr std::string_view kGpt2Prefix = "transformer.";
  return kind == HuggingFaceKind::kGpt2 && theirs.starts_with(kGpt2Prefix)
             ? theirs.substr(kGpt2Prefix.size())
             : theirs;
}

// Their shape of a tensor that becomes `shape` of ours.
std::vector<std::int64_t> their_shape(const Shape& shape, Form form) {
  std::vector<std::int64_t> sizes;
  for (std::size_t i = 0; i < shape.rank(); ++i) sizes.push_back(shape[i]);
  if (form != Form::kSame) std::ranges::reverse(sizes);
  if (is_part(form)) sizes.back() *= 3;
  return sizes;
}

// values: theirs. Ours is (rows, columns), a vector one row.
std::vector<float> converted(const std::vector<float>& values, const Shape& shape, Form form) {
  if (form == Form::kSame) return values;
  const bool is_matrix = shape.rank() == 2;
  const auto rows = static_cast<std::size_t>(shape[0]);
  const std::size_t columns = is_matrix ? static_cast<std::size_t>(shape[1]) : 1;
  const std::size_t stride = is_part(form) ? 3 * rows : rows;
  const std::size_t first =
      is_part(form)
          ? rows * (static_cast<std::size_t>(form) - static_cast<std::size_t>(Form::kFirst))
          : 0;
  std::vector<float> ours(rows * columns);
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t c = 0; c < columns; ++c)
      ours[r * columns + c] = values[c * stride + first + r];
  return ours;
}

struct Place {
  const SafetensorsFile* file = nullptr;
  std::string name;  // in the file
};
using Places = std::map<std::string, Place>;  // by the table's name

Result<Places> places_of(const HuggingFaceModel& model) {
  Places places;
  for (const SafetensorsFile& file : model.files)
    for (const auto& [tensor, entry] : file.entries()) {
      if (is_buffer(tensor)) continue;
      const std::string key = without_prefix(model.read.kind, tensor);
      const auto [at, is_new] = places.try_emplace(key, Place{&file, tensor});
      if (!is_new)
        return bad_input(fmt::format("{}: {} is in {} too; which of them is meant?", file.path(),
                                     tensor, at->second.file->path()));
    }
  // Written beside the table that it is tied to.
  if (model.config().architecture.tied_head) places.erase("lm_head.weight");
  return places;
}

Result<void> check_tensors(const HuggingFaceModel& model) {
  NB_TRY(const Places places, places_of(model));
  std::set<std::string> expected, present;
  const auto specs = parameter_specs(model.config());
  for (const ParameterSpec& spec : specs)
    expected.insert(source_of(model.read.kind, spec.name).name);
  for (const auto& [tensor, place] : places) present.insert(tensor);
  NB_TRY_VOID(check_tensor_names(
      expected, present, model.folder.string(),
      fmt::format("{} of {} layers (config.json)", name(model.read.kind), model.config().n_layer)));
  for (const ParameterSpec& spec : specs) {
    const Source source = source_of(model.read.kind, spec.name);
    const Place& place = places.at(source.name);
    const auto& entry = place.file->entries().at(place.name);
    if (const auto wanted = their_shape(spec.shape, source.form); entry.shape != wanted)
      return bad_input(fmt::format("{}: {} has shape [{}], config.json asks for [{}]",
                                   place.file->path(), place.name, fmt::join(entry.shape, ", "),
                                   fmt::join(wanted, ", ")));
  }
  return {};
}

// The shards that an index lists, in order of name.
Result<std::vector<std::string>> shards_of(const fs::path& index) {
  NB_TRY(const Json json, read_json(index));
  if (!json.is_object() || !json.contains("weight_map") || !json.at("weight_map").is_object())
    return bad_input(index.string() + ": has no \"weight_map\" of tensor and file");
  std::set<std::string> names;
  for (const auto& [tensor, file] : json.at("weight_map").items()) {
    const std::string text = file.is_string() ? file.get<std::string>() : "";
    if (text.empty() || fs::path(text).filename() != text)
      return bad_input(fmt::format("{}: /weight_map/{}: not the name of a file in the folder",
                                   index.string(), tensor));
    names.insert(text);
  }
  if (names.empty()) return bad_input(index.string() + ": /weight_map is empty");
  return std::vector<std::string>(names.begin(), names.end());
}

}  // namespace

bool is_hugging_face_folder(const std::filesystem::path& folder) {
  std::error_code error;
  const auto has = [&](const char* file) { return fs::is_regular_file(folder / file, error); };
  return has(kConfigFile) && (has(kWhole) || has(kIndex));
}

Result<HuggingFaceModel> open_hugging_face(const std::filesystem::path& folder) {
  HuggingFaceModel model;
  model.folder = folder;
  NB_TRY(const Json json, read_json(folder / kConfigFile));
  NB_TRY(model.read, parse_hugging_face_config(json, (folder / kConfigFile).string()));
  std::error_code error;
  std::vector<std::string> names = {kWhole};
  if (!fs::is_regular_file(folder / kWhole, error)) {
    NB_TRY(names, shards_of(folder / kIndex));
  }
  for (const std::string& file : names) {
    NB_TRY(SafetensorsFile opened, SafetensorsFile::open(folder / file, "download it again"));
    model.files.push_back(std::move(opened));
  }
  NB_TRY_VOID(check_tensors(model));
  return model;
}

std::string weights_digest(const HuggingFaceModel& model) {
  std::map<std::string, const SafetensorsEntry*> entries;
  for (const SafetensorsFile& file : model.files)
    for (const auto& [tensor, entry] : file.entries()) entries.emplace(tensor, &entry);
  Sha256 hash;
  hash.update(sha256_json(print_struct(model.config())) + "\n");
  for (const auto& [tensor, entry] : entries) {
    hash.update(
        fmt::format("{} {} {}\n", tensor, nb::name(entry->type), fmt::join(entry->shape, " ")));
    hash.update(entry->bytes);
  }
  return hash.hex();
}

Result<void> load_hugging_face(const HuggingFaceModel& model, Decoder& decoder) {
  NB_CHECK(decoder.config() == model.config(), "[hugging_face] a decoder of another model");
  NB_TRY(const Places places, places_of(model));
  for (Parameter& p : decoder.parameters()) {
    const Source source = source_of(model.read.kind, p.name);
    const Place& place = places.at(source.name);
    const Shape shape = p.value.shape();
    NB_TRY(const std::vector<float> values,
           place.file->read_floats(place.name, their_shape(shape, source.form)));
    ops::upload(decoder.device(), converted(values, shape, source.form), p.value, p.name);
  }
  return {};
}

}  // namespace nb
