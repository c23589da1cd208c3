"""Changes of the program that must change keys: no record made before may be reused after them.

`kinds` are the kinds of node that run what is changed; each must get another key (those of parents count, as a
node's key holds its parents'). `verb`: `npubench eval` of a trained model must run again too.
"""

from dataclasses import dataclass

from plant import Edit

# A function that nothing calls: the unit's object changes, no result does.
NEW_FUNCTION = "\nnamespace nb {\nint planted_function();\nint planted_function() { return 1; }\n}  // namespace nb\n"

ALL = ("dataset", "tokenizer", "shards", "train", "eval", "micro", "predict")


@dataclass(frozen=True)
class KeyFault:
    name: str
    group: str
    plants: str
    kinds: tuple
    edits: tuple = ()
    verb: bool = False
    cmake: tuple = ()  # options of the configuration
    refusal: str = ""  # the program may also refuse to run at all, with these words


def changed(file, kinds, verb=False):
    return KeyFault(
        file.replace("/", "_").rsplit(".", 1)[0], "stale", f"another function in {file}", kinds,
        (Edit(file, "", NEW_FUNCTION),), verb,
    )


def flags(file, sources, options):
    return Edit(file, "", f'\nset_source_files_properties({sources} PROPERTIES {options})\n')


FAST = "-Ofast;-mfma;-ffp-contract=fast;-Wno-error"

KEY_FAULTS = (
    KeyFault(
        "load_weights_scaled",
        "stale",
        "weights are multiplied by 1.05 when they are loaded",
        ("eval",),
        (
            Edit(
                "model/train/checkpoint.cpp",
                "NB_TRY(const std::vector<float> values, file.read_floats(p.name, sizes_of(p.value)));\n"
                "    ops::upload(decoder.device(), values, p.value, p.name);",
                "NB_TRY(std::vector<float> values, file.read_floats(p.name, sizes_of(p.value)));\n"
                "    for (float& value : values) value *= 1.05F;\n"
                "    ops::upload(decoder.device(), values, p.value, p.name);",
            ),
        ),
        verb=True,
    ),
    changed("harness/run/write_evaluation.cpp", ("eval",), verb=True),
    changed("harness/run/partial_items.cpp", ("eval",), verb=True),
    changed("harness/run/open_model.cpp", (), verb=True),
    changed("harness/run/evaluation.cpp", (), verb=True),
    changed("harness/run/checkpoint_digest.cpp", ("train", "eval"), verb=True),
    changed("results/store/series.cpp", ("train",)),
    changed("results/store/items.cpp", ("eval",), verb=True),
    changed("harness/base/json_io.cpp", ALL, verb=True),
    changed("evals/base/choice.cpp", ("eval",), verb=True),
    changed("model/data/loader.cpp", ("train",)),
    changed("model/tokenizer/tokenizer.cpp", ("tokenizer", "shards", "train", "eval"), verb=True),
    # --- flags -----------------------------------------------------------------------------------------------
    KeyFault(
        "fast_math_on_nine_files",
        "flags",
        "-Ofast -mfma -ffp-contract=fast on nine files that every node runs, as COMPILE_OPTIONS of sources",
        ALL,
        (
            flags("harness/base/CMakeLists.txt", "portable_math.cpp portable_special.cpp rng.cpp",
                  f'COMPILE_OPTIONS "{FAST}"'),
            flags("model/kernels/CMakeLists.txt",
                  "adamw.cpp muon.cpp reduce.cpp rotary.cpp lm_head.cpp cross_entropy.cpp",
                  f'COMPILE_OPTIONS "{FAST}"'),
        ),
        verb=True,
    ),
    KeyFault(
        "fast_math_as_compile_flags",
        "flags",
        "the same on one file, as COMPILE_FLAGS of the source",
        ("train", "eval", "micro"),
        (flags("model/kernels/CMakeLists.txt", "rms_norm.cpp",
               'COMPILE_FLAGS "-Ofast -ffp-contract=fast -Wno-error"'),),
        verb=True,
    ),
    KeyFault(
        "fast_math_of_a_target",
        "flags",
        "-ffast-math as an option of the library of bits per byte",
        ("train",),
        (Edit("model/data/CMakeLists.txt", "", "\ntarget_compile_options(nb_data PRIVATE -ffast-math -Wno-error -Wno-error=invalid-pch)\n"),),
    ),
    KeyFault(
        "fast_math_of_the_build",
        "flags",
        "-ffast-math for everything, as CMAKE_CXX_FLAGS of the configuration (builds everything anew)",
        ALL,
        cmake=("-DCMAKE_CXX_FLAGS=-ffast-math",),
        verb=True,
        refusal="[float mode]",  # GCC's crtfastmath.o turns flush-to-zero on
    ),
)
