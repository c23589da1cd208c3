// A file of another program, given as a model or a tokenizer, is called what it is, in one message
// with what is accepted. Headers are those of the formats' own specifications (foreign_file.cpp
// names them), written by hand.
#include "harness/run/foreign_file.hpp"

#include <gtest/gtest.h>

#include "harness/base/fs.hpp"
#include "harness/run/open_model.hpp"
#include "tests/support/temp_dir.hpp"

namespace nb {
namespace {

using test::TempDir;
using std::string_literals::operator""s;

struct Foreign {
  const char* file;
  std::string bytes;
  const char* kind;
};

// A zip archive's local file header (PKWARE APPNOTE 4.3.7): version 0, stored, sizes 0, a name.
std::string zip_of(const std::string& name) {
  return "PK\x03\x04\x00\x00\x00\x08\x00\x00\x00\x00\x00\x00"s + std::string(12, '\0') +
         static_cast<char>(name.size()) + "\0\0\0"s + name + "content";
}

std::string safetensors_of(const std::string& header) {
  return static_cast<char>(header.size()) + "\0\0\0\0\0\0\0"s + header;
}

std::vector<Foreign> foreign_models() {
  return {
      {"model_000650.pt", zip_of("archive/data.pkl"),
       "a PyTorch checkpoint (zip archive of torch.save)"},
      {"pytorch_model.bin", zip_of("pytorch_model/data.pkl"),
       "a PyTorch checkpoint (zip archive of torch.save)"},
      {"old.pt", "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.\x80\x02M\xe9\x03."s,
       "a PyTorch checkpoint (torch.save before version 1.6)"},
      {"weights.npz", zip_of("wte.npy"), "a NumPy archive (.npz)"},
      {"model.zip", zip_of("readme.txt"), "a zip archive"},
      {"q4.gguf", "GGUF\x03\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"s,
       "a GGUF model (llama.cpp)"},
      {"old.ggml.bin", "tjgg\x03\x00\x00\x00"s + std::string(32, '\1'),
       "a GGML model (llama.cpp before GGUF)"},
      {"tokenizer.model", "\x0a\x0e\x0a\x05<unk>\x15\x00\x00\x00\x00\x18\x02\x0a\x0c"s,
       "a SentencePiece model"},
      {"net.onnx", "\x08\x07\x12\x07pytorch\x1a\x05"s, "an ONNX model"},
      {"net.ckpt", "\x0a\xac\x02\x0a\x0awte.weight\x12\x9d\x02"s, "a MindSpore checkpoint (.ckpt)"},
      {"net.om", "IMOD" + std::string(64, '\0'), "an Ascend offline model (.om)"},
      {"tokenizer.pkl", "\x80\x04\x95\x10\x00\x00\x00\x00\x00\x00\x00\x8c\x08"s, "a Python pickle"},
      {"model.bin.gz", "\x1f\x8b\x08\x00"s, "a gzip archive"},
      {"model.tar", "ckpt/" + std::string(252, '\0') + "ustar\0"s + "00", "a tar archive"},
      {"model.h5", "\x89HDF\r\n\x1a\n\0"s, "an HDF5 file (Keras)"},
      {"download.bin", "\n<!DOCTYPE html>\n<html><head>",
       "an HTML page (a download that a web page answered?)"},
      {"model.safetensors",
       "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 134\n",
       "a Git LFS pointer, not the file itself (git lfs pull fetches it)"},
      {"empty.bin", "", "an empty file"},
      {"config.json", R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama"})",
       "a Hugging Face config.json"},
      {"model.safetensors.index.json", R"({"metadata": {}, "weight_map": {}})",
       "the index of a sharded Hugging Face model"},
      {"notes.txt", "the model lies on the other disk\n", "a text file"},
      {"version1.bin", "24ka\x01\x00\x00\x00"s + std::string(248, '\0'),
       "a llama2.c model of version 1 or later (export it with version 0)"},
      {"hf.safetensors", safetensors_of(R"({"__metadata__":{"format":"pt"}})"),
       "a safetensors file of another program (no model_config in its metadata)"},
      {"noise.bin", "\xc3\x28\xff\xfe\x01\x02\x03\x04 no format at all \x05"s,
       "no model that can be told by its first bytes"},
  };
}

TEST(ForeignFile, AForeignModelIsCalledWhatItIsWithWhatIsAccepted) {
  const TempDir folder;
  for (const Foreign& one : foreign_models()) {
    const fs::path path = folder.path() / one.file;
    ASSERT_TRUE(write_file(path, one.bytes));
    ModelChoice choice;  // no device, no tokenizer: neither is asked for first
    choice.model = path.string();
    const auto opened = open_model(choice);
    ASSERT_FALSE(opened) << one.file;
    EXPECT_EQ(opened.error().code, ErrorCode::kBadInput);
    EXPECT_EQ(opened.error().message,
              path.string() + ": " + one.kind +
                  ", which npubench does not read; --model takes a training's folder "
                  "(results/runs/<suite>/train-…), a .safetensors checkpoint of npubench, a "
                  "nanochat .pt after nanochat_capture.py --convert, a Hugging Face folder of gpt2 "
                  "or llama (config.json and model.safetensors), a llama2.c model of version 0 "
                  "(.bin), or oracle, chance, corrupted")
        << one.file;
  }
}

TEST(ForeignFile, AForeignFolderIsCalledWhatItIs) {
  struct Folder {
    std::vector<const char*> files;
    const char* kind;
  };
  const std::vector<Folder> folders = {
      {{"config.json", "pytorch_model.bin", "tokenizer.json"}, "a Hugging Face model folder"},
      {{"pytorch_model-00001-of-00002.bin"}, "a Hugging Face model folder"},
      {{"adapter_config.json", "adapter_model.safetensors"}, "a folder of PEFT adapters"},
      {{"model_000650.pt", "meta_000650.json", "optim_000650.pt"},
       "a checkpoint folder of nanochat (PyTorch)"},
      {{"latest_checkpointed_iteration.txt"}, "a checkpoint folder of Megatron or MindSpeed"},
      {{"saved_model.pb"}, "a TensorFlow SavedModel"},
  };
  for (const Folder& one : folders) {
    const TempDir folder;
    for (const char* file : one.files) ASSERT_TRUE(write_file(folder.path() / file, "x"));
    ModelChoice choice;
    choice.model = folder.path().string();
    const auto opened = open_model(choice);
    ASSERT_FALSE(opened);
    EXPECT_TRUE(opened.error().message.starts_with(folder.path().string() + ": " + one.kind +
                                                   ", which npubench does not read; --model takes"))
        << opened.error().message;
  }
}

// With the vocabulary beside it, under the folder's name.
TEST(ForeignFile, AHuggingFaceFolderIsAModel) {
  ModelChoice choice;
  choice.model = (fs::path(NB_SOURCE_DIR) / "tests/golden/hugging_face/gpt2").string();
  const auto homeless = open_model(choice);
  ASSERT_FALSE(homeless);
  EXPECT_NE(homeless.error().message.find("give --device"), std::string::npos);
  choice.device = "ascend_910b3";
  const auto opened = open_model(choice);
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_EQ(opened->name, "gpt2");
  EXPECT_EQ(opened->tokenizer->vocab_size(), 260);
  EXPECT_EQ(opened->model->context_length(), 128);
  EXPECT_EQ(opened->weights.size(), 64u);
  choice.model = (fs::path(NB_SOURCE_DIR) / "tests/golden/hugging_face/llama").string();
  const auto llama = open_model(choice);
  ASSERT_TRUE(llama) << llama.error().message;
  EXPECT_EQ(llama->tokenizer->bos(), 259);  // <|begin_of_text|> of its tokenizer.json
}

TEST(ForeignFile, AForeignTokenizerIsCalledWhatItIs) {
  const TempDir folder;
  const std::vector<Foreign> foreign = {
      {"tokenizer.model", "\x0a\x0e\x0a\x05<unk>\x15\x00\x00\x00\x00\x18\x02\x0a\x0c"s,
       "a SentencePiece model"},
      {"tokenizer.pkl", "\x80\x04\x95\x10\x00\x00\x00\x00\x00\x00\x00\x8c\x08"s, "a Python pickle"},
      {"m.safetensors", safetensors_of(R"({"__metadata__":{}})"), "a safetensors file"},
      {"t.html", "<html>", "an HTML page (a download that a web page answered?)"},
  };
  for (const Foreign& one : foreign) {
    const fs::path path = folder.path() / one.file;
    ASSERT_TRUE(write_file(path, one.bytes));
    const auto checked = check_tokenizer_path(path);
    ASSERT_FALSE(checked) << one.file;
    EXPECT_EQ(checked.error().message,
              path.string() + ": " + one.kind +
                  ", which npubench does not read; --tokenizer takes a run's tokenizer.json, a "
                  "rank file of tiktoken, GPT-2's encoder.json with vocab.bpe or vocab.json with "
                  "merges.txt beside it, a Hugging Face tokenizer.json of byte-level BPE, or "
                  "llama2.c's tokenizer.bin");
  }
}

TEST(ForeignFile, WhatMayBeOursIsLeftToItsReader) {
  const TempDir folder;
  const std::vector<Foreign> ours = {
      // 7 int32 of llama2.c's header: dim 4, hidden 8, 1 layer, 2 heads, 2 key-value heads, 8
      // tokens, 16 positions.
      {"stories.bin", "\x04\0\0\0\x08\0\0\0\x01\0\0\0\x02\0\0\0\x02\0\0\0\x08\0\0\0\x10\0\0\0"s,
       ""},
      {"ours.safetensors", safetensors_of(R"({"__metadata__":{"model_config":"{}"}})"), ""},
      {"cut.safetensors", safetensors_of(R"({"__metadata__":{"mod)").substr(0, 12), ""},
      {"damaged.safetensors", "\xff\xff\xff\xff\xff\xff\xff\xff\x01\x02"s, ""},
  };
  for (const Foreign& one : ours) {
    ASSERT_TRUE(write_file(folder.path() / one.file, one.bytes));
    const auto checked = check_model_path(folder.path() / one.file);
    EXPECT_TRUE(checked) << checked.error().message;
  }
  EXPECT_TRUE(check_model_path(folder.path()));  // a folder of no program that is known
  for (const char* text : {"{\"a\": 1}", "IQ== 0\nIg== 1\n", "#version: 0.2\n", ""}) {
    ASSERT_TRUE(write_file(folder.path() / "t", text));
    EXPECT_TRUE(check_tokenizer_path(folder.path() / "t")) << text;
  }
}

}  // namespace
}  // namespace nb
