#include "harness/run/foreign_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <system_error>
#include <vector>

#include "harness/base/ascii.hpp"
#include "harness/base/byte_order_mark.hpp"
#include "model/decoder/llama2c_file.hpp"
#include "model/train/hugging_face.hpp"

namespace nb {
namespace {

namespace fs = std::filesystem;
using std::string_view_literals::operator""sv;

constexpr std::size_t kHeadBytes = 4096;
constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;  // the safetensors format's own limit

unsigned byte_at(std::string_view head, std::size_t i) {
  return i < head.size() ? static_cast<unsigned char>(head[i]) : 0U;
}

// Signatures that stand at the first byte.
struct Signature {
  std::string_view bytes;
  const char* kind;
};
constexpr std::array kSignatures = {
    Signature{"GGUF"sv, "a GGUF model (llama.cpp)"},  // ggml docs/gguf.md: magic 0x46554747
    // llama.cpp before GGUF: magic 0x67676d6c, 0x67676d66, 0x67676a74, little-endian.
    Signature{"lmgg"sv, "a GGML model (llama.cpp before GGUF)"},
    Signature{"fmgg"sv, "a GGML model (llama.cpp before GGUF)"},
    Signature{"tjgg"sv, "a GGML model (llama.cpp before GGUF)"},
    // torch/serialization.py: MAGIC_NUMBER 0x1950a86a20f9469cfc6c as pickle's LONG1.
    Signature{"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19"sv,
              "a PyTorch checkpoint (torch.save before version 1.6)"},
    Signature{"\x1f\x8b"sv, "a gzip archive"},               // RFC 1952
    Signature{"\x28\xb5\x2f\xfd"sv, "a Zstandard archive"},  // RFC 8878
    Signature{"\xfd"
              "7zXZ\0"sv,
              "an xz archive"},  // xz file format 1.1.0
    Signature{"BZh"sv, "a bzip2 archive"},
    Signature{"\x89HDF\r\n\x1a\n"sv, "an HDF5 file (Keras)"},  // HDF5 format specification 3.0
    Signature{"\x93NUMPY"sv, "a NumPy array"},                 // numpy.lib.format
    Signature{"version https://git-lfs.github.com/spec/v1"sv,
              "a Git LFS pointer, not the file itself (git lfs pull fetches it)"},
    Signature{"IMOD"sv, "an Ascend offline model (.om)"},  // CANN: MODEL_FILE_MAGIC_NUM
    Signature{"24ka"sv, "a llama2.c model of version 1 or later (export it with version 0)"},
};

// A zip archive's first entry has its name at byte 30, its length at 26 (PKWARE APPNOTE 4.3.7).
// torch.save writes <name>/data.pkl first; numpy.savez writes <array>.npy.
std::string zip_kind(std::string_view head) {
  const std::size_t length = byte_at(head, 26) | byte_at(head, 27) << 8U;
  const std::string_view first =
      head.substr(std::min<std::size_t>(30, head.size())).substr(0, length);
  if (contains(head, "/data.pkl")) return "a PyTorch checkpoint (zip archive of torch.save)";
  if (first.ends_with(".npy")) return "a NumPy archive (.npz)";
  return "a zip archive";
}

// Protocol buffers: a tag is field number × 8 + wire type; 2: length and bytes, 0: a varint.
std::string protobuf_kind(std::string_view head) {
  // onnx.proto, ModelProto: ir_version = 1 (varint), then producer_name = 2, opset_import = 8 or
  // graph = 7.
  if (byte_at(head, 0) == 0x08 && byte_at(head, 1) >= 1 && byte_at(head, 1) < 32 &&
      (byte_at(head, 2) == 0x12 || byte_at(head, 2) == 0x3a || byte_at(head, 2) == 0x42))
    return "an ONNX model";
  if (byte_at(head, 0) != 0x0a) return "";
  std::size_t at = 1;
  while (byte_at(head, at) >= 0x80 && at < 6) ++at;  // the first message's length
  ++at;
  if (byte_at(head, at) != 0x0a) return "";  // its first field is a text
  const std::size_t length = byte_at(head, at + 1);
  const std::size_t next = at + 2 + length;
  if (length == 0 || length >= 0x80 || next >= head.size()) return "";
  // sentencepiece_model.proto: ModelProto.pieces = 1, of piece = 1 and score = 2 (float, tag 0x15).
  if (byte_at(head, next) == 0x15) return "a SentencePiece model";
  // mindspore checkpoint.proto: Checkpoint.value = 1, of tag = 1 and tensor = 2.
  if (byte_at(head, next) == 0x12) return "a MindSpore checkpoint (.ckpt)";
  return "";
}

std::string json_kind(std::string_view head) {
  if (contains(head, "\"weight_map\"")) return "the index of a sharded Hugging Face model";
  if (contains(head, "\"model_type\"") || contains(head, "\"architectures\""))
    return "a Hugging Face config.json";
  if (contains(head, "\"added_tokens\"") &&
      (contains(head, "\"truncation\"") || contains(head, "\"normalizer\"")))
    return "a Hugging Face tokenizer.json";
  if (contains(head, "\"tokenizer_class\"") || contains(head, "\"added_tokens_decoder\""))
    return "a Hugging Face tokenizer_config.json";
  return "a JSON file";
}

bool is_plain_text(std::string_view head) {
  return std::all_of(head.begin(), head.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0x20 || byte == '\n' || byte == '\r' || byte == '\t';
  });
}

std::string text_kind(std::string_view head) {
  head = without_byte_order_mark(head);
  const std::size_t first = head.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return "a file of blanks";
  const std::string begin = lowered(head.substr(first, 64));
  if (begin.starts_with("<!doctype html") || begin.starts_with("<html"))
    return "an HTML page (a download that a web page answered?)";
  if (begin.starts_with("{") || begin.starts_with("[")) return json_kind(head);
  return is_plain_text(head) ? "a text file" : "";
}

// The JSON header of a safetensors file follows its length, 8 bytes.
bool looks_like_safetensors(std::string_view head) {
  return head.size() > 8 && head[8] == '{' && byte_at(head, 5) == 0 && byte_at(head, 6) == 0 &&
         byte_at(head, 7) == 0;
}

std::string read_head(const fs::path& path, std::size_t most_bytes = kHeadBytes) {
  std::ifstream file(path, std::ios::binary);
  std::string head(most_bytes, '\0');
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  return head;
}

// Ours have a model_config in their metadata. A header that is cut short is left to the reader.
bool is_safetensors_of_others(const fs::path& path, std::string_view head) {
  std::uint64_t length = 0;
  for (std::size_t i = 8; i-- > 0;) length = length << 8U | byte_at(head, i);
  const std::string whole = read_head(path, 8 + std::min<std::uint64_t>(length, kMaxHeaderBytes));
  return whole.size() == 8 + length && !contains(whole, "\"model_config\"");
}

bool is_readable(const fs::path& path) { return std::ifstream(path, std::ios::binary).good(); }

struct Names {
  std::vector<std::string> all;
  bool has(std::string_view name) const {
    return std::find(all.begin(), all.end(), name) != all.end();
  }
  bool any(std::string_view start, std::string_view end) const {
    return std::any_of(all.begin(), all.end(), [&](const std::string& name) {
      return name.starts_with(start) && name.ends_with(end);
    });
  }
};

Names names_in(const fs::path& folder) {
  Names names;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    names.all.push_back(at->path().filename().string());
  return names;
}

constexpr const char* kModels =
    "--model takes a training's folder (results/runs/<suite>/train-…), a .safetensors checkpoint "
    "of npubench, a nanochat .pt after nanochat_capture.py --convert, a Hugging Face folder of "
    "gpt2 "
    "or llama (config.json and model.safetensors), a llama2.c model of version 0 (.bin), or "
    "oracle, "
    "chance, corrupted";
constexpr const char* kTokenizers =
    "--tokenizer takes a run's tokenizer.json, a rank file of tiktoken, GPT-2's encoder.json with "
    "vocab.bpe or vocab.json with merges.txt beside it, a Hugging Face tokenizer.json of "
    "byte-level BPE, or llama2.c's tokenizer.bin";

Result<void> refuse(const fs::path& path, const std::string& kind, const char* accepted) {
  return bad_input(
      fmt::format("{}: {}, which npubench does not read; {}", path.string(), kind, accepted));
}

}  // namespace

