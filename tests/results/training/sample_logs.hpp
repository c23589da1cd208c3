// A small log of every trainer that results/training reads, written by hand.
#pragma once

#include <string>
#include <string_view>

namespace nb::test {

inline constexpr std::string_view kNanochat2025 =
    "Total batch size 524,288 => gradient accumulation steps: 1\n"
    "Step 00000 | Validation bpb: 3.2000\n"
    "step 00000/00300 (0.00%) | loss: 11.09 | lrm: 1.00 | dt: 23156.74ms | tok/sec: 22,640 | mfu: "
    "1.00 | total time: 0.00m\n"
    "step 00001/00300 (0.00%) | loss: 10.80 | grad norm: 1.5 | lrm: 0.50 | dt: 487.57ms | tok/sec: "
    "1,075,308 | mfu: 47.46 | total time: 0.00m\n"
    "Step 00000 | Validation loss: 1.500000\n"
    "Step 00000/00700 | Training loss: 1.234500| lrm: 1.000000| num_tokens: 4,096\n"
    "Step 00001/00700 | Training loss: 1.134500| lrm: 0.998571| num_tokens: 4,001\n"
    "Step 0/467 | Average reward: 0.125 | Average sequence length: 88.50\n"
    "Step 1/467 | Average reward: 0.25 | Average sequence length: 80.50\n";
inline constexpr std::string_view kNanochat2026 =
    "step 00007/00040 (17.50%) | loss: 8.710785 | lrm: 1.00 | dt: 460.10ms | tok/sec: 1,139,500 | "
    "bf16_mfu: 46.20 | epoch: 1 pq: 0 rg: 7 | total time: 0.05m | eta: 0.1m\n"
    "Step 00008 | CORE metric: 0.1234\n";
inline constexpr std::string_view kMegatron =
    "using world size: 16\n"
    "[2024-04-06 02:59:36] iteration       43/     100 | consumed samples:         5504 | elapsed "
    "time per iteration (ms): 5444.9 | throughput per GPU (TFLOP/s/GPU): 239.8 | learning rate: "
    "8.600000E-06 | global batch size:   128 | lm loss: 1.825991E+00 | load_balancing_loss: "
    "1.019746E+00 | loss scale: 1.0 | grad norm: 1.426 | number of skipped iterations:   0 | "
    "number "
    "of nan iterations:   0 |\n"
    "[Rank 0] (after 43 iterations) memory (MB) | allocated: 3270.16 | max allocated: 5670.50 | "
    "reserved: 6406.00 | max reserved: 6406.00\n"
    " iteration       44/     100 | consumed samples:         5632 | elapsed time per iteration "
    "(ms): 5533.8 | learning rate: 8.800000E-06 | lm loss: nan |\n"
    " validation loss at iteration 44 | lm loss value: 2.123000E+00 | lm loss PPL: 8.3E+00 | \n";
inline constexpr std::string_view kTorchtitan =
    "[rank0]:[titan] 2025-07-21 15:57:42,774 - root - INFO - \x1b[31mstep:  3  \x1b[32mloss:  "
    "4.9925  \x1b[33mgrad_norm:  2.6422  \x1b[36mmemory:  0.50GiB(0.63%)  \x1b[34mtps: 30,768  "
    "\x1b[36mtflops: 3.15  \x1b[35mmfu: 0.32%\x1b[39m\n"
    "[rank1]:[titan] 2025-07-21 15:57:42,774 - root - INFO - step:  3  loss: -1.0000  grad_norm: "
    " 2.6422  memory:  0.60GiB(0.63%)  tps: 30,700  tflops: 3.15  mfu: 0.32%\n"
    "[rank0]:[titan] 2025-07-21 15:57:44,000 - root - INFO - validate step:  4  loss:  5.1250  "
    "memory:  0.50GiB(0.63%)  tps: 40,000\n"
    "[rank0]:[titan] 2025-07-21 15:57:44,183 - root - INFO - step:  4  loss:  4.6671  grad_norm:  "
    "2.5457  memory:  0.50GiB(0.63%)  tps: 35,051  tflops: 3.59  mfu: 0.36%\n";
inline constexpr std::string_view kNanogpt =
    "print(f'step:{step}/{n} train_loss:{x}')\n"
    "step:0/20 val_loss:10.8258 train_time:0ms step_avg:nanms\n"
    "step:1/20 train_loss:10.8254 train_time:100ms step_avg:nanms\n"
    "step:3/20 train_loss:9.5000 train_time:300ms step_avg:100.00ms\n"
    "peak memory consumption: 1024 MiB\n";
inline constexpr std::string_view kTrainerState = R"({
  "best_metric": null,
  "epoch": 2.0,
  "global_step": 20,
  "is_world_process_zero": true,
  "log_history": [
    {"epoch": 1.0, "grad_norm": 1.25, "learning_rate": 1e-05, "loss": 2.5, "step": 10},
    {"epoch": 1.0, "eval_loss": 2.625, "eval_runtime": 3.1, "step": 10},
    {"epoch": 2.0, "grad_norm": NaN, "learning_rate": 5e-06, "loss": 2.25, "step": 20},
    {"epoch": 2.0, "step": 20, "total_flos": 1e15, "train_loss": 2.375, "train_runtime": 60.0}
  ],
  "max_steps": 20
})";
inline constexpr std::string_view kTrainerLines =
    R"({"current_steps": 5, "total_steps": 20, "loss": 2.5, "lr": 1e-05, "epoch": 0.5, "percentage": 25.0, "elapsed_time": "0:00:10", "remaining_time": "0:00:30", "throughput": 5000.5, "total_tokens": 50000, "vram_allocated": 2.0, "vram_reserved": 3.0}
{"current_steps": 10, "total_steps": 20, "eval_loss": 2.25, "epoch": 1.0, "percentage": 50.0, "elapsed_time": "0:00:20", "remaining_time": "0:00:20"}
)";
// clang-format off
inline constexpr std::string_view kSwift =
    R"x({"loss": 1.47077751, "grad_norm": 10.5625, "learning_rate": 2e-06, "token_acc": 0.65511727, "epoch": 0.01, "global_step/max_steps": "1/94", "elapsed_time": "2s", "remaining_time": "4m 28s", "memory(GiB)": 4.5, "train_speed(s/it)": 2.9}
{"loss": 1.58882141, "grad_norm": 10.75, "learning_rate": 1e-05, "token_acc": 0.61763144, "epoch": 0.05, "global_step/max_steps": "5/94", "elapsed_time": "10s", "remaining_time": "3m 12s", "memory(GiB)": 5.5, "train_speed(s/it)": 2.1}
{"eval_loss": 1.5, "eval_token_acc": 0.625, "eval_runtime": 0.9, "epoch": 0.05, "global_step/max_steps": "5/94", "elapsed_time": "11s", "remaining_time": "3m 12s", "memory(GiB)": 5.5, "train_speed(s/it)": 2.1}
{"train_runtime": 190.0, "train_loss": 1.5, "epoch": 1.0, "global_step/max_steps": "94/94", "elapsed_time": "3m 10s", "remaining_time": "0s", "memory(GiB)": 6.5, "train_speed(s/it)": 2.0}
{"last_model_checkpoint": "o/checkpoint-94", "best_metric": 1.5, "global_step": 94, "log_history": [{"loss": 1.47077751, "step": 1}], "memory": 6.5}
)x";
inline constexpr std::string_view kSwiftMegatron =
    R"x({"loss": 2.5, "grad_norm": 1.25, "learning_rate": 1e-05, "iteration": "5/100", "elapsed_time": "10s", "remaining_time": "3m", "memory(GiB)": 5.5, "train_speed(s/it)": 2.0}
{"loss": 2.25, "grad_norm": NaN, "learning_rate": 1e-05, "iteration": "10/100", "elapsed_time": "20s", "remaining_time": "3m", "memory(GiB)": 5.5, "train_speed(s/it)": 2.0}
{"loss": 2.0, "grad_norm": 1.0, "learning_rate": 1e-05, "iteration": "8/100", "elapsed_time": "2s", "remaining_time": "3m", "memory(GiB)": 5.5, "train_speed(s/it)": 2.0}
)x";
// clang-format on
inline constexpr std::string_view kWandb =
    "\"Step\",\"d20 - train/loss\",\"d20 - train/loss__MIN\",\"d20 - train/loss__MAX\",\"d20 - b - "
    "train/loss\"\n"
    "\"0\",\"10.82\",\"10.82\",\"10.82\",\"10.5\"\n"
    "\"100\",\"5.91\",\"5.91\",\"5.91\",\"\"\n";
