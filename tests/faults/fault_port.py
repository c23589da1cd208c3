"""What somebody who ports the training gets wrong."""

from fault import TRAINER, Fault, both, gross, scaled
from plant import Edit

# What somebody who ports the training gets wrong.
PORT = (
    Fault(
        "targets_off_by_one",
        "port",
        "the model is asked for the token after the next",
        gross("red"),
        (
            Edit("model/data/loader.cpp", "std::vector<int> tokens(count + 1);", "std::vector<int> tokens(count + 2);"),
            Edit(
                "model/data/loader.cpp",
                "batch.targets.assign(tokens.begin() + 1, tokens.end());\n  tokens.pop_back();",
                "batch.targets.assign(tokens.begin() + 2, tokens.end());\n  tokens.resize(count);",
            ),
        ),
    ),
    Fault(
        "targets_are_inputs",
        "port",
        "the model is asked for the token it was just given",
        gross("red"),
        (
            Edit(
                "model/data/loader.cpp",
                "batch.targets.assign(tokens.begin() + 1, tokens.end());",
                "batch.targets.assign(tokens.begin(), tokens.end() - 1);",
            ),
        ),
    ),
    Fault(
        "no_warmdown",
        "port",
        "the learning rate never falls",
        {5: "worse"},
        (Edit("model/optim/schedules.cpp", "if (at <= n - warmdown) return 1;", "if (at <= n) return 1;"),),
    ),
    Fault(
        "seed_ignored",
        "port",
        "every seed starts from the weights of seed 1",
        {5: "same seeds"},
        (Edit(TRAINER, "model.decoder.init(settings.seed);", "model.decoder.init(1);"),),
    ),
    Fault(
        "gradients_of_one_micro_batch",
        "port",
        "gradients are not kept from one micro-batch to the next",
        {5: "red"},
        scaled("micro == 0 ? 0.0 : plan.loss_scale / micro_batches"),
    ),
    Fault(
        "adamw_beta1_of_pytorch",
        "port",
        "AdamW with beta1 0.9 instead of 0.8",
        {5: "not pass"},
        (Edit("model/optim/adamw.hpp", "double beta1 = 0.8;", "double beta1 = 0.9;"),),
    ),
    Fault(
        "adamw_beta2_of_pytorch",
        "port",
        "AdamW with beta2 0.999 instead of 0.95",
        {5: "worse"},
        (Edit("model/optim/adamw.hpp", "double beta2 = 0.95;", "double beta2 = 0.999;"),),
    ),
    Fault(
        "init_of_gpt2",
        "port",
        "every weight begins with a deviation of 0.02",
        {5: "worse"},
        (Edit("model/decoder/parameters.cpp", "rng.normal(index) * values.second",
              "rng.normal(index) * std::min(values.second, 0.02)"),),
    ),
    Fault(
        "embedding_lr_not_scaled",
        "port",
        "the embedding's learning rate is not scaled by the width",
        {5: "red"},
        (Edit("model/optim/groups.cpp", "rates.embedding_lr * width});", "rates.embedding_lr});"),),
    ),
    Fault(
        "attention_scale",
        "port",
        "attention scores are divided by the head's width instead of its root",
        {5: "red"},
        (
            Edit(
                "model/kernels/attention_shape.hpp",
                "1.0f / std::sqrt(static_cast<float>(s.head_dim))",
                "1.0f / static_cast<float>(s.head_dim)",
            ),
        ),
    ),
    Fault(
        "rotary_base_100",
        "port",
        "rotary embeddings with base 100 instead of 10000: what retrains with it is as good",
        both("metric"),
        (Edit("model/decoder/decoder.cpp", ".base = config.architecture.rotary_base", ".base = 100"),),
    ),
    Fault(
        "gold_shifted",
        "port",
        "the right answer of every choice item is the next choice",
        both("incomparable"),
        (
            Edit(
                "evals/core/microworld.cpp",
                'return {"", item.query, item.choices, "", item.gold};',
                'return {"", item.query, item.choices, "",\n'
                "          static_cast<int>((static_cast<std::size_t>(item.gold) + 1) % item.choices.size())};",
            ),
        ),
    ),
    Fault(
        "fewer_items",
        "port",
        "evaluation on fewer items, as a setting of the suite",
        both("incomparable"),
        settings=("/evaluations/0/max_per_task=100",),
    ),
    Fault(
        "tokenizer_of_other_text",
        "port",
        "the tokenizer is trained on the validation documents",
        both("incomparable"),
        (
            Edit(
                "harness/run/tokenizer_stage.cpp",
                'documents, read_split(context, "train.jsonl")',
                'documents, read_split(context, "val.jsonl")',
            ),
        ),
    ),
    Fault(
        "validation_not_rewound",
        "port",
        "each validation goes on where the one before stopped",
        both("metric"),
        (Edit("model/train/validation.cpp", 'NB_TRY_VOID(loader.restore(start), "validation data");',
              "static_cast<void>(start);"),),
    ),
    Fault(
        "evaluated_without_bos",
        "port",
        "prompts are encoded without <|bos|>",
        both("incomparable"),
        (
            Edit(
                "evals/core/evaluator.cpp",
                "tokenizer.encode_batch(prompts(i), tokenizer.bos())",
                "tokenizer.encode_batch(prompts(i))",
            ),
        ),
    ),
    Fault(
        "data_in_another_order",
        "port",
        "documents in reverse order: as good a training, but all seeds move alike",
        {5: "not pass"},
        (
            Edit("harness/run/shards_stage.cpp", "namespace nb {", "#include <algorithm>\n\nnamespace nb {"),
            Edit(
                "harness/run/shards_stage.cpp",
                "NB_TRY(const Documents documents, read_documents(source, /*document_chars=*/0));",
                "NB_TRY(Documents documents, read_documents(source, /*document_chars=*/0));\n"
                '  if (split == "train") std::reverse(documents.texts.begin(), documents.texts.end());',
            ),
        ),
    ),
)