std::string kind_of_bytes(std::string_view head) {
  if (head.empty()) return "an empty file";
  for (const Signature& signature : kSignatures)
    if (head.starts_with(signature.bytes)) return signature.kind;
  if (head.starts_with("PK\x03\x04"sv)) return zip_kind(head);
  if (head.size() > 262 && head.substr(257, 5) == "ustar") return "a tar archive";  // POSIX ustar
  if (head.size() > 8 && head.substr(4, 4) == "TFL3") return "a TensorFlow Lite model";
  if (std::string kind = protobuf_kind(head); !kind.empty()) return kind;
  // Python pickle: PROTO opcode 0x80 and a protocol of 2 to 5.
  if (byte_at(head, 0) == 0x80 && byte_at(head, 1) >= 2 && byte_at(head, 1) <= 5)
    return "a Python pickle";
  return text_kind(head);
}

std::string kind_of_folder(const fs::path& folder) {
  const Names names = names_in(folder);
  if (names.has("adapter_config.json")) return "a folder of PEFT adapters";
  if (names.has("config.json") || names.any("model-", ".safetensors") ||
      names.any("pytorch_model", ".bin"))
    return "a Hugging Face model folder";
  if (names.any("model_", ".pt")) return "a checkpoint folder of nanochat (PyTorch)";
  if (names.has("latest_checkpointed_iteration.txt"))
    return "a checkpoint folder of Megatron or MindSpeed";
  if (names.has("saved_model.pb")) return "a TensorFlow SavedModel";
  return "";
}

