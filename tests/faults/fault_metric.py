"""Faults of the program that measures."""

from fault import TRAINER, Fault, both
from plant import Edit

# The program that measures is broken; the weights are the same.
METRIC = (
    Fault(
        "sum_instead_of_mean",
        "metric",
        "a choice's score is the sum of its log-probabilities, not their mean",
        both("metric"),
        (
            Edit(
                "evals/base/choice.cpp",
                "return static_cast<float>(sum / static_cast<double>(log_probs.size()));",
                "return static_cast<float>(sum);",
            ),
        ),
    ),
    Fault(
        "val_bpb_half",
        "metric",
        "bits per byte on half of the validation tokens",
        both("metric"),
        (Edit(TRAINER, "settings_.eval_tokens / batch_tokens", "settings_.eval_tokens / batch_tokens / 2"),),
    ),
    Fault(
        "first_token_dropped",
        "metric",
        "the mean log-probability of a choice leaves out its first token",
        both("metric"),
        (
            Edit(
                "evals/base/choice.cpp",
                "for (const float value : log_probs) sum += static_cast<double>(value);",
                "if (log_probs.size() > 1) log_probs = log_probs.subspan(1);\n"
                "  for (const float value : log_probs) sum += static_cast<double>(value);",
            ),
        ),
    ),
    Fault(
        "perplexity_for_bits",
        "metric",
        "bits per byte in nats: the division by ln 2 is missing",
        both("metric"),
        (
            Edit(
                "model/data/bits_per_byte.cpp",
                "return nats_ / (kLn2 * static_cast<double>(bytes_));",
                "return (kLn2 / kLn2) * nats_ / static_cast<double>(bytes_);",
            ),
        ),
    ),
)
