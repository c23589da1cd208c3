// Says what a file or folder of another program is, where one of ours was expected: told by its
// first bytes, never by its name. Opens no model. Pure functions of the file system; thread-safe.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "harness/base/result.hpp"

namespace nb {

// "a PyTorch checkpoint (zip archive of torch.save)", "a GGUF model (llama.cpp)", "an HTML page",
// "an empty file", …; empty when the bytes are none of the known kinds. head: the file's first
// bytes, 4096 are enough; sources of the signatures stand in the table.
std::string kind_of_bytes(std::string_view head);
// The same for folders, by the files in them: Hugging Face, nanochat, Megatron, TensorFlow, PEFT.
std::string kind_of_folder(const std::filesystem::path& folder);

// bad_input that names what the path is and what --model accepts, unless it may be one of ours: a
// .safetensors file, llama2.c's form, or a folder that is no other program's. Files that cannot be
// read are left to the reader.
Result<void> check_model_path(const std::filesystem::path& path);
// The same for --tokenizer: our tokenizer.json, tiktoken's ranks, GPT-2's pair, llama2.c's form.
Result<void> check_tokenizer_path(const std::filesystem::path& path);

}  // namespace nb
