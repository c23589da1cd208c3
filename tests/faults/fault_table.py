"""The faults: what each plants, with how many seeds it is run, and what the gate must say.

A fault is planted as edits of the sources (plant.py), as settings of the suite, or as another built-in model.
`want` is a key of VERDICTS; where fewer seeds may honestly say less, `want` has one entry for each number of
seeds.
"""

from dataclasses import dataclass

from plant import Edit

# What a gate may answer: exit codes, and words of its first line (a regular expression).
VERDICTS = {
    # Something broke, in either direction.
    "red": ({1}, r"REGRESSED|SUSPICIOUS"),
    # It broke, and the scores rose or the loss fell.
    "too good": ({1}, r"SUSPICIOUS"),
    "worse": ({1}, r"REGRESSED"),
    # Same weights, other figures: the program that measures has changed, not the model.
    "metric": ({1, 3}, r"(?i)evaluator|numerics|metric"),
    # Not the same question any more.
    "incomparable": ({3}, r"INCOMPARABLE"),
    # Anything but a silent PASS: too small a change for so few seeds.
    "not pass": ({0, 1}, r"(?i)can't tell|INCONCLUSIVE|REGRESSED|SUSPICIOUS"),
    # All candidate seeds are one run under five names.
    "same seeds": ({1, 3, 4}, r"(?i)seeds?"),
    # A change that cannot matter.
    "green": ({0}, r"PASS|IMPROVED|can't tell"),
    # Too small a change for so few seeds, or for this suite: whatever it says.
    "any": ({0, 1, 3}, r""),
}


@dataclass(frozen=True)
class Fault:
    name: str
    group: str  # the command that runs it: bash tests/faults/run.sh <group>
    plants: str  # what it does, in one line
    want: dict  # number of seeds → key of VERDICTS
    edits: tuple = ()
    settings: tuple = ()  # --set of npubench run
    models: tuple = ()  # (baseline, candidate): built-in models instead of trainings
    more: str = ""  # words that the output must hold besides (a regular expression)


def both(want):
    return {1: want, 5: want}


def gross(want):
    """Seen with one seed as well as with four and five."""
    return {1: want, 4: want, 5: want}


STEP = "model/train/step.cpp"
TRAINER = "model/train/base_stage.cpp"
STAGE = "harness/run/train_stage.cpp"
SCALE = "decoder.loss_and_backward(batch.inputs, batch.targets, batch.rows, batch.length, 1.0 / micro_batches)"


def scaled(factor):
    """The gradient's scale of one micro-batch replaced; device time and memory stay."""
    return (Edit(STEP, SCALE, SCALE.replace("1.0 / micro_batches", factor)),)