inline constexpr std::string_view kTensorboard =
    "Wall time,Step,Value\n1700000000.1,0,10.5\n1700000001.1,10,6.25\n";
inline constexpr std::string_view kSteps = "step,loss,lr,note\n1,2.5,0.001,warm\n2,2.25,0.002,\n";

struct SampleLog {
  const char* format;
  std::string_view text;
  const char* file;
};
inline constexpr SampleLog kSampleLogs[] = {
    {"nanochat training log", kNanochat2025, "a.log"},
    {"nanochat training log", kNanochat2026, "a.log"},
    {"Megatron-LM training log (MindSpeed-LLM, ModelLink)", kMegatron, "a.log"},
    {"torchtitan training log", kTorchtitan, "a.log"},
    {"modded-nanogpt training log", kNanogpt, "a.txt"},
    {"Hugging Face trainer_state.json", kTrainerState, "trainer_state.json"},
    {"LLaMA-Factory trainer_log.jsonl", kTrainerLines, "trainer_log.jsonl"},
    {"ms-swift logging.jsonl", kSwift, "logging.jsonl"},
    {"ms-swift logging.jsonl", kSwiftMegatron, "logging.jsonl"},
    {"wandb chart (CSV)", kWandb, "chart.csv"},
    {"TensorBoard chart (CSV)", kTensorboard, "run-d20-tag-train_loss.csv"},
    {"curve by step (CSV)", kSteps, "steps.csv"},
};

