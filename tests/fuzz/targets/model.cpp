// model: tokenizers, weights, token shards, texts and conversations to train on, device profiles.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "harness/base/check.hpp"
#include "harness/base/fs.hpp"
#include "harness/base/hash.hpp"
#include "model/data/corpus.hpp"
#include "model/data/tasks/conversation_json.hpp"
#include "model/data/tasks/gsm8k.hpp"
#include "model/data/tasks/multiple_choice.hpp"
#include "model/data/tasks/preference.hpp"
#include "model/data/tasks/word_list.hpp"
#include "model/data/token_shards.hpp"
#include "model/decoder/llama2c_file.hpp"
#include "model/decoder/presets.hpp"
#include "model/device/alloc_conf.hpp"
#include "model/device/calibration.hpp"
#include "model/device/device.hpp"
#include "model/device/node_links.hpp"
#include "model/device/profile.hpp"
#include "model/device/profile_layers.hpp"
#include "model/engine/calculator.hpp"
#include "model/predict/megatron_job.hpp"
#include "model/predict/megatron_memory.hpp"
#include "model/tokenizer/byte_tokenizer.hpp"
#include "model/tokenizer/tokenizer.hpp"
#include "model/tokenizer/vocabulary_files.hpp"
#include "model/train/adapter_file.hpp"
#include "model/train/checkpoint.hpp"
#include "model/train/hugging_face.hpp"
#include "model/train/safetensors.hpp"
#include "tests/fuzz/scratch.hpp"
#include "tests/fuzz/seals.hpp"
#include "tests/fuzz/seeds.hpp"
#include "tests/fuzz/target.hpp"
#include "tests/model/tokenizer/print_ranks.hpp"
#include "tests/support/decoder_golden.hpp"