FAULTS = (
    # --- metric: the program that measures is broken; the weights are the same -------------------------------
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
    # --- training: gross changes, seen with one seed ---------------------------------------------------------
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
        scaled("micro + 1 < plan.accumulation_steps ? 1.0 / micro_batches : 0.0"),
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
    # --- seeds: small, but the same way with every seed ------------------------------------------------------
    Fault(
        "last_micro_batch_twice",
        "seeds",
        "the gradient of a step's last micro-batch counts twice",
        {5: "red"},
        scaled("micro + 1 < plan.accumulation_steps ? 1.0 / micro_batches : 2.0 / micro_batches"),
    ),
    # --- port: what somebody who ports the training gets wrong -----------------------------------------------
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
        scaled("micro == 0 ? 0.0 : 1.0 / micro_batches"),
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
    # --- escaped: small faults that whole suites must name (suites.py); `want` is that of the nightly ------------
    Fault(
        "mask_wrong_in_last_block",
        "escaped",
        "in training the last block sees half of the sequence; evaluation through the cache sees all of it",
        {1: "any", 5: "red"},
        (
            Edit(
                "model/decoder/whole_pass.cpp",
                ".window = config_.window(layer)},",
                ".window = layer + 1 == config_.n_layer ? time_ / 2 : config_.window(layer)},",
            ),
        ),
    ),
    Fault(
        "muon_momentum_constant",
        "escaped",
        "Muon's momentum is 0.95 from the first step on, not from the 300th",
        {1: "any", 5: "red"},
        (
            Edit(
                "model/optim/schedules.cpp",
                "return (1 - fraction) * 0.85 + fraction * 0.95;",
                "return (1 - fraction) * 0.95 + fraction * 0.95;",
            ),
        ),
        more="procedure changed",
    ),
    Fault(
        "four_newton_schulz_steps",
        "escaped",
        "Muon's iteration ends one step early",
        {1: "any", 5: "red"},
        (
            Edit(
                "model/kernels/muon.cpp",
                "for (int step = 0; step < settings.steps; ++step) iterate(w, settings, rounding);",
                "for (int step = 1; step < settings.steps; ++step) iterate(w, settings, rounding);",
            ),
        ),
        more="procedure changed",
    ),
    Fault(
        "rate_falls_late",
        "escaped",
        "the learning rate of BASE begins to fall at half of the warmdown",
        both("red"),
        (
            Edit(
                "model/optim/schedules.cpp",
                "const double warmdown = std::nearbyint(schedule.warmdown_ratio * n);",
                "const double warmdown = std::nearbyint(0.5 * schedule.warmdown_ratio * n);",
            ),
        ),
        more="lr_multiplier",
    ),
    Fault(
        "weight_decay_on_embeddings",
        "escaped",
        "AdamW decays the embeddings by 0.01, as PyTorch does where nobody says otherwise",
        {1: "any", 5: "red"},
        (
            Edit(
                "model/optim/adamw.cpp",
                ".weight_decay = rules_.weight_decay,",
                ".weight_decay = p.role == ParameterRole::kEmbedding ? 0.01 : rules_.weight_decay,",
            ),
        ),
    ),
    Fault(
        "loader_repeats_first_group",
        "escaped",
        "the loader of BASE reads its first row group twice",
        both("red"),
        (
            Edit(
                "model/data/loader.cpp",
                "  if (loader.total_ == 0)",
                "  if (!loader.ranges_.empty()) loader.ranges_.insert(loader.ranges_.begin(), loader.ranges_.front());\n"
                "  if (loader.total_ == 0)",
            ),
        ),
        more="other tokens were read",
    ),
    Fault(
        "embedding_gradient_capped",
        "escaped",
        "every element of the embeddings' gradient is limited to 1e-4 before AdamW",
        {1: "any", 5: "red"},
        (
            Edit(
                "model/optim/adamw.cpp",
                "  Parameter& p = *group.parameter;\n  const kernels::AdamWSettings",
                "  Parameter& p = *group.parameter;\n"
                "  if (p.role == ParameterRole::kEmbedding && device_.executes())\n"
                "    for (float& g : p.grad.host()) g = std::clamp(g, -1e-4F, 1e-4F);\n"
                "  const kernels::AdamWSettings",
            ),
            Edit("model/optim/adamw.cpp", "#include <utility>", "#include <algorithm>\n#include <utility>"),
        ),
    ),
    Fault(
        "core_centred_otherwise",
        "escaped",
        "centred scores take away 0.8 of the share of guessing",
        both("incomparable"),
        (
            Edit(
                "evals/base/eval_metrics.cpp",
                "double centred(double accuracy, double baseline_percent) {",
                "double centred(double accuracy, double baseline_percent) {\n  baseline_percent *= 0.8;",
            ),
        ),
        more="metric itself changed",
    ),
    Fault(
        "imports_missing",
        "escaped",
        "programs of HumanEval run without the imports of their prompt",
        both("any"),
        (
            Edit(
                "evals/humaneval/program.cpp",
                'return fmt::format("{}\\n\\n{}", leading_imports(problem.prompt), extract_code(text));',
                'return fmt::format("\\n\\n{}", extract_code(text));',
            ),
        ),
    ),
    Fault(
        "kernels_slower",
        "escaped",
        "every kernel takes 4 % longer in simulated time",
        both("worse"),
        (
            Edit(
                "model/device/cost_model.cpp",
                "cost.time_ns = round_ns(launch_ns + busy);",
                "cost.time_ns = round_ns(1.04 * (launch_ns + busy));",
            ),
        ),
        more="ns|tok/s",
    ),
    # --- rounding: other bits and nothing else; green in every suite --------------------------------------------
    Fault(
        "weights_one_part_in_a_million",
        "rounding",
        "every weight begins larger by 1e-6",
        both("green"),
        (Edit("model/decoder/parameters.cpp", "rng.normal(index) * values.second",
              "rng.normal(index) * values.second * 1.000001"),),
    ),
    Fault(
        "norm_squares_unfused",
        "rounding",
        "RMS norm rounds each square before it adds it, and divides by the root instead of multiplying by its inverse",
        both("green"),
        (
            Edit("model/kernels/inner/norms.cpp", "return fma(v, v, acc);", "return v * v + acc;"),
            Edit(
                "model/kernels/inner/norms.cpp",
                "v[c] = load_lanes(x + i + 16 * c, lanes) * all(rstd);",
                "v[c] = load_lanes(x + i + 16 * c, lanes) / all(1.0f / rstd);",
            ),
        ),
    ),
    Fault(
        "softmax_by_reciprocal",
        "rounding",
        "attention multiplies by the rounded inverse of a row's sum instead of dividing by the sum, forward and backward",
        both("green"),
        (
            Edit(
                "model/kernels/inner/attention.cpp",
                "const Floats x = (load(sums + i * stride + j) + all(0.0f)) / divisor;",
                "const Floats x = (load(sums + i * stride + j) + all(0.0f)) * (all(1.0f) / divisor);",
            ),
            Edit(
                "model/kernels/inner/attention_gradient.hpp",
                "(kCalm ? calm_exp(load(s + at)) : vec_exp(load(s + at))) / sum;",
                "(kCalm ? calm_exp(load(s + at)) : vec_exp(load(s + at))) * (all(1.0f) / sum);",
            ),
        ),
    ),
    Fault(
        "adamw_multiplies_first",
        "rounding",
        "AdamW multiplies by the rate before it divides",
        both("green"),
        (
            Edit(
                "model/kernels/inner/elementwise.cpp",
                "rounded<decltype(rp)::value>(value - step * (first / (root + epsilon)));",
                "rounded<decltype(rp)::value>(value - (step * first) / (root + epsilon));",
            ),
            Edit(
                "model/kernels/inner/elementwise.cpp",
                "const Floats update = rounded<kState>(step * rounded<kState>(first / denominator));",
                "const Floats update = rounded<kState>(rounded<kState>(step * first) / denominator);",
            ),
        ),
    ),
    Fault(
        "muon_normalised_by_reciprocal",
        "rounding",
        "Muon multiplies by the rounded inverse of a matrix's norm instead of dividing by the norm",
        both("green"),
        (
            Edit(
                "model/kernels/muon.cpp",
                "table.divide(w.x.row(i), w.x.cols, divisor, w.x.row(i), rounding);",
                "table.scale(w.x.row(i), w.x.cols, round(1.0f / divisor), w.x.row(i), rounding);",
            ),
        ),
    ),
)
