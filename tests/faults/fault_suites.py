"""Faults that whole suites must name, and roundings that they must not (suites.py)."""

from fault import Fault, both
from plant import Edit

# Small faults that whole suites must name (suites.py); `want` is that of the nightly.
ESCAPED = (
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
                ".weight_decay = group.parameter->role == ParameterRole::kEmbedding ? 0.01 : rules_.weight_decay,",
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
                "  Parameter& p = *group.parameter;\n  ops::adamw(",
                "  Parameter& p = *group.parameter;\n"
                "  if (p.role == ParameterRole::kEmbedding && device_.executes())\n"
                "    for (float& g : p.grad.host()) g = std::clamp(g, -1e-4F, 1e-4F);\n"
                "  ops::adamw(",
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
        both("worse"),
        (
            Edit(
                "evals/humaneval/program.cpp",
                'return fmt::format("{}\\n\\n{}", leading_imports(problem.prompt), extract_code(text));',
                'return fmt::format("\\n\\n{}", extract_code(text));',
            ),
        ),
        more="program_imports",
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
)

# Other bits and nothing else; green in every suite.
ROUNDING = (
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
                "(kOrdinary ? ordinary_exp(load(s + at)) : vec_exp(load(s + at))) / sum;",
                "(kOrdinary ? ordinary_exp(load(s + at)) : vec_exp(load(s + at))) * (all(1.0f) / sum);",
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