namespace nb::test {
namespace {

std::string source_file(const char* name) {
  return must(read_file(fs::path(NB_SOURCE_DIR) / "model/device" / name));
}

// What a tokenizer that was taken must do with any text.
Result<void> use(Result<Vocabulary> vocabulary) {
  if (!vocabulary) return tl::unexpected(std::move(vocabulary).error());
  const Tokenizer tokenizer(std::move(*vocabulary));
  for (const std::string_view text : {"the cat  sat\n12345", "\xFF\xC3\x28", "\u4e2d\u6587 \u00e9"})
    NB_CHECK(tokenizer.decode_bytes(tokenizer.encode(text)) == text, "[tokenizer] \"{}\" changes",
             text);
  return {};
}

// The hash that our form carries, of what the rest of it says.
Result<void> fuzz_tokenizer_own(std::string_view bytes) {
  std::string text(bytes);
  if (auto first = parse_vocabulary_json(bytes, "f"); !first)
    if (auto json = parse_json(bytes, ""); json && json->is_object()) {
      // The refusal shows both hashes, the right one last.
      const std::string& message = first.error().message;
      for (std::size_t at = 0; at + 64 <= message.size(); ++at) {
        const std::string hash = message.substr(at, 64);
        if (hash.find_first_not_of("0123456789abcdef") != hash.npos) continue;
        (*json)["sha256"] = hash;
        const std::string fixed = json->dump(-1, ' ', false, Json::error_handler_t::replace);
        if (parse_vocabulary_json(fixed, "f")) text = fixed;
      }
    }
  return use(parse_vocabulary_json(text, "f"));
}

// Both files of GPT-2's form in one input: encoder.json, a line of "---", vocab.bpe.
Result<void> fuzz_tokenizer_gpt2(std::string_view bytes) {
  constexpr std::string_view kBetween = "\n---\n";
  const std::size_t at = std::min(bytes.find(kBetween), bytes.size());
  const std::string_view merges =
      at == bytes.size() ? std::string_view() : bytes.substr(at + kBetween.size());
  return use(parse_gpt2(bytes.substr(0, at), "encoder.json", merges, "vocab.bpe"));
}

Result<void> fuzz_tokenizer_file(std::string_view bytes) {
  NB_TRY(const Tokenizer tokenizer, Tokenizer::load(scratch_file("tokenizer/f", bytes)));
  return {};
}

Vocabulary small_vocabulary() {
  return byte_tokenizer(std::vector<std::string>{"th", "the", " the", "at"}).vocabulary();
}

// GPT-2's texts for bytes: printable ones are themselves, the others follow U+0100.
std::string gpt2_text(std::string_view bytes) {
  std::string text;
  int next = 256;
  std::vector<int> codes(256);
  for (int byte = 0; byte < 256; ++byte) {
    const bool is_plain = (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte != 0xAD);
    codes[static_cast<std::size_t>(byte)] = is_plain ? byte : next++;
  }
  for (const char c : bytes) {
    const int code = codes[static_cast<unsigned char>(c)];
    if (code < 0x80) {
      text += static_cast<char>(code);
    } else {
      text += static_cast<char>(0xC0 | code >> 6);
      text += static_cast<char>(0x80 | (code & 0x3F));
    }
  }
  return text;
}

Json gpt2_encoder() {
  Json encoder = Json::object();
  const Vocabulary vocabulary = small_vocabulary();
  for (std::size_t id = 0; id < vocabulary.tokens.size(); ++id)
    if (!vocabulary.tokens[id].empty()) encoder[gpt2_text(vocabulary.tokens[id])] = id;
  encoder["<|endoftext|>"] = 260;
  return encoder;
}

const std::vector<std::string>& gpt2_merges() {
  static const std::vector<std::string> kMerges = {"t h", "th e", "\u0120 the", "a t"};
  return kMerges;
}

std::string hugging_face_tokenizer() {
  const Json model = {{"type", "BPE"}, {"vocab", gpt2_encoder()}, {"merges", gpt2_merges()}};
  return Json{
      {"version", "1.0"},
      {"normalizer", nullptr},
      {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", true}}},
      {"decoder", {{"type", "ByteLevel"}}},
      {"added_tokens", {{{"id", 260}, {"content", "<|endoftext|>"}, {"special", true}}}},
      {"model", model}}
      .dump();
}

std::string llama2c_tokenizer() {
  std::string bytes;
  const auto put = [&](const auto& value) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  };
  put(std::int32_t{8});
  float score = 0;
  const auto piece = [&](std::string_view text, float its_score) {
    put(its_score);
    put(static_cast<std::int32_t>(text.size()));
    bytes += text;
  };
  for (const char* text : {"<unk>", "\n<s>\n", "\n</s>\n"}) piece(text, 0);
  for (int byte = 0; byte < 256; ++byte) piece(fmt::format("<0x{:02X}>", byte), 0);
  for (const char* text : {" t", "he", " the", "t", "h", "e", " ", "a"}) piece(text, score--);
  return bytes;
}

Result<SafetensorsFile> opened(const char* name, std::string_view bytes) {
  return SafetensorsFile::open(scratch_file(name, with_file_digest(std::string(bytes))));
}

Result<void> fuzz_safetensors(std::string_view bytes) {
  NB_TRY(const SafetensorsFile file, opened("safetensors/f.safetensors", bytes));
  for (const auto& [name, entry] : file.entries()) {
    const auto floats = file.read_floats(name, entry.shape);
    const auto doubles = file.read_doubles(name);
    const auto integers = file.read_integers(name);
  }
  return {};
}

DecoderConfig tiny_config() { return preset_config("llama", 1, 24, 8).value(); }

// A decoder that is made once: files are loaded into it, whatever they hold.
struct OnDevice {
  OnDevice() : device(fp32_profile(), ExecutionMode::kExecute), decoder(tiny_config(), device) {
    decoder.init(1);
  }
  Device device;
  Decoder decoder;
};
OnDevice& on_device() {
  static OnDevice* const kOne = new OnDevice;  // outlives whatever its device registered
  return *kOne;
}

Result<void> fuzz_checkpoint(std::string_view bytes) {
  NB_TRY(const SafetensorsFile file, opened("checkpoint/step_000001.safetensors", bytes));
  NB_TRY(const Json history, checkpoint_history(file));
  const auto steps = trained_steps(file);
  const auto tokenizer = trained_tokenizer(file);
  NB_TRY(const DecoderConfig config, read_model_config(file));
  NB_TRY_VOID(load_weights(file, on_device().decoder));
  NB_TRY(const LoadedRun run, load_checkpoint(file, on_device().decoder, {}, TrainingStage::kBase));
  return {};
}

std::vector<std::string> checkpoint_seeds() {
  const fs::path path = scratch_folder() / "checkpoint_seed/step_000001.safetensors";
  RunProgress progress;
  progress.step = 1;
  progress.train_time_ns = 5;
  const Json identity = {{"settings", {{"depth", 1}}},
                         {"data", "d"},
                         {"tokenizer", "t"},
                         {"seed", 1},
                         {"device", "ascend_910b3"}};
  must(save_checkpoint(path, on_device().decoder, {}, progress, Json{{"place", 3}}, identity));
  return {must(read_file(path))};
}

Result<void> fuzz_adapters(std::string_view bytes) {
  NB_TRY(const SafetensorsFile file, opened("adapters/a.safetensors", bytes));
  OnDevice fresh;
  NB_TRY_VOID(load_adapters(file, fresh.decoder));
  return {};
}

std::vector<std::string> adapter_seeds() {
  OnDevice trained;
  trained.decoder.adapters().add({.rank = 2, .alpha = 4, .targets = {"attn.c_v"}}, 1);
  const fs::path path = scratch_folder() / "adapter_seed/a.safetensors";
  must(save_adapters(path, trained.decoder));
  return {must(read_file(path))};
}

Result<void> fuzz_llama2c(std::string_view bytes) {
  NB_TRY(const Llama2cFile file, parse_llama2c_file(bytes, "f.bin"));
  if (file.config.n_layer > 4) return {};
  Device device(fp32_profile(), ExecutionMode::kExecute);
  Decoder decoder(file.config, device);
  load_llama2c(file, decoder);
  return {};
}

std::vector<std::string> llama2c_seeds() {
  std::string bytes;
  for (const std::int32_t size : {4, 4, 1, 2, 1, 3, 2})
    bytes.append(reinterpret_cast<const char*>(&size), sizeof size);
  const std::size_t values = 12 + 4 + 16 + 8 + 8 + 16 + 4 + 16 + 16 + 16 + 4 + 4;
  bytes.append(values * 4, '\0');
  return {bytes};
}

// config.json; where it is taken, beside weights that it does not fit.
Result<void> fuzz_hf_config(std::string_view bytes) {
  NB_TRY(const Json json, parse_json(bytes, "config.json"));
  NB_TRY(const HuggingFaceConfig config, parse_hugging_face_config(json, "config.json"));
  scratch_file("hf_config/config.json", bytes);
  scratch_file("hf_config/model.safetensors", std::string_view("\2\0\0\0\0\0\0\0{}", 10));
  const auto model = open_hugging_face(scratch_folder() / "hf_config");
  NB_CHECK(!model, "[hf_config] a model without tensors");
  return {};
}

constexpr const char* kLlamaConfig =
    R"({"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_act": "silu", "hidden_size": 8, "intermediate_size": 16, "max_position_embeddings": 16, "num_attention_heads": 2, "num_hidden_layers": 1, "num_key_value_heads": 1, "rms_norm_eps": 1e-05, "rope_theta": 500000.0, "tie_word_embeddings": false, "vocab_size": 12})";
constexpr const char* kGpt2Config =
    R"({"model_type": "gpt2", "activation_function": "gelu_new", "n_ctx": 16, "n_embd": 8, "n_head": 2, "n_layer": 1, "n_positions": 16, "vocab_size": 12, "layer_norm_epsilon": 1e-05})";

Result<void> fuzz_hf_index(std::string_view bytes) {
  scratch_file("hf_index/config.json", kLlamaConfig);
  scratch_file("hf_index/model.safetensors.index.json", bytes);
  scratch_file("hf_index/model-00001.safetensors", std::string_view("\2\0\0\0\0\0\0\0{}", 10));
  const auto model = open_hugging_face(scratch_folder() / "hf_index");
  // Of the shards nothing is left to be said: the index was taken.
  if (model || model.error().message.find("index.json") == std::string::npos) return {};
  return tl::unexpected(model.error());
}

// The last 32 bytes are the SHA-256 of all before them.
Result<void> fuzz_shards(std::string_view bytes) {
  constexpr std::size_t kDigest = 32;
  std::string file(bytes.substr(0, bytes.size() < kDigest ? 0 : bytes.size() - kDigest));
  Sha256 hash;
  hash.update(file);
  const std::string hex = hash.hex();
  for (std::size_t i = 0; i < kDigest; ++i)
    file += static_cast<char>(std::stoi(hex.substr(2 * i, 2), nullptr, 16));
  NB_TRY(const TokenShard shard, TokenShard::open(scratch_file("shards/f.bin", file)));
  std::vector<int> ids(std::min<std::size_t>(shard.tokens(), 4096));
  shard.copy(0, ids);
  for (const int id : ids) NB_CHECK(id >= 0 && id < shard.vocab_size(), "[shards] id {}", id);
  for (std::uint64_t d = 0; d < std::min<std::uint64_t>(shard.documents(), 4096); ++d)
    NB_CHECK(shard.document_start(d) <= shard.document_start(d + 1), "[shards] document {}", d);
  return {};
}

std::vector<std::string> shard_seeds() {
  std::vector<std::string> seeds;
  for (const std::int64_t vocab : {300, 100'000}) {
    const fs::path path = scratch_folder() / "shard_seed";
    must(TokenShard::from_ids({1, 2, 299, 4}, {0, 1, 4}, vocab, sha256_hex("t")).write(path));
    seeds.push_back(must(read_file(path)));
  }
  return seeds;
}

template <auto parse>
Result<void> fuzz_parse(std::string_view bytes) {
  const auto read = parse(bytes, "f");
  return read ? Result<void>{} : tl::unexpected(read.error());
}

template <auto parse>
FuzzTarget parse_target(const char* name, const char* reads, std::vector<std::string> seeds) {
  return {name, reads, "", fuzz_parse<parse>, [seeds] { return seeds; }};
}

Result<Documents> text_documents(std::string_view text, const std::string& where) {
  return parse_text_documents(text, where, 20);
}

Result<void> fuzz_conversations(std::string_view bytes) {
  NB_TRY(const auto conversations, parse_conversations(bytes, "f"));
  for (const Conversation& conversation : conversations) {
    const auto again = parse_conversations(conversation_json(conversation).dump(), "again");
    NB_CHECK(again && again->size() == 1 && again->front() == conversation,
             "[conversations] another one when read again");
  }
  return {};
}

Result<void> fuzz_gsm8k(std::string_view bytes) {
  NB_TRY(const auto items, parse_gsm8k(bytes, "f"));
  for (const Gsm8kItem& item : items) {
    conversation_of(item);
    NB_CHECK(is_right_answer(item.answer, item.answer), "[gsm8k] its own answer is wrong");
  }
  return {};
}

// What models write into a call of the calculator.
Result<void> fuzz_calculator(std::string_view bytes) {
  return use_calculator(bytes) ? Result<void>{} : bad_input("no value");
}

Result<void> fuzz_profile(std::string_view bytes) {
  NB_TRY(const DeviceProfile profile, load_profile(scratch_file("profile/f.json", bytes).string()));
  NB_TRY(const auto links, parse_node_links(bytes, "f"));
  profile.allocator_rules();
  profile.host_times();
  profile.memory_budget(8);
  return {};
}

Result<void> fuzz_family(std::string_view bytes) {
  NB_TRY(const Family family, load_family(scratch_file("family/f.json", bytes).string()));
  return {};
}

Result<void> fuzz_stack(std::string_view bytes) {
  NB_TRY(const DeviceProfile profile,
         load_profile("ascend_910b3", scratch_file("stack/f.json", bytes).string()));
  return {};
}

Result<void> fuzz_alloc_conf(std::string_view bytes) {
  const std::string text(bytes);
  const auto npu = parse_alloc_conf(text, OutOfMemoryWords::kNpu, "f");
  NB_TRY(const AllocConf conf, parse_alloc_conf(text, OutOfMemoryWords::kCuda, "f"));
  alloc_conf_note(conf);
  return {};
}

Result<void> fuzz_calibration(std::string_view bytes) {
  NB_TRY(const auto rows, parse_calibration(bytes, "f.csv"));
  for (const CalibrationRow& row : rows)
    for (const auto& [column, cell] : row.cells) {
      const auto number = row.number(column);
      const auto whole = row.whole(column);
    }
  return {};
}

// A model's sizes, and what a job of it takes.
Result<void> fuzz_megatron(std::string_view bytes) {
  NB_TRY(const Json json, parse_json(bytes, "f.json"));
  MegatronJob job;
  job.name = "f";
  NB_TRY(job.model, parse_struct<MegatronModel>(json, "f.json"));
  if (job.model.kv_heads == 0) job.model.kv_heads = job.model.heads;
  NB_TRY_VOID(check_job(job));
  job.model.parameter_count();
  return {};
}

}  // namespace

void add_model_targets(FuzzTargets& targets) {
  const auto text_seeds = [](std::string seed) { return [seed] { return std::vector{seed}; }; };
  targets.push_back({"tokenizer.own", "tokenizer.json of ours", "SHA-256 of the content",
                     fuzz_tokenizer_own,
                     [] { return std::vector{must(print_vocabulary_json(small_vocabulary()))}; }});
  targets.push_back({"tokenizer.ranks", "rank files of tiktoken", "",
                     [](std::string_view bytes) { return use(parse_ranks(bytes, "f")); },
                     [] { return std::vector{print_ranks(small_vocabulary())}; }});
  targets.push_back({"tokenizer.gpt2", "encoder.json and vocab.bpe", "", fuzz_tokenizer_gpt2, [] {
                       return std::vector{fmt::format("{}\n---\n#version: 0.2\n{}\n",
                                                      gpt2_encoder().dump(),
                                                      fmt::join(gpt2_merges(), "\n"))};
                     }});
  targets.push_back(
      {"tokenizer.hugging_face", "tokenizer.json of Hugging Face", "",
       [](std::string_view bytes) { return use(parse_hugging_face_tokenizer(bytes, "f")); },
       [] { return std::vector{hugging_face_tokenizer()}; }});
  targets.push_back({"tokenizer.llama2c", "tokenizer.bin of llama2.c", "",
                     [](std::string_view bytes) {
                       const auto read = parse_llama2c_tokenizer(bytes, "f");
                       return read ? Result<void>{} : tl::unexpected(read.error());
                     },
                     [] { return std::vector{llama2c_tokenizer()}; }});
  targets.push_back(
      {"tokenizer.any", "any file that --tokenizer takes", "", fuzz_tokenizer_file, [] {
         return std::vector{must(print_vocabulary_json(small_vocabulary())),
                            print_ranks(small_vocabulary()), hugging_face_tokenizer(),
                            llama2c_tokenizer()};
       }});
  targets.push_back({"safetensors", "any safetensors file", "file_sha256 computed anew",
                     fuzz_safetensors, adapter_seeds});
  targets.push_back({"checkpoint", "checkpoints", "file_sha256 computed anew", fuzz_checkpoint,
                     checkpoint_seeds});
  targets.push_back(
      {"adapters", "adapters", "file_sha256 computed anew", fuzz_adapters, adapter_seeds});
  targets.push_back({"llama2c", "models of llama2.c", "", fuzz_llama2c, llama2c_seeds});
  targets.push_back({"hf_config", "config.json of Hugging Face", "", fuzz_hf_config, [] {
                       return std::vector<std::string>{kLlamaConfig, kGpt2Config};
                     }});
  targets.push_back(
      {"hf_index", "model.safetensors.index.json", "", fuzz_hf_index,
       text_seeds(
           R"({"metadata": {"total_size": 8}, "weight_map": {"a": "model-00001.safetensors"}})")});
  targets.push_back(
      {"shards", "token shards", "SHA-256 at the end computed anew", fuzz_shards, shard_seeds});
  targets.push_back(parse_target<parse_jsonl_documents>(
      "corpus_jsonl", "texts to train on, .jsonl", {"{\"text\": \"one\"}\n\n{\"text\": \"\"}\n"}));
  targets.push_back(parse_target<text_documents>(
      "corpus_txt", "texts to train on, .txt",
      {"\xEF\xBB\xBF"
       "One paragraph here.\r\nTwo lines.\r\n\r\n \r\nAnother one.\r\n"}));
  targets.push_back(parse_target<parse_arc>(
      "arc", "ARC",
      {R"({"id": "M_1", "question": "Q?", "choices": {"text": ["a", "b"], "label": ["A", "B"]}, "answerKey": "B"})"}));
  targets.push_back(parse_target<parse_mmlu>(
      "mmlu", "MMLU of Hugging Face",
      {R"({"question": "Q?", "subject": "law", "choices": ["a", "b", "c", "d"], "answer": 3})",
       R"({"train": {"question": "Q?", "subject": "", "choices": ["a", "b", "c", "d"], "answer": 0}})"}));
  targets.push_back(
      {"gsm8k", "GSM8K", "", fuzz_gsm8k,
       text_seeds(R"({"question": "Q?", "answer": "It is <<9*2=18>>18.\n#### 18"})")});
  targets.push_back(
      {"conversations", "conversations to train on", "", fuzz_conversations, [] {
         return std::vector<std::string>{
             R"([{"role": "user", "content": "Hi"}, {"role": "assistant", "content": [{"type": "text", "text": "a"}, {"type": "python", "text": "1+1"}]}])",
             R"({"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]})"};
       }});
  targets.push_back(parse_target<parse_preferences>(
      "preferences", "preferences for DPO",
      {R"({"prompt": "Q?", "chosen": "a", "rejected": "b"})",
       R"({"chosen": [{"role": "user", "content": "Q"}, {"role": "assistant", "content": "a"}], "rejected": [{"role": "user", "content": "Q"}, {"role": "assistant", "content": "b"}]})"}));
  targets.push_back(
      parse_target<parse_word_list>("words", "lists of words to spell", {"cat\r\n dog \nbird\n"}));
  targets.push_back(
      {"calculator", "calls of the calculator that models write", "", fuzz_calculator, [] {
         return std::vector<std::string>{"(1 + 2.5) * 3 / -4", "'straw'.count('r')",
                                         "12345678901234567890 * 3"};
       }});
  targets.push_back(
      {"profile", "device profiles", "", fuzz_profile, [] {
         return std::vector{profile_text("ascend_910b3"), source_file("profiles/tiny.json")};
       }});
  targets.push_back({"stack", "software stacks", "", fuzz_stack,
                     [] { return std::vector{source_file("stacks/nanochat_npu.json")}; }});
  targets.push_back({"family", "families of fitted constants", "", fuzz_family,
                     [] { return std::vector{source_file("families/nanochat_npu.json")}; }});
  targets.push_back({"alloc_conf", "PYTORCH_NPU_ALLOC_CONF", "", fuzz_alloc_conf,
                     text_seeds("max_split_size_mb:128,garbage_collection_threshold:0.8")});
  targets.push_back(
      {"calibration", "measured rows of machines (CSV)", "", fuzz_calibration,
       text_seeds("id,use,reason,source,script,unit,value,m\na,fit,r,s,t,us,1.5,128\nb,report,r,s,"
                  "t,none,,\n")});
  targets.push_back(
      {"megatron", "sizes of a model for predict", "", fuzz_megatron,
       text_seeds(R"({"layers": 4, "width": 64, "hidden": 128, "heads": 4, "vocab": 1000})")});
}

}  // namespace nb::test