// An event file, made by a program of its own (struct, CRC-32C bit by bit), not by the reader's
// code. Steps 0, 10, 20: train/loss (simple_value) 10.5, 6.25, 5; train/lr (double in
// tensor_content) .001 (step + 1); at 20 eval/loss (float_val of a tensor) 5.125 and a histogram.
inline constexpr std::string_view kEventFileHex =
    "1800000000000000a37f4b220900000040fc54d9411a0d627261696e2e4576656e743a32eced8f9d3a0000000000"
    "00001295eae20900000040fc54d94110002a2d0a110a0a747261696e2f6c6f737315000028410a180a0874726169"
    "6e2f6c72420c08022208fca9f1d24d62503fc4ba9d863a000000000000001295eae20900008042fc54d941100a2a"
    "2d0a110a0a747261696e2f6c6f7373150000c8400a180a08747261696e2f6c72420c08022208ba490c022b87863f"
    "941fa6ce3a000000000000001295eae20900000045fc54d94110142a2d0a110a0a747261696e2f6c6f7373150000"
    "a0400a180a08747261696e2f6c72420c080222081b2fdd240681953fcbcb28293200000000000000241956ec0900"
    "000045fc54d94110142a250a230a096576616c2f6c6f73734209080112002d0000a4404a0b0a090a077363616c61"
    "72730f66e2d81c00000000000000c8c1951d0900000045fc54d94110142a0f0a0d0a09686973746f6772616d2a00"
    "459a1499";

inline std::string event_bytes() {
  std::string bytes;
  const auto nibble = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  for (std::size_t i = 0; i < kEventFileHex.size(); i += 2)
    bytes += static_cast<char>(nibble(kEventFileHex[i]) * 16 + nibble(kEventFileHex[i + 1]));
  return bytes;
}

}  // namespace nb::test
