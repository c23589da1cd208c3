#include "harness/suite/microbenchmarks.hpp"

namespace nb {
namespace {

constexpr MicrobenchmarkGroup kGroups[] = {
    {"matmul", "matrix products at the shapes of a training step"},
    {"attention", "causal attention, forward and backward"},
    {"norm", "RMS norm over the rows of a step, forward and backward"},
    {"loss", "soft-cap, softmax and cross-entropy over logits, forward and backward"},
    {"optimizer", "AdamW, Muon's momentum and Newton-Schulz on a model's parameters"},
    {"all_reduce", "gradient exchange over the emulated links"},
    {"step", "one training step of a small GPT"},
    {"tokenizer", "encoding of generated text, and of novels under GPT-2's vocabulary"},
    {"oracle", "our fp32 kernels against OpenBLAS: 20 training steps, 200 scored items"},
    {"predict", "a dry run of a training step at full scale"},
    {"engine", "prefill, decoding and few-shot scoring with a small GPT"},
};

}  // namespace

std::span<const MicrobenchmarkGroup> microbenchmark_groups() { return kGroups; }

}  // namespace nb
