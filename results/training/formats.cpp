#include <algorithm>
#include <array>

#include "results/training/training_log.hpp"

namespace nb {
namespace {

constexpr auto kFormats = std::to_array<TrainingFormat>({
    {"TensorBoard event file", "TensorBoard",
     "tensorflow/tensorboard @ 00bd827c4: tensorboard/compat/proto", is_event_file,
     read_event_file},
    {"Hugging Face trainer_state.json", "Hugging Face Trainer",
     "huggingface/transformers @ 55093b758: src/transformers/trainer_callback.py", is_trainer_state,
     read_trainer_state},
    {"LLaMA-Factory trainer_log.jsonl", "LLaMA-Factory",
     "hiyouga/LLaMA-Factory @ 0583d0667: src/llamafactory/train/callbacks.py", is_trainer_lines,
     read_trainer_lines},
    {"ms-swift logging.jsonl", "ms-swift",
     "modelscope/ms-swift @ 3602360a: swift/trainers/patcher.py, swift/megatron/callbacks/print.py",
     is_swift_lines, read_swift_lines},
    {"wandb chart (CSV)", "wandb", "docs.wandb.ai: export of a chart", is_wandb_csv,
     read_wandb_csv},
    {"TensorBoard chart (CSV)", "TensorBoard",
     "tensorflow/tensorboard @ 81c420dbd: tensorboard/plugins/scalar/scalars_plugin.py",
     is_tensorboard_csv, read_tensorboard_csv},
    {"curve by step (CSV)", "curve by step", "columns step, train_loss, learning_rate, …",
     is_steps_csv, read_steps_csv},
    {"Megatron-LM training log (MindSpeed-LLM, ModelLink)", "Megatron-LM",
     "NVIDIA/Megatron-LM @ 86df799dc: megatron/training/training.py", is_megatron_log,
     read_megatron_log},
    {"torchtitan training log", "torchtitan",
     "pytorch/torchtitan @ 00fbaafa6: torchtitan/components/metrics.py", is_torchtitan_log,
     read_torchtitan_log},
    {"nanochat training log", "nanochat",
     "karpathy/nanochat @ 3a5e0bc to 92d63d4: scripts/base_train.py, chat_sft.py, chat_rl.py",
     is_nanochat_log, read_nanochat_log},
    {"modded-nanogpt training log", "modded-nanogpt",
     "KellerJordan/modded-nanogpt @ f411b3d34: records/track_1_short", is_nanogpt_log,
     read_nanogpt_log},
});

constexpr std::size_t kPart = std::size_t{1} << 20;  // bytes, then to the end of the line

}  // namespace

std::span<const TrainingFormat> training_formats() { return kFormats; }

const TrainingFormat* training_format_of(const LogText& log) {
  std::string_view rest = log.bytes;
  bool is_text = true;
  for (bool is_first = true; !rest.empty() && is_text; is_first = false) {
    std::size_t size = std::min(rest.size(), kPart);
    if (size < rest.size()) {
      const std::size_t end = rest.find('\n', size);
      size = end == rest.npos || end > size + kPart ? size : end + 1;
    }
    const std::string_view part = rest.substr(0, size);
    for (const TrainingFormat& format : kFormats)
      if (format.recognises(part, is_first)) return &format;
    // What begins as JSON or holds a zero byte is no log of lines.
    if (is_first) {
      const std::size_t begin = part.find_first_not_of(" \t\r\n");
      is_text = part.find('\0') == part.npos && (begin == part.npos || part[begin] != '{');
    }
    rest.remove_prefix(size);
    if (log.file != nullptr) log.file->passed(rest.data());
  }
  return nullptr;
}

}  // namespace nb
