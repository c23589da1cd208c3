// A training run of seconds: a byte-level tokenizer, generated text, a d1 or d2 model.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "model/data/loader.hpp"
#include "model/data/token_shards.hpp"
#include "model/device/device.hpp"
#include "model/tokenizer/byte_tokenizer.hpp"
#include "model/train/base_stage.hpp"

namespace nb::test {

// What a hook throws to end a run early, as if it had been killed.
struct Killed {};

struct TinyData {
  Tokenizer tokenizer;
  std::vector<TokenShard> train, validation;
};

inline TinyData tiny_data() {
  TinyData data{nb::byte_tokenizer(), {}, {}};
  const auto text = [](int seed) {
    const char* subjects[] = {"The cat", "A dog", "My friend", "The old man"};
    const char* verbs[] = {" sees ", " likes ", " finds "};
    const char* objects[] = {"a red ball.", "the sea.", "some bread.", "two birds.", "a tree."};
    std::string out;
    for (int i = 0; i < 6; ++i) {
      const int n = seed * 7 + i * i * 3;
      out += std::string(subjects[n % 4]) + verbs[(n / 2) % 3] + objects[(n / 3) % 5] + " ";
    }
    return out;
  };
  std::vector<std::string> train;
  std::vector<std::string> validation;
  for (int i = 0; i < 40; ++i) train.push_back(text(i));
  for (int i = 0; i < 4; ++i) validation.push_back(text(1000 + i));
  data.train.push_back(TokenShard::encode(train, data.tokenizer));
  data.validation.push_back(TokenShard::encode(validation, data.tokenizer));
  return data;
}

inline TrainSettings tiny_settings() {
  TrainSettings settings;
  settings.depth = 1;
  settings.sequence_len = 32;
  settings.device_batch_size = 2;
  settings.total_batch_tokens = 128;  // two micro-batches
  settings.iterations = 8;
  settings.eval_every = 3;
  settings.eval_tokens = 200;  // three batches
  settings.sample_every = 5;
  settings.checkpoint_every = 2;
  settings.seed = 7;
  return settings;
}

// One run in `folder` on a fresh device of `profile`.
inline Result<TrainResult> run_tiny(const TinyData& data, const TrainSettings& settings,
                                    const std::filesystem::path& folder,
                                    const TrainHooks& hooks = {},
                                    const std::string& profile = "ascend_910b3",
                                    const PortDefects& defects = {}) {
  NB_TRY(TokenLoader train_loader, TokenLoader::create(data.train));
  NB_TRY(TokenLoader validation_loader, TokenLoader::create(data.validation));
  NB_TRY(DeviceProfile device_profile, load_profile(profile));
  Device device(std::move(device_profile), ExecutionMode::kExecute);
  return train(settings, device, {train_loader, validation_loader, data.tokenizer}, folder, hooks,
               defects);
}

}  // namespace nb::test