Result<void> check_model_path(const fs::path& path) {
  std::error_code error;
  if (is_hugging_face_folder(path)) return {};
  if (fs::is_directory(path, error)) {
    const std::string kind = kind_of_folder(path);
    return kind.empty() ? Result<void>() : refuse(path, kind, kModels);
  }
  if (!is_readable(path) || is_llama2c_file(path)) return {};
  const std::string head = read_head(path);
  if (looks_like_safetensors(head)) {
    if (!is_safetensors_of_others(path, head)) return {};
    return refuse(path, "a safetensors file of another program (no model_config in its metadata)",
                  kModels);
  }
  const std::string kind = kind_of_bytes(head);
  if (!kind.empty()) return refuse(path, kind, kModels);
  if (path.extension() == ".safetensors") return {};  // damaged, and the reader says where
  return refuse(path, "no model that can be told by its first bytes", kModels);
}

Result<void> check_tokenizer_path(const fs::path& path) {
  std::error_code error;
  if (fs::is_directory(path, error) || !is_readable(path)) return {};
  const std::string head = read_head(path);
  if (looks_like_safetensors(head)) return refuse(path, "a safetensors file", kTokenizers);
  const std::string kind = kind_of_bytes(head);
  // Ours are text or JSON; an empty one is cut short, which the reader says.
  const std::array allowed = {"",
                              "a text file",
                              "a JSON file",
                              "a Hugging Face tokenizer.json",
                              "an empty file",
                              "a file of blanks"};
  if (std::find(allowed.begin(), allowed.end(), kind) != allowed.end()) return {};
  return refuse(path, kind, kTokenizers);
}

}  // namespace nb
