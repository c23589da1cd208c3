// Weights and a tokenizer → a model on an emulated device: a checkpoint of ours or a captured one,
// a Hugging Face folder, llama2.c's file. For open_model.cpp, which knows how users name them.
#pragma once

#include <filesystem>
#include <memory>

#include "harness/base/result.hpp"
#include "harness/run/open_model.hpp"
#include "harness/suite/device_entry.hpp"
#include "model/tokenizer/tokenizer.hpp"
#include "model/train/safetensors.hpp"
#include "results/store/record.hpp"

namespace nb {

// bad_input says what the file is when it is no tokenizer that we read.
Result<std::unique_ptr<Tokenizer>> load_tokenizer(const std::filesystem::path& path);
// The tokenizer that lies beside weights: tokenizer.json; in a Hugging Face folder rather GPT-2's
// pair or llama2.c's tokenizer.bin, where they are there. The error says that none is.
Result<std::filesystem::path> usual_tokenizer(const std::filesystem::path& folder);
Result<std::filesystem::path> hugging_face_tokenizer(const std::filesystem::path& folder);
Result<std::filesystem::path> llama2c_tokenizer(const std::filesystem::path& folder);

// label and name of what they return are empty. training: of the checkpoint, where its record is at
// hand, else nullptr.
Result<OpenedModel> open_checkpoint(const SafetensorsFile& checkpoint,
                                    const std::filesystem::path& tokenizer,
                                    const DeviceEntry& device, const ModelChoice& choice,
                                    const Record* training);
Result<OpenedModel> open_hugging_face_folder(const std::filesystem::path& folder,
                                             const std::filesystem::path& tokenizer,
                                             const DeviceEntry& device, const ModelChoice& choice);
Result<OpenedModel> open_llama2c(const std::filesystem::path& path,
                                 const std::filesystem::path& tokenizer, const DeviceEntry& device,
                                 const ModelChoice& choice);

}  // namespace nb
