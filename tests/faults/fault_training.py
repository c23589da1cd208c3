"""Gross changes of the training, and small ones that go the same way with every seed."""

from fault import STAGE, TRAINER, Fault, gross, scaled
from plant import Edit

# Gross changes, seen with one seed.
TRAINING = (
    Fault(
        "trained_on_validation",
        "training",
        "the training shard is the validation shard",
        gross("red"),
        (Edit(STAGE, 'TokenShard::open(data / "train.tokens")', 'TokenShard::open(data / "val.tokens")'),),
    ),
    Fault(
        "attention_mask_leak",
        "training",
        "training attention sees one token ahead; evaluation through the cache does not",
        gross("red"),
        (
            Edit(
                "model/kernels/inner/attention.hpp",
                "namespace nb::kernels::inner {",
                "namespace nb::kernels::inner {\ninline thread_local std::int64_t leaked_keys = 0;",
            ),
            Edit(
                "model/kernels/inner/attention_lanes.hpp",
                "return first_lanes(clamped(key - position));",
                "return first_lanes(clamped(key - position - ::nb::kernels::inner::leaked_keys));",
            ),
            Edit(
                "model/kernels/attention.cpp",
                "packed.attend(of_head, scale, shape.window, ahead.get());",
                "inner::leaked_keys = 1;\n      packed.attend(of_head, scale, shape.window, ahead.get());\n"
                "      inner::leaked_keys = 0;",
            ),
            Edit(
                "model/kernels/attention_backward.cpp",
                "format_.tiles.backward({.q = q_lanes_.words(),",
                "inner::leaked_keys = 1;\n    format_.tiles.backward({.q = q_lanes_.words(),",
            ),
            Edit(
                "model/kernels/attention_backward.cpp",
                "const ToFp32 dq(format_.table, row_block(head.dq, first, count));",
                "inner::leaked_keys = 0;\n"
                "    const ToFp32 dq(format_.table, row_block(head.dq, first, count));",
            ),
        ),
    ),
    Fault(
        "last_micro_batch_lost",
        "training",
        "the gradient of a step's last micro-batch is not added",
        gross("red"),
        scaled("micro + 1 < plan.accumulation_steps ? plan.loss_scale / micro_batches : 0.0"),
    ),
    Fault(
        "residual_gradient_lost",
        "training",
        "the second gradient that reaches a tensor is dropped: residuals pass none back",
        gross("red"),
        (Edit("model/autograd/tape.cpp", "add_gradient(gradients[to], of_inputs[k]);",
              "static_cast<void>(&add_gradient);"),),
    ),
    Fault(
        "lr_half",
        "training",
        "every learning rate × 0.5",
        gross("red"),
        (Edit(TRAINER, "lr_multiplier(schedule, step),", "0.5 * lr_multiplier(schedule, step),"),),
    ),
    Fault(
        "oracle_to_corrupted",
        "training",
        "the model that is always right gives way to the one that is always wrong",
        {1: "worse"},
        models=("oracle", "corrupted"),
    ),
    Fault(
        "fewer_steps",
        "training",
        "30 steps only, as a setting of the suite",
        gross("worse"),
        settings=("/stages/base/iterations=30",),
        more=r"iterations",
    ),
)

# Small, but the same way with every seed.
SEEDS = (
    Fault(
        "last_micro_batch_twice",
        "seeds",
        "the gradient of a step's last micro-batch counts twice",
        {5: "red"},
        scaled("micro + 1 < plan.accumulation_steps ? plan.loss_scale / micro_batches : 2.0 / micro_batches"),
    ),
)
