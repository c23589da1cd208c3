#include "harness/run/open_weights.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "harness/base/fs.hpp"
#include "harness/base/hash.hpp"
#include "harness/base/parallel.hpp"
#include "harness/run/checkpoint_digest.hpp"
#include "harness/run/foreign_file.hpp"
#include "harness/run/training_history.hpp"
#include "model/decoder/decoder.hpp"
#include "model/decoder/llama2c_file.hpp"
#include "model/device/device.hpp"
#include "model/engine/decoder_language_model.hpp"
#include "model/train/adapter_file.hpp"
#include "model/train/checkpoint.hpp"
#include "model/train/hugging_face.hpp"

namespace nb {
namespace {

constexpr const char* kTokenizerFile = "tokenizer.json";
constexpr const char* kLlamaTokenizerFile = "tokenizer.bin";
constexpr const char* kPairs[][2] = {{"vocab.json", "merges.txt"}, {"encoder.json", "vocab.bpe"}};

bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

struct DeviceAndDecoder {
  DeviceAndDecoder(const DeviceProfile& profile, const DecoderConfig& config)
      : device(profile, ExecutionMode::kExecute), decoder(config, device) {}
  Device device;
  Decoder decoder;
};

// A tokenizer's ids must all be known to the model.
Result<void> check_vocabulary_fits(const Tokenizer& tokenizer, const fs::path& tokenizer_file,
                                   std::int64_t vocab_size, const fs::path& model) {
  if (tokenizer.vocab_size() <= vocab_size) return {};
  return bad_input(fmt::format(
      "{}: {} tokens, but the model in {} has {}; give the model's own with --tokenizer",
      tokenizer_file.string(), tokenizer.vocab_size(), model.string(), vocab_size));
}

ScoreBatching batching_of(const ModelChoice& choice) {
  return {.max_rows = choice.batch, .share_prefixes = choice.shares_prefixes};
}

}  // namespace

Result<std::unique_ptr<Tokenizer>> load_tokenizer(const fs::path& path) {
  NB_TRY_VOID(check_tokenizer_path(path));
  NB_TRY(Tokenizer tokenizer, Tokenizer::load(path));
  return std::make_unique<Tokenizer>(std::move(tokenizer));
}

Result<fs::path> usual_tokenizer(const fs::path& folder) {
  const fs::path ours = folder / kTokenizerFile;
  if (is_there(ours)) return ours;
  return bad_input(
      fmt::format("there is no {} beside it; give its tokenizer with --tokenizer", kTokenizerFile));
}

Result<fs::path> hugging_face_tokenizer(const fs::path& folder) {
  for (const auto& [encoder, merges] : kPairs)
    if (is_there(folder / encoder) && is_there(folder / merges)) return folder / encoder;
  // Llama 2's tokenizer.json is SentencePiece's, which only llama2.c's form of it is read of.
  if (is_there(folder / kLlamaTokenizerFile)) return folder / kLlamaTokenizerFile;
  return usual_tokenizer(folder);
}

Result<fs::path> llama2c_tokenizer(const fs::path& folder) {
  if (is_there(folder / kLlamaTokenizerFile)) return folder / kLlamaTokenizerFile;
  return bad_input(fmt::format("there is no {} beside it; give its tokenizer with --tokenizer",
                               kLlamaTokenizerFile));
}

Result<OpenedModel> open_llama2c(const fs::path& path, const fs::path& tokenizer,
                                 const DeviceEntry& device, const ModelChoice& choice) {
  OpenedModel opened;
  opened.device = device.name;
  NB_TRY(opened.resolved, resolve_device(device, "--device"));
  NB_TRY(opened.tokenizer, load_tokenizer(tokenizer));
  NB_TRY(const Llama2cFile file, read_llama2c_file(path));
  NB_TRY_VOID(check_vocabulary_fits(*opened.tokenizer, tokenizer, file.config.vocab_size, path));
  NB_TRY(opened.weights, sha256_file(path));
  auto parts = std::make_shared<DeviceAndDecoder>(opened.resolved->profile, file.config);
  load_llama2c(file, parts->decoder);
  opened.model = std::make_unique<DecoderLanguageModel>(parts->decoder, *opened.tokenizer,
                                                        batching_of(choice));
  opened.decoder = &parts->decoder;
  opened.parts = std::move(parts);
  return opened;
}

Result<OpenedModel> open_hugging_face_folder(const fs::path& folder, const fs::path& tokenizer,
                                             const DeviceEntry& device, const ModelChoice& choice) {
  OpenedModel opened;
  opened.device = device.name;
  NB_TRY(opened.resolved, resolve_device(device, "--device"));
  NB_TRY(opened.tokenizer, load_tokenizer(tokenizer));
  NB_TRY(const HuggingFaceModel model, open_hugging_face(folder));
  NB_TRY_VOID(
      check_vocabulary_fits(*opened.tokenizer, tokenizer, model.config().vocab_size, folder));
  auto parts = std::make_shared<DeviceAndDecoder>(opened.resolved->profile, model.config());
  NB_TRY_VOID(load_hugging_face(model, parts->decoder));
  opened.weights = weights_digest(model);
  opened.model = std::make_unique<DecoderLanguageModel>(parts->decoder, *opened.tokenizer,
                                                        batching_of(choice));
  opened.decoder = &parts->decoder;
  opened.parts = std::move(parts);
  return opened;
}

Result<OpenedModel> open_checkpoint(const SafetensorsFile& checkpoint, const fs::path& tokenizer,
                                    const DeviceEntry& device, const ModelChoice& choice,
                                    const Record* training) {
  OpenedModel opened;
  opened.device = device.name;
  NB_TRY(opened.resolved, resolve_device(device, "--device"));
  NB_TRY(opened.tokenizer, load_tokenizer(tokenizer));
  NB_TRY(Json history, training_history(checkpoint, training));
  if (history.is_object()) {
    const Json trained_on = history.value("device", Json()), seed = history.value("seed", Json());
    if (trained_on.is_string()) opened.trained_on = trained_on.get<std::string>();
    if (seed.is_number_integer()) opened.seed = seed.get<std::int64_t>();
  }
  opened.checkpoint = std::move(history);
  NB_TRY(const DecoderConfig config, read_model_config(checkpoint));
  NB_TRY_VOID(
      check_vocabulary_fits(*opened.tokenizer, tokenizer, config.vocab_size, checkpoint.path()));
  NB_TRY(const std::string trained, trained_tokenizer(checkpoint));
  if (!trained.empty() && trained != opened.tokenizer->hash())
    return bad_input(fmt::format(
        "--tokenizer {}: not the one that the model was trained with ({} has another checksum)",
        tokenizer.string(), checkpoint.path()));
  auto parts = std::make_shared<DeviceAndDecoder>(opened.resolved->profile, config);
  Result<void> loaded;
  Result<std::string> digest = std::string();
  parallel_for(2, 1, [&](std::size_t half) {
    if (half == 0) loaded = load_model(checkpoint, parts->decoder);
    if (half == 1) digest = weights_digest(checkpoint);
  });
  NB_TRY_VOID(loaded);
  NB_TRY(opened.weights, digest);
  opened.model = std::make_unique<DecoderLanguageModel>(parts->decoder, *opened.tokenizer,
                                                        batching_of(choice));
  opened.decoder = &parts->decoder;
  opened.parts = std::move(parts);
  return opened;
}

}  // namespace nb
