#!/usr/bin/env python3
"""Records a nanochat run on real hardware so that npubench can compare, gate and report it.

  python nanochat_capture.py --out captures/h100 -m scripts.base_train -- --depth=4 --num-iterations=100
  python nanochat_capture.py --out captures/npu -m scripts.base_eval --name base
  python nanochat_capture.py --out models/d20 --convert base_checkpoints/d20/model_021400.pt
  npubench compare captures/h100 captures/npu

One file that needs only torch. It runs the module unchanged, from nanochat's folder, on CUDA, on an NPU (torch_npu)
or on the CPU, listens to it, and writes a run folder: loss and rates of each step, times as nanochat measures them,
peak memory, seed, versions, tokenizer, every item of CORE with the log-probabilities of its choices. --convert turns
a checkpoint into safetensors, which `npubench eval --model FOLDER --device ascend_910b3` evaluates; it needs no run.
Under torchrun rank 0 writes. OUT/machine says what `npubench doctor OUT` reads: variables, packages, versions, npu-smi,
memory and what each rank printed; --profile N adds OUT/profile for `npubench profile`.
In a loop of your own: `with Capture("captures/mine", "base") as capture:`.
"""
import argparse
import base64
import collections
import contextlib
import ctypes
import datetime
import fractions
import functools
import hashlib
import importlib
import importlib.metadata
import importlib.util
import json
import math
import os
import pathlib
import pickle
import platform
import random
import re
import runpy
import shutil
import statistics
import subprocess
import sys
import time
import traceback
import zipfile

try:
    import torch
except ImportError as failure:  # --help and what is wrong with a command are said without it
    torch, TORCH_IS_MISSING = None, str(failure)

RECORD_SCHEMA = 2  # results/store/record.hpp of npubench
NOT_FINITE = "not finite"  # results/store/items.hpp


class BadInput(Exception):
    """One sentence for the user: what, where, what to try."""


# --- bytes: JSON as npubench hashes it, safetensors, files that appear whole ------------------------------------------


def number_text(x):
    """A double as npubench's writer of JSON prints it, on which a record's checksum depends.

    That is Grisu2 (Loitsch 2010, as nlohmann/json has it), which seldom has a digit more than Python's shortest form.
    """
    if x == 0:
        return "-0.0" if math.copysign(1, x) < 0 else "0.0"
    digits, exponent = grisu2(abs(x))
    point = len(digits) + exponent  # digits before the decimal point
    if len(digits) <= point <= 15:
        text = digits + "0" * exponent + ".0"
    elif 0 < point <= 15:
        text = digits[:point] + "." + digits[point:]
    elif -4 < point <= 0:
        text = "0." + "0" * -point + digits
    else:
        text = digits[0] + ("." + digits[1:] if len(digits) > 1 else "") + f"e{point - 1:+03d}"
    return ("-" if x < 0 else "") + text


def normal(f, e):  # 64 bits
    shift = 64 - f.bit_length()
    return f << shift, e - shift


@functools.lru_cache(None)
def power_of_ten(k):
    """10^k = f · 2^e with 64 bits, rounded to nearest."""
    exact = fractions.Fraction(10) ** k
    e = exact.numerator.bit_length() - exact.denominator.bit_length() - 64
    while exact / fractions.Fraction(2) ** e >= 1 << 64:
        e += 1
    return round(exact / fractions.Fraction(2) ** e), e


def grisu2(x):
    """Digits and exponent of the last one."""
    mantissa, e = math.frexp(x)
    f, e = int(mantissa * 2**53), e - 53
    if e < -1074:
        f, e = f >> (-1074 - e), -1074
    plus_f, plus_e = normal(2 * f + 1, e - 1)
    is_closer = f == 1 << 52 and e > -1074  # the lower neighbour is half as far away
    minus_f = (4 * f - 1 if is_closer else 2 * f - 1) << ((e - 2 if is_closer else e - 1) - plus_e)
    middle_f, _ = normal(f, e)
    scale = -61 - plus_e
    k = int(scale * 78913 / (1 << 18)) + (scale > 0)  # ceil(scale · log10 2)
    k = -300 + 8 * ((300 + k + 7) // 8)
    power, power_e = power_of_ten(k)
    times = lambda value: (value * power + (1 << 63)) >> 64
    low, middle, high = times(minus_f) + 1, times(middle_f), times(plus_f) - 1
    shift = -(plus_e + power_e + 64)
    one, delta, distance = 1 << shift, high - low, high - middle
    whole, part = high >> shift, high & ((1 << shift) - 1)
    digits, exponent, ten = "", -k, 10 ** (len(str(whole)) - 1)
    for left in range(len(str(whole)) - 1, -1, -1):
        digits, whole = digits + str(whole // ten), whole % ten
        rest = (whole << shift) + part
        if rest <= delta:
            return nearer(digits, distance, delta, rest, ten << shift), exponent + left
        ten //= 10
    while True:
        part, delta, distance, exponent = part * 10, delta * 10, distance * 10, exponent - 1
        digits, part = digits + str(part >> shift), part & (one - 1)
        if part <= delta:
            return nearer(digits, distance, delta, part, one), exponent


def nearer(digits, distance, delta, rest, ten):
    while rest < distance and delta - rest >= ten and (
            rest + ten < distance or distance - rest > rest + ten - distance):
        digits, rest = digits[:-1] + str(int(digits[-1]) - 1), rest + ten
    return digits


def plain(value):
    """What JSON can hold: numbers that are not finite are refused, other objects become text."""
    if isinstance(value, dict):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        raise BadInput(f"a record cannot hold {value}")
    return value if value is None or isinstance(value, (str, int, float)) else str(value)


def canonical_text(value):
    if isinstance(value, dict):
        return "{" + ",".join(f"{canonical_text(key)}:{canonical_text(value[key])}" for key in sorted(value)) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(canonical_text, value)) + "]"
    return number_text(value) if isinstance(value, float) else json.dumps(value, ensure_ascii=False)


def canonical(value):
    """The bytes that npubench hashes."""
    return canonical_text(value).encode()


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def file_sha256(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        for piece in iter(lambda: file.read(1 << 20), b""):
            digest.update(piece)
    return digest.hexdigest()


@contextlib.contextmanager
def whole_file(path):
    """Writes path whole or not at all."""
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with open(temporary, "wb") as file:
            yield file
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def write_file(path, data):
    with whole_file(path) as file:
        file.write(data if isinstance(data, bytes) else data.encode())


DTYPES = torch and {
    torch.float32: "F32", torch.bfloat16: "BF16", torch.float16: "F16", torch.float64: "F64",
    torch.int64: "I64", torch.int32: "I32", torch.uint8: "U8", torch.bool: "BOOL"}


def tensor_bytes(tensor):
    tensor = tensor.detach().to("cpu").contiguous()
    return ctypes.string_at(tensor.data_ptr(), tensor.numel() * tensor.element_size()) if tensor.numel() else b""


def write_safetensors(path, tensors, texts):
    """In order of name, without gaps, the header padded to 8; with the SHA-256 of the file, 64 zeros in its place."""
    header, offset, no_digest = {}, 0, "0" * 64
    for name in sorted(tensors):
        t = tensors[name]
        if t.dtype not in DTYPES:
            raise BadInput(f"{name} is {t.dtype}, which safetensors files of npubench do not hold")
        size = t.numel() * t.element_size()
        header[name] = {"dtype": DTYPES[t.dtype], "shape": list(t.shape), "data_offsets": [offset, offset + size]}
        offset += size
    header["__metadata__"] = dict(texts, format="pt", file_sha256=no_digest)
    head = canonical(header)
    head = (len(head) + -len(head) % 8).to_bytes(8, "little") + head + b" " * (-len(head) % 8)
    digest = hashlib.sha256(head)
    for name in sorted(tensors):
        digest.update(tensor_bytes(tensors[name]))
    key = b'"file_sha256":"'
    head = head.replace(key + no_digest.encode(), key + digest.hexdigest().encode())
    with whole_file(path) as file:
        file.write(head)
        for name in sorted(tensors):
            file.write(tensor_bytes(tensors[name]))


def weights_digest(tensors):
    """npubench's digest of a model's weights (harness/run/checkpoint_digest.hpp)."""
    digest = hashlib.sha256()
    for name in sorted(tensors):
        t = tensors[name]
        digest.update(" ".join([name, DTYPES[t.dtype], *map(str, t.shape)]).encode() + b"\n" + tensor_bytes(t))
    return digest.hexdigest()


# --- tokenizer --------------------------------------------------------------------------------------------------------

NANOCHAT_SPLIT = (r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,2}| ?[^\s\p{L}\p{N}]++[\r\n]*"
                  r"|\s*[\r\n]|\s+(?!\S)|\s+")
SPLIT_RULES = {NANOCHAT_SPLIT: "nanochat"}


class EncodingState:
    """What a pickled tiktoken Encoding holds, without tiktoken."""

    def __setstate__(self, state):
        if not isinstance(state, dict):
            raise BadInput(f"the pickle names the public encoding {state!r} of tiktoken instead of holding one")
        self._pat_str, self._mergeable_ranks, self._special_tokens = (
            state[key] for key in ("pat_str", "mergeable_ranks", "special_tokens"))


class EncodingUnpickler(pickle.Unpickler):
    def find_class(self, module, name):
        if (module, name) == ("tiktoken.core", "Encoding"):
            return EncodingState
        if (module, name) in (("copyreg", "_reconstructor"), ("builtins", "object"), ("_codecs", "encode")):
            return super().find_class(module, name)
        raise BadInput(f"the pickle asks for {module}.{name}; a tokenizer of nanochat holds a tiktoken Encoding only")


def tokenizer_of(encoding):
    """npubench's tokenizer.json as a dict, of an object with the attributes of a tiktoken Encoding."""
    ranks, specials = encoding._mergeable_ranks, encoding._special_tokens
    rule = SPLIT_RULES.get(encoding._pat_str)
    if rule is None:
        raise BadInput(f"the tokenizer's split pattern is not nanochat's: {encoding._pat_str}")
    tokens = [b""] * (1 + max([*ranks.values(), *specials.values()]))
    for token, rank in ranks.items():
        tokens[rank] = token
    digest = hashlib.sha256()
    number = lambda n: digest.update(n.to_bytes(8, "little"))
    text = lambda t: (number(len(t)), digest.update(t))
    text(b"npubench vocabulary 1"), text(rule.encode()), number(len(tokens))
    for token in tokens:
        text(token)
    for name, index in sorted(specials.items(), key=lambda one: one[1]):
        number(index), text(name.encode())
    return {"format": "npubench tokenizer", "version": 1, "rule": rule, "sha256": digest.hexdigest(),
            "specials": specials,
            "tokens": [base64.b64encode(token).decode() if token else None for token in tokens]}


def tokenizer_text(tokenizer):
    return json.dumps(tokenizer, sort_keys=True, indent=0) + "\n"


def read_tokenizer(path):
    """Of nanochat's tokenizer folder, its tokenizer.pkl, or a tokenizer.json of npubench."""
    path = pathlib.Path(path)
    if path.is_dir():
        path = path / "tokenizer.pkl"
    if not path.is_file():
        raise BadInput(f"{path}: there is no such tokenizer; give nanochat's tokenizer folder with --tokenizer")
    if path.suffix == ".json":
        read = json.loads(path.read_text())
        if read.get("format") != "npubench tokenizer":
            raise BadInput(f"{path}: not a tokenizer.json of npubench")
        return read
    with open(path, "rb") as file:
        try:
            return tokenizer_of(EncodingUnpickler(file).load())
        except (pickle.UnpicklingError, EOFError, AttributeError, KeyError) as failure:
            raise BadInput(f"{path}: not a pickled tiktoken Encoding: {failure}") from failure


# --- checkpoints ------------------------------------------------------------------------------------------------------

# What nanochat's tensors tell of its version; the constants in gpt.py that they do not tell are those of the named
# commit, unless --gpt-py reads them. `architecture` as npubench's model/decoder/architecture.cpp names it.
NEWEST = {"rotary_base": 100000.0, "qk_scale": 1.2, "softcap_fp32": True, "value_gate_scale": 3.0}  # 92d63d4
FEBRUARY = {"softcap_fp32": True, "value_gate_scale": 2.0}  # 124f49b
# What an architecture says where nothing is said (model/decoder/architecture.hpp).
ARCHITECTURE = {
    "head_dim": 0, "hidden": 0, "norm": "rms", "norm_epsilon": 1.1920928955078125e-07, "embedding_norm": True,
    "positions": "rotary_reversed", "rotary_base": 10000.0, "position_factor": 10, "qk_norm": True, "qk_scale": 1.0,
    "mlp": "relu_squared", "biases": False, "softcap": 15.0, "softcap_fp32": False, "tied_head": False, "windows": [0],
    "value_embeddings": False, "value_gate_channels": 12, "value_gate_scale": 3.0, "residual_lambdas": False,
    "smear": False, "backout": False, "vocab_multiple": 1}
SHORT_WINDOWS = {  # gpt.py's expression → positions
    "long_window // 2": lambda t: t // 2,
    "-(-long_window // 3 // 128) * 128": lambda t: -(-t // 3 // 128) * 128,
    "-(-long_window // 4 // 128) * 128": lambda t: -(-t // 4 // 128) * 128,
}


def constants_of_source(path):
    """The constants that a nanochat/gpt.py computes with."""
    text = pathlib.Path(path).read_text()
    number = lambda pattern: next((float(m) for m in re.findall(pattern, text)), None)
    found = {"rotary_base": number(r"_precompute_rotary_embeddings\(self[^)]*base=(\d+)"),
             "qk_scale": number(r"\bq = q \* ([\d.]+)") or 1.0,
             "value_gate_scale": number(r"gate = (\d+) \* torch\.sigmoid"),
             "softcap": number(r"softcap = (\d+)")}
    cap, cast = text.find("softcap * torch.tanh"), text.find("logits = logits.float()")
    found["softcap_fp32"] = 0 <= cast < cap
    if found["rotary_base"] is None:
        raise BadInput(f"{path}: no rotary base in it; is it nanochat's gpt.py?")
    short = re.search(r"short_window = ([^#\n]+)", text)
    if short:
        found["short_window"] = short.group(1).strip()
    return {key: value for key, value in found.items() if value is not None}


def windows_of(pattern, length, expression):
    if expression not in SHORT_WINDOWS:
        raise BadInput(f"the short window \"{expression}\" is none that this script knows")
    sizes = {"L": length, "S": SHORT_WINDOWS[expression](length)}
    if set(pattern.upper()) - set(sizes):
        raise BadInput(f"window_pattern \"{pattern}\" has other letters than S and L")
    return [sizes[letter] for letter in pattern.upper()] if "S" in pattern.upper() else [0]


def model_config_of(tensors, config, gpt_py=None):
    """npubench's model_config of nanochat weights and the model_config of their meta file."""
    missing = [key for key in ("sequence_len", "vocab_size", "n_layer", "n_head", "n_kv_head", "n_embd")
               if key not in config]
    if missing:
        raise BadInput(f"model_config lacks {', '.join(missing)}")
    sizes = {key: config[key] for key in ("sequence_len", "vocab_size", "n_layer", "n_head", "n_kv_head", "n_embd")}
    has_values = any(name.startswith("value_embeds.") for name in tensors)
    has_lambdas, has_smear = "resid_lambdas" in tensors, "smear_lambda" in tensors
    a = dict(NEWEST if has_smear else FEBRUARY if has_lambdas else {})
    short = "-(-long_window // 4 // 128) * 128" if has_smear else "long_window // 2"
    rows = tensors["transformer.wte.weight"].shape[0]
    if rows != sizes["vocab_size"] or has_lambdas:
        a.update(vocab_multiple=64, softcap_fp32=True)  # since 2025-12
    if gpt_py:
        read = constants_of_source(gpt_py)
        short = read.pop("short_window", short)
        a.update(read)
    if has_values:
        gates = [t for name, t in tensors.items() if name.endswith(".attn.ve_gate.weight")]
        if not gates:
            raise BadInput("value embeddings without gates, as nanochat had them for a day in 2026-01")
        a.update(value_embeddings=True, value_gate_channels=gates[0].shape[1])
    else:
        a.pop("value_gate_scale", None)
    a.update({key: True for key, there in (("residual_lambdas", has_lambdas), ("smear", has_smear),
                                           ("backout", "backout_lambda" in tensors)) if there})
    a["windows"] = windows_of(config.get("window_pattern", "L"), sizes["sequence_len"], short)
    if a["windows"] == [0]:
        del a["windows"]
    return dict(sizes, **({"architecture": a} if a else {}))


def clean_weights(state):
    """A state dict with nanochat's own names: without prefixes of torch.compile and of data parallelism."""
    for key in ("model", "state_dict", "model_state_dict"):
        if isinstance(state, dict) and isinstance(state.get(key), dict):
            state = state[key]
    if not isinstance(state, dict) or not all(isinstance(v, torch.Tensor) for v in state.values()):
        raise BadInput("holds no dict of tensors; give nanochat's model_NNNNNN.pt")
    clean = {}
    for name, tensor in state.items():
        for prefix in ("module.", "_orig_mod."):
            name = name[len(prefix):] if name.startswith(prefix) else name
        clean[name] = tensor
    if "transformer.wte.weight" not in clean:
        raise BadInput(f"has no transformer.wte.weight but {', '.join(list(clean)[:3])}, …; is it nanochat's?")
    return clean


class PtUnpickler(pickle.Unpickler):
    """Of a .pt file: dicts, numbers, texts and dense tensors. Whatever else the pickle names is refused."""

    def __init__(self, archive, prefix, flips):
        super().__init__(archive.open(prefix + "data.pkl"))
        self.archive, self.prefix, self.flips = archive, prefix, flips

    def find_class(self, module, name):
        if (module, name) == ("collections", "OrderedDict"):
            return collections.OrderedDict
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return self.tensor
        if (module, name) == ("torch._utils", "_rebuild_parameter"):
            return lambda data, requires_grad, hooks: data
        if module == "torch" and name in STORAGES:
            return STORAGES[name]
        raise BadInput(f"its pickle asks for {module}.{name}, which a checkpoint of tensors does not need; nothing of "
                       "it was run; give nanochat's model_NNNNNN.pt")

    def persistent_load(self, key):
        kind, dtype, name, _, count = key
        if kind != "storage" or not isinstance(dtype, torch.dtype):
            raise BadInput("its pickle refers to something that is no storage of numbers")
        data = bytearray(self.archive.read(f"{self.prefix}data/{name}"))
        size = torch.empty(0, dtype=dtype).element_size()
        if len(data) < count * size:
            raise BadInput(f"data/{name} has {len(data)} bytes where {count * size} are needed")
        if self.flips:
            data = b"".join(data[i: i + size][::-1] for i in range(0, len(data), size))
        return torch.frombuffer(bytearray(data), dtype=dtype, count=count) if count else torch.empty(0, dtype=dtype)

    @staticmethod
    def tensor(storage, offset, size, stride, *_):
        reach = offset + sum((n - 1) * step for n, step in zip(size, stride)) if all(size) else 0
        if min([offset, *size, *stride, 0]) < 0 or (all(size) and reach >= storage.numel()):
            raise BadInput("a tensor of it reaches beyond its storage")
        return torch.as_strided(storage, size, stride, offset).clone()


# Storages by their names in a pickle (torch/serialization.py); bytes of a number are those of the dtype.
STORAGES = torch and {
    "FloatStorage": torch.float32, "DoubleStorage": torch.float64, "HalfStorage": torch.float16,
    "BFloat16Storage": torch.bfloat16, "LongStorage": torch.int64, "IntStorage": torch.int32,
    "ShortStorage": torch.int16, "CharStorage": torch.int8, "ByteStorage": torch.uint8,
    "BoolStorage": torch.bool}


def plain_dicts(value):
    """Without attributes that a pickle may have set on its dicts."""
    return {key: plain_dicts(one) for key, one in dict.items(value)} if isinstance(value, dict) else value


def load_pt(path):
    """The state of a .pt file. Read without torch.load: no version of that is trusted with a file of others."""
    try:
        with zipfile.ZipFile(path) as archive:
            prefix = next((n[: -len("data.pkl")] for n in archive.namelist() if n.endswith("data.pkl")), None)
            if prefix is None:
                raise BadInput(f"{path}: a zip file without data.pkl, so none that torch.save wrote")
            order = archive.read(prefix + "byteorder") if prefix + "byteorder" in archive.namelist() else b"little"
            return plain_dicts(PtUnpickler(archive, prefix, order.strip() != b"little").load())
    except BadInput as failure:
        raise BadInput(failure if str(path) in str(failure) else f"{path}: {failure}") from failure
    except zipfile.BadZipFile as failure:
        raise BadInput(f"{path}: not a zip file as torch.save writes it since 1.6; save it again with a newer torch, "
                       "or fetch it again if it was cut") from failure
    except Exception as failure:  # a pickle can fail in every way
        text = str(failure).splitlines()
        raise BadInput(f"{path}: not a readable checkpoint: {text[0] if text else type(failure).__name__}") from failure


def meta_beside(checkpoint):
    """model_021400.pt → meta_021400.json."""
    return checkpoint.with_name(checkpoint.name.replace("model_", "meta_", 1)).with_suffix(".json")


def write_model(folder, tensors, config, tokenizer, more=()):
    """What `npubench eval --model FOLDER` takes: model.safetensors and tokenizer.json."""
    write_safetensors(pathlib.Path(folder) / "model.safetensors", tensors,
                      {"model_config": canonical(config).decode(), **dict(more)})
    if tokenizer:
        write_file(pathlib.Path(folder) / "tokenizer.json", tokenizer_text(tokenizer))


def convert(options):
    checkpoint, out = pathlib.Path(options.convert), pathlib.Path(options.out)
    if not checkpoint.is_file():
        raise BadInput(f"{checkpoint}: there is no such file")
    meta = pathlib.Path(options.config or meta_beside(checkpoint))
    if not meta.is_file():
        raise BadInput(f"{meta}: is missing; give the meta file with --config (it has the model's sizes)")
    try:
        config = json.loads(meta.read_text())
    except ValueError as failure:
        raise BadInput(f"{meta}: not JSON: {failure}") from failure
    try:
        tensors = clean_weights(load_pt(checkpoint))
    except BadInput as failure:
        raise BadInput(failure if str(checkpoint) in str(failure) else f"{checkpoint}: {failure}") from failure
    model_config = model_config_of(tensors, config.get("model_config", config), options.gpt_py)
    tokenizer = read_tokenizer(options.tokenizer) if options.tokenizer else None
    source = {"file": checkpoint.name, "sha256": file_sha256(checkpoint)}
    write_model(out, tensors, model_config, tokenizer, {"captured": canonical(source).decode()})
    count = sum(t.numel() for t in tensors.values())
    print(f"{out / 'model.safetensors'}: {len(tensors)} tensors, {count:,} parameters")
    print("architecture:", json.dumps(model_config.get("architecture", "nanochat of 2025-10")))
    if not tokenizer:
        print("no tokenizer: give --tokenizer FOLDER here, or --tokenizer FILE to npubench eval")


# --- items of CORE ----------------------------------------------------------------------------------------------------

# Accuracies of guessing in percent, of nanochat's eval_meta_data.csv, in the order of core.yaml.
BASELINES = {
    "hellaswag_zeroshot": 25, "jeopardy": 0, "bigbench_qa_wikidata": 0, "arc_easy": 25, "arc_challenge": 25, "copa": 50,
    "commonsense_qa": 20, "piqa": 50, "openbook_qa": 25, "lambada_openai": 0, "hellaswag": 25, "winograd": 50,
    "winogrande": 50, "bigbench_dyck_languages": 0, "agi_eval_lsat_ar": 20, "bigbench_cs_algorithms": 0,
    "bigbench_operators": 0, "bigbench_repeat_copy_logic": 0, "squad": 0, "coqa": 0, "boolq": 62,
    "bigbench_language_identification": 9.1}
BASELINES_V2 = {"commonsense_qa": 40.3, "agi_eval_lsat_ar": 25, "bigbench_language_identification": 25}  # DCLM's later
NO_TOKENS = "a choice has no tokens of its own"


def netstring(value):
    data = value if isinstance(value, bytes) else str(value).encode()
    return str(len(data)).encode() + b":" + data


def item_bytes(kind, row):
    """What an item is, as npubench hashes it (evals/core/items.hpp)."""
    if kind == "language_modeling":
        fields = [row["context"], row["continuation"]]
    elif kind == "schema":
        fields = [len(row["context_options"]), *row["context_options"], row["continuation"], row["gold"]]
    else:
        fields = [row["query"], len(row["choices"]), *row["choices"], row["gold"]]
    return b"".join(map(netstring, [kind, *fields]))


def item_ids(kind, rows, data_path):
    """Equal items are told apart by how many came before in the file, which nanochat has shuffled."""
    lines = bytes_of = [item_bytes(kind, row) for row in rows]
    order = list(range(len(rows)))
    if len(set(bytes_of)) < len(rows) and data_path:
        text = pathlib.Path(data_path).read_text(encoding="utf-8")
        in_file = [item_bytes(kind, json.loads(line)) for line in text.split("\n") if line.strip()]
        shuffled = list(range(len(in_file)))
        random.Random(1337).shuffle(shuffled)  # nanochat's base_eval.py
        if [in_file[i] for i in shuffled[: len(rows)]] == bytes_of:
            lines, order = in_file, shuffled[: len(rows)]
    seen, before = {}, []
    for data in lines:
        before.append(seen.get(data, 0))
        seen[data] = before[-1] + 1
    return [id_of(lines[i], before[i]) for i in order]


def id_of(data, before):
    return sha256(data + (netstring(before) if before else b""))[:16]


def prompts_of(rows, idx, meta):
    """nanochat's prompts of one item, without jinja2."""
    kind, delimiter, shots = meta["task_type"], meta["continuation_delimiter"], meta["num_fewshot"]
    drawn = random.Random(1234 + idx).sample([i for i in range(len(rows)) if i != idx], shots) if shots else []
    row, examples = rows[idx], [rows[i] for i in drawn]
    if kind == "multiple_choice":
        prefix = "".join(e["query"] + delimiter + e["choices"][e["gold"]] + "\n\n" for e in examples)
        return [prefix + row["query"] + delimiter + choice for choice in row["choices"]]
    if kind == "schema":
        prefix = "".join(e["context_options"][e["gold"]] + delimiter + e["continuation"] + "\n\n" for e in examples)
        return [prefix + option + delimiter + row["continuation"] for option in row["context_options"]]
    prefix = "".join(e["context"].strip() + delimiter + e["continuation"] + "\n\n" for e in examples)
    without = prefix + row["context"].strip() + delimiter
    return [without.strip(), without + row["continuation"]]


HASHED_INPUTS = 16  # items whose tokens are part of a task's comparability (evals/evaluate.cpp)


def input_text(tokens, start=0, end=0):
    """What the model read of one sequence: how many tokens, which of them were scored, all of them."""
    return f"{len(tokens)} {start} {end}:" + "".join(f"{int(token)} " for token in tokens)


def inputs_digest(items):
    """Of the first items, in their order: a run that drops <|bos|> asks something else."""
    return sha256("".join(item["inputs"] for _, item in sorted(items.items())[:HASHED_INPUTS]).encode())


def item_line(item):
    """One line of an items file (results/store/items.hpp): floats with 7 digits."""
    parts = [f'"i":{json.dumps(item["id"])}', f'"o":{int(item["ok"])}', f'"p":{json.dumps(item["prediction"])}',
             f'"g":{json.dumps(item["gold"])}', f'"h":{json.dumps(item["prompts"])}']
    if item["log_probs"]:
        parts.append('"l":[' + ",".join(f"{x:.7g}" if x else "0" for x in item["log_probs"]) + "]")
    if item["cut"]:
        parts.append(f'"c":{item["cut"]}')
    if len(item.get("sample_ok", [])) > 1:
        parts.append(f'"s":{json.dumps(item["sample_ok"])}')
    if "texts" in item:
        parts.append(f'"t":{json.dumps(item["texts"])}')
    if item["reason"]:
        parts.append(f'"r":{json.dumps(item["reason"])}')
    return "{" + ",".join(parts) + "}\n"


def wilson(right, n):
    z = 1.959963984540054
    share, width = right / n, z * z / n
    middle, spread = share + width / 2, z * math.sqrt(share * (1 - share) / n + width / (4 * n))
    return (middle - spread) / (1 + width), (middle + spread) / (1 + width)


class TaskItems:
    """The items of one task while nanochat's evaluate_task works on them."""

    def __init__(self, rows, tokenizer, meta, label, data_path):
        self.rows, self.tokenizer, self.meta = rows, tokenizer, meta
        self.task = label if label in BASELINES else "own/" + re.sub(r"[^A-Za-z0-9_-]", "_", label)
        self.data_path = data_path
        self.ids = item_ids(meta["task_type"], rows, data_path)
        self.items, self.foreign_prompts = {}, None

    def begin(self, idx):
        self.idx, self.prompts = idx, prompts_of(self.rows, idx, self.meta)

    def saw_spans(self, prompts, tokens, starts, ends):
        if list(prompts) != self.prompts:
            self.foreign_prompts = self.foreign_prompts or list(prompts)
        self.sequences, self.spans = tokens, (starts, ends)

    def saw_scores(self, losses, predictions):
        self.scores = losses.float().cpu(), predictions.cpu()

    def end(self, ok):
        losses, predictions = self.scores
        spans, cut, inputs = [], 0, ""
        for tokens, start, end in zip(self.sequences, *self.spans):
            over = max(0, len(tokens) - losses.shape[1])  # the model's context was shorter
            spans.append((start - over, end - over))
            cut += over
            inputs += input_text(tokens[over:], start - over, end - over)
        kind, row = self.meta["task_type"], self.rows[self.idx]
        scored = [losses[i, s - 1: e - 1] for i, (s, e) in enumerate(spans)]
        item = {"id": self.ids[self.idx], "ok": bool(ok), "cut": cut, "reason": "", "log_probs": [], "inputs": inputs,
                "prompts": sha256(b"".join(map(netstring, self.prompts)))[:16]}
        if kind == "language_modeling":
            start, end = spans[0]
            shown = lambda ids: self.tokenizer.decode([int(i) for i in ids])[:40]
            item["gold"] = shown(self.sequences[0][start - end:])
            item["prediction"] = shown(predictions[0, start - 1: end - 1])
        else:
            means = [float(s.double().mean()) for s in scored]
            item.update(gold=str(row["gold"]), prediction=str(means.index(min(means))))
        if not all(bool(torch.isfinite(s).all()) for s in scored):
            item.update(ok=False, prediction="", reason=NOT_FINITE)
        elif any(len(s) == 0 for s in scored):
            item["reason"] = NO_TOKENS + decided_by_rule([len(s) == 0 for s in scored], row["gold"])
        else:
            item["log_probs"] = [-float(s.double().mean().float()) for s in scored]
        self.items[self.idx] = item

    def comparability(self):
        kind, all_items, all_prompts = self.meta["task_type"], hashlib.sha256(), hashlib.sha256()
        for idx, row in enumerate(self.rows):
            all_items.update(netstring(item_bytes(kind, row)))
            for prompt in prompts_of(self.rows, idx, self.meta):
                all_prompts.update(netstring(prompt))
        prompts = all_prompts.hexdigest()
        if self.foreign_prompts:  # another rule: never taken for nanochat's
            prompts = "asked differently: " + sha256(b"".join(map(netstring, self.foreign_prompts)))
        found = {"items": all_items.hexdigest(), "prompts": prompts, "context": "whole",
                 "inputs": inputs_digest(self.items)}
        if any(item["cut"] for item in self.items.values()):
            found["context"] = "cut to the model's context"
        if self.task.startswith("own/") and self.data_path:
            fields = [self.task, kind, self.meta["num_fewshot"], self.meta["continuation_delimiter"],
                      file_sha256(self.data_path)]
            found["definition"] = sha256(b"".join(map(netstring, fields)))
        return {f"{self.task}/{key}": value for key, value in found.items()}

    def baseline_percent(self):
        if self.task in BASELINES:
            return BASELINES[self.task]
        if self.meta["task_type"] == "language_modeling":
            return 0
        counts = [len(row.get("choices") or row["context_options"]) for row in self.rows]
        return 100 * sum(1 / count for count in counts) / len(counts)

    def metrics(self):
        return accuracy_metrics(self.task, [self.items[i] for i in sorted(self.items)], self.baseline_percent())


def accuracy_metrics(task, items, baseline_percent):
    unscored = sum(item["reason"] == NOT_FINITE for item in items)
    n, right, chance = len(items), sum(item["ok"] for item in items), 0.01 * baseline_percent
    centre = lambda x: (x - chance) / (1 - chance)
    share, interval = right / n, wilson(right, n)
    if unscored:
        why = f"{unscored} of {n} items have no score: the model's numbers are not finite"
        return [metric(f"{task}/accuracy", None, "1", "higher", n=n, why=why),
                metric(f"{task}/centred", None, "1", "higher", n=n, why=why),
                metric(f"{task}/not_scored", unscored / n, "1", "lower", n=n)]
    return [metric(f"{task}/accuracy", share, "1", "higher", n=n, interval=interval),
            metric(f"{task}/centred", centre(share), "1", "higher", n=n, interval=[centre(x) for x in interval])]


def core_composite(tasks, shared, is_estimate):
    """CORE, null where one of the 22 tasks is missing, as npubench has it: metrics and comparability."""
    by_name = {task.task: task for task in tasks if task.task in BASELINES}
    if not by_name:
        return [], {}
    name, present = "core_estimate" if is_estimate else "core", [label for label in BASELINES if label in by_name]
    right = {label: [item["ok"] for item in by_name[label].items.values()] for label in present}
    missing = [label for label in BASELINES if label not in by_name]
    shown = missing if len(missing) <= 5 else missing[:4]
    why = f"CORE needs all {len(BASELINES)} tasks; missing: {', '.join(shown)}"
    why += f" and {len(missing) - len(shown)} more" if len(shown) < len(missing) else ""
    unscored = [label for label in present
                if any(item["reason"] == NOT_FINITE for item in by_name[label].items.values())]
    if unscored:
        why = f"CORE needs a score of each task; none: {', '.join(unscored)} (the model's numbers are not finite)"

    def mean(baselines):
        if missing or unscored:
            return None
        chance = {at: 0.01 * baselines[at] for at in present}
        centred = [(sum(right[at]) / len(right[at]) - chance[at]) / (1 - chance[at]) for at in present]
        return sum(centred) / len(centred)
    digest = hashlib.sha256()
    for label in present:
        lines = sorted({**shared, **by_name[label].comparability()}.items())
        digest.update(sha256("".join(f"{key}\n{value}\n" for key, value in lines).encode()).encode())
    return ([metric(name, mean(BASELINES), "1", "higher", n=len(present), why=why),
             metric(f"{name}_v2", mean({**BASELINES, **BASELINES_V2}), "1", n=len(present), why=why)],
            {f"{name}/task_set": sha256(" ".join(present).encode()), f"{name}/tasks": digest.hexdigest()})


def decided_by_rule(is_empty, gold):
    """Python's min over means of which some are NaN (evals/base/choice.hpp)."""
    if is_empty[0]:
        right = gold == 0
    elif is_empty[gold]:
        right = False
    elif is_empty.count(False) == 1:
        right = True
    else:
        return ""
    return ": always right" if right else ": always wrong"


# --- items of chat tasks ----------------------------------------------------------------------------------------------

# nanochat's name → npubench's, accuracy of guessing in percent, version of npubench's scoring.
CHAT_TASKS = {"ARC-Easy": ("chat_arc_easy", 25, "letter-1"), "ARC-Challenge": ("chat_arc_challenge", 25, "letter-1"),
              "MMLU": ("mmlu", 25, "letter-1"), "GSM8K": ("gsm8k", 0, "number-1"),
              "HumanEval": ("humaneval", 0, "humaneval-2"), "SpellingBee": ("spellingbee", 0, "number-1")}
CHOICE_BEGIN = "Multiple Choice question: "
CHOICE_END = "\n\nRespond only with the letter of the correct answer."
NUMBER = re.compile(r"#### (\-?[0-9\.\,]+)")
NO_ANSWER = "no answer"


def chat_item_bytes(task, conversation):
    """What an item is, as npubench hashes it (model/data/tasks); of other tasks what was asked and what is right."""
    asked, gold = (message["content"] for message in conversation["messages"][-2:])
    letters = list(conversation.get("letters", ()))
    if letters and asked.startswith(CHOICE_BEGIN) and asked.endswith(CHOICE_END):
        question, *lines = asked[len(CHOICE_BEGIN): -len(CHOICE_END)].rsplit("\n- ", len(letters))
        if len(lines) == len(letters) and all(line.endswith("=" + letter) for line, letter in zip(lines, letters)):
            choices = [line[: -1 - len(letter)] for line, letter in zip(lines, letters)]
            fields = ["letter", question, len(choices), *choices, *letters, letters.index(gold)]
            return b"".join(map(netstring, fields))
    if task == "gsm8k" and isinstance(gold, list):
        text = ""
        for part in gold:  # "<<expression=result>>" stands in two parts
            text += {"python": "<<{}=", "python_output": "{}>>"}.get(part["type"], "{}").format(part["text"])
        return b"".join(map(netstring, ["gsm8k", asked, text]))
    return b"".join(map(netstring, [task, canonical(plain(conversation))]))


class ChatItems:
    """The items of one chat task, told by its evaluate(); the interface of TaskItems."""

    def __init__(self, name, around):
        self.task, self.baseline, self.scorer = CHAT_TASKS.get(name, ("own/" + name, 0, "unknown"))
        self.items, self.bytes_of = {}, {}
        self.sampling = {key: around.get(key) for key in ("temperature", "top_k", "num_samples", "max_new_tokens")}

    def saw(self, at, conversation, response, ok, letter_log_probs, inputs):
        asked = conversation["messages"][-2]["content"]
        if at not in self.items:
            self.bytes_of[at] = chat_item_bytes(self.task, conversation)
            self.items[at] = {"id": "", "ok": False, "cut": 0, "reason": "", "log_probs": [], "inputs": inputs,
                              "prompts": sha256(netstring(asked))[:16], "asked": asked, "prediction": None}
        item = self.items[at]
        item["ok"] = item["ok"] or bool(ok)
        if letter_log_probs is not None:
            item.update(log_probs=letter_log_probs, prediction=response, gold=conversation["messages"][-1]["content"])
            if not all(map(math.isfinite, letter_log_probs)):
                item.update(ok=False, prediction="", reason=NOT_FINITE, log_probs=[])
            return
        item.setdefault("texts", []).append(response)
        item.setdefault("sample_ok", []).append(int(bool(ok)))
        found = NUMBER.search(response)
        if item["prediction"] is None:
            gold = conversation["messages"][-1]["content"]
            right = NUMBER.search(gold if isinstance(gold, str) else gold[-1]["text"])
            item["gold"] = right.group(1).replace(",", "") if right else ""
            item["prediction"] = found.group(1).replace(",", "") if found and right else ""
            item["reason"] = "" if found or not right else NO_ANSWER
        elif found:
            item["reason"] = ""

    def comparability(self):
        order, seen = sorted(self.items), {}
        for i in order:  # equal items are alike in all but their number
            data = self.bytes_of[i]
            self.items[i]["id"], seen[data] = id_of(data, seen.get(data, 0)), seen.get(data, 0) + 1
        join = lambda values: sha256(b"".join(map(netstring, values)))
        found = {"items": join(self.bytes_of[i] for i in order), "prompts": join(self.items[i]["asked"] for i in order),
                 "inputs": inputs_digest(self.items), "context": "whole", "scorer": self.scorer,
                 "order": "shuffled as Hugging Face does, seed 42"}
        if any("texts" in item for item in self.items.values()):
            drawn = "temperature {temperature}, top_k {top_k}, {num_samples} samples, seed 42".format(**self.sampling)
            is_greedy = self.sampling["temperature"] == 0 and self.sampling["num_samples"] == 1
            found["generation"] = f"{'greedy' if is_greedy else drawn}, {self.sampling['max_new_tokens']} tokens"
        if self.scorer == "number-1":
            found.update(form="answer", extraction="#### number")
        return {f"{self.task}/{key}": value for key, value in found.items()}

    def metrics(self):
        return accuracy_metrics(self.task, [self.items[i] for i in sorted(self.items)], self.baseline)


# --- the machine ------------------------------------------------------------------------------------------------------


class Machine:
    """The accelerator that torch sees: its name, clock and memory."""

    def __init__(self):
        try:
            importlib.import_module("torch_npu")
        except Exception:  # absent, or its driver is
            pass
        npu = getattr(torch, "npu", None)
        self.kind, self.backend = "cpu", None
        if npu is not None and npu.is_available():
            self.kind, self.backend = "npu", npu
        elif torch.cuda.is_available():
            self.kind, self.backend = "cuda", torch.cuda
        self.name = self.backend.get_device_name(0) if self.backend else platform.processor() or platform.machine()
        slug = re.sub(r"[^a-z0-9]+", "_", self.name.lower()).strip("_") if self.backend else "cpu"
        self.device = f"captured_{slug}"  # never the name of an emulated device

    def synchronize(self):
        if self.backend:
            self.backend.synchronize()

    def peak_memory(self):
        """Bytes, or None and why."""
        if not self.backend:
            return None, "PyTorch does not count what it allocates on a CPU"
        return self.backend.max_memory_allocated(), ""

    def environment(self):
        versions = {"python": platform.python_version(), "torch": str(torch.__version__), "cuda": torch.version.cuda}
        npu = sys.modules.get("torch_npu")
        if npu:
            versions["torch_npu"] = getattr(npu, "__version__", None)
            versions["cann"] = os.environ.get("ASCEND_TOOLKIT_HOME")
        git = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
        return {"program": "nanochat_capture", "platform": platform.platform(), "host": platform.node(),
                "accelerator": {"kind": self.kind, "name": self.name,
                                "count": self.backend.device_count() if self.backend else 0},
                "world_size": int(os.environ.get("WORLD_SIZE", 1)), "versions": versions,
                "commit": git.stdout.strip() or None, "command": sys.argv,
                "variables": {key: value for key, value in sorted(os.environ.items()) if key.startswith("NANOCHAT_")}}


# --- the machine, as npubench doctor and profile read it --------------------------------------------------------------

# Variables that the rules of npubench doctor look at (harness/doctor/environment.csv); no other leaves the machine.
KEPT_STARTS = ("ACL", "ASCEND_", "ATB_", "CUDA_", "GLOO_", "HCCL_", "HCOMM_", "HF_ENDPOINT", "HF_HUB_", "INF_NAN_",
               "LCCL_", "MASTER_", "NANOCHAT_", "NCCL_", "NPU_", "OMP_", "OOM_SNAPSHOT_", "P2P_HCCL_", "PROF",
               "PYTORCH_", "TORCH", "VLLM_")
KEPT_NAMES = {"AUTO_USE_UC_MEMORY", "COMBINED_ENABLE", "CPU_AFFINITY_CONF", "DEVICE_ID", "HOST_CACHE_CAPACITY",
              "INDUCTOR_ASCEND_CHECK_ACCURACY", "KINETO_USE_DAEMON", "LD_LIBRARY_PATH", "LOCAL_RANK",
              "LOCAL_WORLD_SIZE", "MULTI_STREAM_MEMORY_REUSE", "PER_STREAM_QUEUE", "PYTHONHASHSEED", "PYTHONPATH",
              "PWD", "RANK", "STREAMS_PER_DEVICE", "TASK_QUEUE_ENABLE", "TOOLCHAIN_HOME", "TP_SOCKET_IFNAME",
              "WORLD_SIZE"}
SECRET_PARTS = ("TOKEN", "SECRET", "KEY", "PASS", "AUTH", "CRED", "COOKIE", "ACCESS", "API")
COMMAND_LIMIT_S = 10
# Where CANN and its driver say what they are.
VERSION_FILES = ("/usr/local/Ascend/driver/version.info", "{ASCEND_HOME_PATH}/ascend_toolkit_install.info",
                 "{ASCEND_HOME_PATH}/aarch64-linux/ascend_toolkit_install.info",
                 "{ASCEND_HOME_PATH}/x86_64-linux/ascend_toolkit_install.info")


def without_home(text):
    home = os.path.expanduser("~")
    return text.replace(home, "~") if len(home) > 1 else text


def environment_text(variables):
    def shown(name, value):
        if any(part in name for part in SECRET_PARTS):
            return "(removed)"
        return without_home(value).replace("\r", " ").replace("\n", " ")
    return "".join(f"{name}={shown(name, value)}\n" for name, value in sorted(variables.items())
                   if name.startswith(KEPT_STARTS) or name in KEPT_NAMES)


def packages_text():
    found = {}
    for one in importlib.metadata.distributions():
        name = one.metadata["Name"] if one.metadata else None
        if name and one.version:
            found.setdefault(name, one.version)  # the first one is what import takes
    width = max(map(len, found), default=7)
    rows = [("Package", "Version"), ("-" * width, "-" * 7), *sorted(found.items())]
    return "".join(f"{name:<{width}} {version}\n" for name, version in rows)


def versions_text(versions):
    lines = [f"Python version: {versions['python']}", f"PyTorch version: {versions['torch']}"]
    if versions.get("torch_npu"):
        lines.append(f"torch_npu version: {versions['torch_npu']}")
    for file in VERSION_FILES:
        path = pathlib.Path(file.format_map(collections.defaultdict(str, os.environ)))
        with contextlib.suppress(OSError):
            text = path.read_text(errors="replace")
            lines += [line for line in text.splitlines() if re.match(r"(package_)?[Vv]ersion=", line)]
    return "\n".join(lines) + "\n"


def smi_text():
    """What npu-smi says of the cards, None without it."""
    if not shutil.which("npu-smi"):
        return None
    said = ""
    for arguments in (["info"], ["info", "-t", "topo"]):
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            said += subprocess.run(["npu-smi", *arguments], capture_output=True, text=True, errors="replace",
                                   check=False, timeout=COMMAND_LIMIT_S).stdout + "\n"
    return said


class RankLog:
    """machine/rank_N.txt: what this rank printed, as it comes, so that a killed process leaves it; npubench doctor
    reads which rank failed first from the files of all ranks. Times stand on lines of their own.
    """

    def __init__(self, path):
        path.parent.mkdir(parents=True, exist_ok=True)
        self.file, self.stamped = open(path, "a", encoding="utf-8", errors="replace"), 0.0

    def take(self, line):
        if time.time() - self.stamped >= 1:
            self.stamped = time.time()
            moment = datetime.datetime.fromtimestamp(self.stamped)
            self.file.write(f"{moment:%Y-%m-%d %H:%M:%S}.{moment.microsecond // 1000:03d}\n")
        self.file.write(without_home(line) + "\n")
        self.file.flush()

    def close(self, failure):
        if failure is not None:
            parts = traceback.format_exception(type(failure), failure, failure.__traceback__)
            for line in "".join(parts).splitlines():
                self.take(line)
        self.file.close()


class MemoryLog:
    """memory_record.csv with the columns of Ascend's profiler, a row per step: what PyTorch holds of the card (PTA, which
    both CUDA and NPU count), and what the process has of the host (APP).
    """
    HEADER = "Component,Timestamp(us),Total Allocated(MB),Total Reserved(MB),Total Active(MB),Device Type\n"

    def __init__(self, machine):
        self.machine, self.rows = machine, []

    def take(self, is_peak=False):
        moment, backend = f"{time.time_ns() / 1000:.3f}", self.machine.backend
        if backend:
            allocated, reserved = (getattr(backend, ("max_" if is_peak else "") + name)() / 2**20
                                   for name in ("memory_allocated", "memory_reserved"))
            device = f"{self.machine.kind.upper()}:0"
            self.rows.append(f"PTA,{moment},{allocated:.3f},{reserved:.3f},{allocated:.3f},{device}")
        with contextlib.suppress(OSError, ValueError):
            resident = int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20
            self.rows.append(f"APP,{moment},{resident:.3f},{resident:.3f},{resident:.3f},HOST")

    def text(self):
        self.take(is_peak=True)
        return self.HEADER + "".join(row + "\n" for row in self.rows)


class StepProfile:
    """OUT/profile: what PyTorch's profiler, or torch_npu's, records of `limit` steps behind the warm-up."""

    def __init__(self, limit, folder, machine):
        self.limit, self.folder, self.machine, self.profiler, self.seen = limit, folder, machine, None, 0

    def step_ended(self):
        self.seen += 1
        if self.limit and self.seen == WARM_UP_STEPS:
            self.start()
        elif self.profiler:
            self.profiler.step()
            if self.seen > WARM_UP_STEPS + self.limit:
                self.stop()

    def start(self):
        npu = sys.modules.get("torch_npu") if self.machine.kind == "npu" else None
        kit, more = npu.profiler if npu else torch.profiler, {}
        device = {"npu": "NPU", "cuda": "CUDA"}.get(self.machine.kind)
        activities = [kit.ProfilerActivity.CPU] + ([getattr(kit.ProfilerActivity, device)] if device else [])
        if npu:  # shapes of operands and shares of the units, which level 0 lacks
            more = {"profile_memory": True, "experimental_config": kit._ExperimentalConfig(
                profiler_level=kit.ProfilerLevel.Level1, aic_metrics=kit.AiCMetrics.PipeUtilization)}
        self.folder.mkdir(parents=True, exist_ok=True)
        self.profiler = kit.profile(activities=activities, record_shapes=True, **more,
                                    schedule=kit.schedule(wait=0, warmup=1, active=self.limit, repeat=1),
                                    on_trace_ready=kit.tensorboard_trace_handler(str(self.folder)))
        self.profiler.start()

    def stop(self):
        if self.profiler:
            self.machine.synchronize()
            self.profiler.stop()
            self.profiler = None

    def end(self):
        self.stop()
        if 0 < self.seen <= WARM_UP_STEPS and self.limit:
            print(f"no profile: it begins behind step {WARM_UP_STEPS}, and the run had {self.seen}", file=sys.stderr)


def now():
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def metric(name, value, unit, direction="none", clock="none", n=0, interval=None, why=""):
    low, high = interval or (None, None)
    return {"name": name, "value": value, "reason_if_null": why if value is None else "", "unit": unit,
            "direction": direction, "clock": clock, "n": n, "low": low, "high": high}


def write_record(out, kind, name, machine, **parts):
    """A node's folder below `out`. Files named in artifacts and host_artifacts come as texts or bytes."""
    record = {"schema": RECORD_SCHEMA, "kind": kind, "name": name, "status": "ok", "error": "",
              "device": machine.device, "trained_on": "", "seed": None, "settings": {}, "parents": [],
              "checkpoint": None, "comparability": {}, "subject": {}, "metrics": [], "host_metrics": [],
              "numerics": [], "environment": machine.environment(), "items": {}, "artifacts": {},
              "host_artifacts": {}}
    record.update(parts)
    record = plain(record)
    # Two runs of one command on real hardware need not give the same bits, so each is a node of its own.
    record["node_key"] = sha256(canonical([kind, name, record["settings"], record["environment"], time.time_ns()]))
    folder = pathlib.Path(out) / f"{kind}-{re.sub(r'[^A-Za-z0-9._-]', '_', name)}-{record['node_key'][:8]}"
    for files in ("artifacts", "host_artifacts"):
        for file, content in parts.get(files, {}).items():
            if content is not None:
                write_file(folder / file, content)
            record[files][file] = file_sha256(folder / file)
    record["checksum"] = sha256(canonical(record))
    write_file(folder / "record.json", json.dumps(record, sort_keys=True, ensure_ascii=False, indent=2) + "\n")
    return folder


# --- tensors, op by op ------------------------------------------------------------------------------------------------


class TensorLog:
    """Outputs of modules, and of the functions between them, in the order in which they are made.

    Of the first `limit` labels ("step 000003", "item arc_easy/5f0c…"); each tensor is `label/op`, where op is the
    path of the module, or of what nanochat computes by a function, under npubench's name.
    """

    def __init__(self, limit, patch):
        self.limit, self.patch = limit, patch
        self.tensors, self.order, self.labels, self.watched = {}, [], [], []
        self.label, self.stack, self.counts = None, [], {}

    def begin(self, label):
        if label not in self.labels and len(self.labels) < self.limit:
            self.labels.append(label)
        self.label = label if label in self.labels else None
        self.counts = {}

    def watch(self, model):
        if not self.limit or any(model is one for one in self.watched):
            return
        self.watched.append(model)
        for path, module in model.named_modules():
            module.register_forward_pre_hook(lambda m, inputs, path=path: self.entered(path, m, inputs))
            module.register_forward_hook(lambda m, inputs, output, path=path: self.left(path, output))
        source = sys.modules[type(model).__module__]
        self.patch_function(source, "apply_rotary_emb", self.rotary)
        self.patch_function(source, "norm", self.norm)
        self.patch_function(torch.nn.functional, "scaled_dot_product_attention", lambda: "attention")
        if hasattr(source, "flash_attn"):
            self.patch_function(source.flash_attn, "flash_attn_func", lambda: "attention")

    def patch_function(self, owner, name, op):
        if hasattr(owner, name):
            def listened(original, *args, **kwargs):
                output = original(*args, **kwargs)
                if self.stack:
                    self.keep(".".join(filter(None, [self.stack[-1][0], op()])), output)
                return output
            self.patch(owner, name, listened)

    def rotary(self):
        return ("q_rotary", "k_rotary")[self.times("rotary") % 2]

    def norm(self):
        module, n = self.stack[-1][1], self.times("norm")
        if hasattr(module, "c_q"):
            return ("q_norm", "k_norm")[n % 2]
        return ("attn.norm", "mlp.norm")[n % 2] if hasattr(module, "attn") else f"norm{n}" if n else "norm"

    def times(self, what):
        """How often that function ran in this call of the module before."""
        key = (what, self.stack[-1][0])
        self.counts[key] = self.counts.get(key, -1) + 1
        return self.counts[key]

    def entered(self, path, module, inputs):
        self.stack.append((path, module))
        if not path and inputs and isinstance(inputs[0], torch.Tensor):
            self.keep("tokens", inputs[0])

    def left(self, path, output):
        self.stack.pop()
        self.keep(path or "output", output)
        if not path:
            self.counts = {}

    def keep(self, op, output):
        if self.label is None or not isinstance(output, torch.Tensor):
            return
        name, n = f"{self.label}/{op}", 1
        while name in self.tensors:
            n += 1
            name = f"{self.label}/{op}#{n}"
        self.tensors[name] = output.detach().to("cpu", copy=True)
        self.order.append(name)

    def write(self, path, prefix):
        """The tensors whose labels begin so; False: there are none."""
        order = [name for name in self.order if name.startswith(prefix)]
        if order:
            write_safetensors(path, {name: self.tensors[name] for name in order}, {"order": canonical(order).decode()})
        return bool(order)


# --- the run ----------------------------------------------------------------------------------------------------------

STEP_LINE = re.compile(r"^step (\d+)\b.*?\bdt: ([\d.]+)ms")
TOKENS = re.compile(r"tok/sec: ([\d,]+)")
VALIDATION = re.compile(r"^Step (\d+) \| Validation (bpb|loss): ([\d.]+)")
WARM_UP_STEPS = 10  # nanochat's total_training_time leaves them out too
# Globals of nanochat's training scripts that say how it trained: what was asked for (user_config), what was made of it,
# and the constants that its first months kept beside the settings. results/compare/recipe_names.cpp of npubench knows them.
SCRIPT_GLOBALS = ("user_config", "model_config_kwargs", "total_batch_size", "num_iterations", "device_batch_size",
                  "warmup_ratio", "warmdown_ratio", "final_lr_frac", "batch_lr_scale", "weight_decay_scaled")
BATCH_GLOBALS = ("x", "train_inputs", "inputs")  # base_train and mid_train; chat_sft of 2025; chat_rl
STAGES = ("base", "mid", "sft", "rl")
NAMES = {"base_train": "base", "base_eval": "base", "mid_train": "mid", "chat_sft": "sft", "chat_rl": "rl",
         "chat_eval": "chat"}


class Lines:
    """A stdout that shows what is printed and hands over whole lines."""

    def __init__(self, stream, take):
        self.stream, self.take, self.begun = stream, take, ""

    def write(self, text):
        *lines, self.begun = (self.begun + text).split("\n")
        for line in lines:
            self.take(line)
        if "\r" in self.begun[:-1]:  # a bar of progress: what a terminal has overwritten
            self.begun = self.begun[self.begun.rindex("\r", 0, -1) + 1:]
        return self.stream.write(text)

    def __getattr__(self, name):
        return getattr(self.stream, name)


class Capture:
    """Listens from `with` to its end, then writes the records below `out`.

    Losses come from backward(), rates from the optimizers' groups. Times are those of nanochat's own lines, or of
    step(), which a loop of your own puts around one optimizer step.
    """

    def __init__(self, out, name, settings=None, tensors=0, device=None, profile=0):
        self.out, self.name, self.settings = pathlib.Path(out), name, settings or {}
        self.machine, self.rank = Machine(), int(os.environ.get("RANK", 0))
        self.rows, self.pending, self.validations, self.evaluations = [], [], {}, {}
        self.scaled, self.task, self.weights, self.tokenizer, self.folders = False, None, None, None, []
        self.parameters, self.numerics, self.undo, self.started = None, {}, [], now()
        self.model_config, self.batches, self.first_weights = None, hashlib.sha256(), None
        self.machine.device = device or self.machine.device
        self.tensors = TensorLog(tensors, self.patch)
        self.log, self.memory = None, MemoryLog(self.machine)
        self.steps = StepProfile(profile if not self.rank else 0, self.out / "profile", self.machine)

    # what is listened to

    def patch(self, owner, name, listener):
        """listener(original, *arguments) in place of owner.name."""
        original = getattr(owner, name)

        @functools.wraps(original)
        def listened(*args, **kwargs):
            return listener(original, *args, **kwargs)
        setattr(owner, name, listened)
        self.undo.append((owner, name, original))

    def __enter__(self):
        self.patch(torch.Tensor, "backward", self.saw_backward)
        self.patch(torch.optim.Optimizer, "__init__", self.saw_optimizer)
        scalers = [getattr(getattr(torch, "amp", None), "GradScaler", None), torch.cuda.amp.GradScaler]
        for scaler in {one for one in scalers if one}:
            self.patch(scaler, "scale", self.saw_scale)
        if hasattr(torch, "compile"):
            self.patch(torch, "compile", self.saw_compile)
        self.log = RankLog(self.out / "machine" / f"rank_{self.rank}.txt")
        self.stdout, sys.stdout = sys.stdout, Lines(sys.stdout, self.saw_printed)
        self.stderr, sys.stderr = sys.stderr, Lines(sys.stderr, self.log.take)
        if self.rank == 0:
            self.write_machine()
        return self

    def __exit__(self, kind, failure, trace):
        sys.stdout, sys.stderr = self.stdout, self.stderr
        self.steps.end()
        for owner, name, original in reversed(self.undo):
            setattr(owner, name, original)
        failed = failure is not None and not (isinstance(failure, SystemExit) and not failure.code)
        self.log.close(failure if failed else None)
        if self.rank == 0:
            if self.memory.rows:
                write_file(self.out / "machine" / "memory_record.csv", self.memory.text())
            self.write(f"{kind.__name__}: {failure}".splitlines()[0] if failed else "")

    def write_machine(self):
        versions = self.machine.environment()["versions"]
        for file, text in (("environment.txt", environment_text(os.environ)), ("packages.txt", packages_text()),
                           ("versions.txt", versions_text(versions)), ("npu-smi.txt", smi_text())):
            if text:
                write_file(self.out / "machine" / file, text)

    def saw_printed(self, line):
        self.log.take(line)
        self.saw_line(line)

    def saw_backward(self, original, loss, *args, **kwargs):
        self.learn_batch()
        if not self.scaled and loss.numel() == 1:
            self.pending.append(loss.detach())
        self.scaled = False
        return original(loss, *args, **kwargs)

    def saw_scale(self, original, scaler, loss):
        if isinstance(loss, torch.Tensor):
            self.pending.append(loss.detach())
            self.scaled = True
        return original(scaler, loss)

    def saw_optimizer(self, original, optimizer, *args, **kwargs):
        original(optimizer, *args, **kwargs)
        step = optimizer.step

        def listened(self_, *step_args, **step_kwargs):
            rates = [(group["lr"], group.get("initial_lr")) for group in self_.param_groups]
            self.learn_first_weights()
            result = step(*step_args, **step_kwargs)
            self.saw_step(rates)
            return result
        optimizer.step = listened.__get__(optimizer)

    def saw_step(self, rates):
        if not self.rows:
            self.learn_settings()
        if self.pending:  # the first optimizer of this step
            loss = float(torch.stack([loss.float() for loss in self.pending]).sum())
            self.rows.append({"step": self.rows[-1]["step"] + 1 if self.rows else 0, "loss": loss, "rates": []})
            self.pending = []
            self.memory.take()
            self.steps.step_ended()
        if self.rows:
            self.rows[-1]["rates"] += [float(rate) for rate, first in rates]
            rate, first = rates[0]
            if first and "multiplier" not in self.rows[-1]:
                self.rows[-1]["multiplier"] = float(rate) / float(first)
        self.tensors.begin(f"step {self.rows[-1]['step'] + 1 if self.rows else 0:06d}")

    def learn_batch(self):
        """The tokens of a micro-batch, by the names that nanochat's scripts give them; in untimed steps alone."""
        if self.rank or len(self.rows) >= WARM_UP_STEPS or self.batches is None:
            return
        main = vars(sys.modules["__main__"])
        tokens = next((main[name] for name in BATCH_GLOBALS if isinstance(main.get(name), torch.Tensor)), None)
        if tokens is None or tokens.is_floating_point():
            self.batches = None  # a loop of one's own: nothing is known of what it reads
            return
        self.batches.update(f"{list(tokens.shape)}".encode() + tensor_bytes(tokens.to(torch.int64)))

    def learn_first_weights(self):
        main = sys.modules["__main__"]
        model = getattr(main, "orig_model", getattr(main, "model", None))
        if self.rank or self.rows or self.first_weights or not isinstance(model, torch.nn.Module):
            return
        with contextlib.suppress(BadInput, KeyError):  # a model of one's own
            self.first_weights = weights_digest(clean_weights(dict(model.state_dict())))

    def learn_settings(self):
        """What nanochat's script says of itself in its globals, and of a loop of your own nothing."""
        main = sys.modules["__main__"]
        for key in SCRIPT_GLOBALS:
            value = getattr(main, key, None)
            if isinstance(value, (dict, int, float, str)):
                self.settings[key] = value
        asked = self.settings.get("user_config")
        if isinstance(asked, dict):  # since 2026-02 chat_sft.py takes what was not asked for from the checkpoint
            resolved = vars(getattr(main, "args", argparse.Namespace()))
            self.settings["user_config"] = {key: resolved.get(key) if value is None else value
                                            for key, value in asked.items()}
        model = getattr(main, "orig_model", getattr(main, "model", None))
        self.model_config = self.config_of(model)
        if self.parameters is None and isinstance(model, torch.nn.Module):
            self.parameters = sum(p.numel() for p in model.parameters())
        try:
            self.tokenizer = tokenizer_of(importlib.import_module("nanochat.tokenizer").get_tokenizer().enc)
        except Exception:  # a loop of one's own, or no tokenizer there
            self.tokenizer = None

    @staticmethod
    def config_of(model):
        """Sizes and architecture as npubench names them, all of them said; None of a model that is not nanochat's."""
        try:
            tensors, sizes = clean_weights(dict(model.state_dict())), vars(model.config)
            source = sys.modules[type(model).__module__].__file__
            try:
                config = model_config_of(tensors, sizes, source)
            except BadInput:  # written differently: what the weights tell
                config = model_config_of(tensors, sizes)
        except Exception:  # a model of one's own
            return None
        whole = {**ARCHITECTURE, **config.pop("architecture", {})}
        return config if whole == ARCHITECTURE else {**config, "architecture": whole}

    def saw_compile(self, original, model=None, *args, **kwargs):
        if isinstance(model, torch.nn.Module):
            self.watch(model)
        return original(model, *args, **kwargs)

    def watch(self, model):
        """The model that is trained: its size, its formats, and with `tensors` its ops."""
        self.parameters = sum(p.numel() for p in model.parameters())
        self.numerics["parameters"] = ", ".join(sorted({str(p.dtype) for p in model.parameters()}))
        self.tensors.watch(model)
        self.tensors.begin(f"step {len(self.rows):06d}")

    @contextlib.contextmanager
    def step(self, tokens=None):
        self.machine.synchronize()
        start = time.perf_counter_ns()
        yield
        self.machine.synchronize()
        self.rows[-1].update(time_ns=time.perf_counter_ns() - start, tokens=tokens)

    def saw_line(self, line):
        found = STEP_LINE.search(line)
        if found and self.rows:
            self.rows[-1]["step"], self.rows[-1]["time_ns"] = int(found.group(1)), float(found.group(2)) * 1e6
            # In its first weeks nanochat's own rate forgot the accumulation of gradients.
            total = getattr(sys.modules["__main__"], "total_batch_size", None)
            rate = TOKENS.search(line)
            if isinstance(total, int) and total > 0:
                self.rows[-1]["tokens"] = total
            elif rate:
                self.rows[-1]["tokens"] = round(int(rate.group(1).replace(",", "")) * float(found.group(2)) / 1e3)
        found = VALIDATION.search(line)
        if found:
            self.validations.setdefault(int(found.group(1)), {})["val_" + found.group(2)] = float(found.group(3))

    # nanochat's own modules

    def listen_to_nanochat(self):
        core = importlib.import_module("nanochat.core_eval")
        self.listen_to_core(core)
        self.patch(importlib.import_module("nanochat.checkpoint_manager"), "save_checkpoint", self.saw_checkpoint)
        common = importlib.import_module("nanochat.common")
        if hasattr(common, "compute_cleanup"):
            self.patch(common, "compute_cleanup", self.saw_cleanup)
        for name in ("arc", "mmlu", "gsm8k", "humaneval", "spellingbee"):
            try:
                module = importlib.import_module(f"tasks.{name}")
            except ImportError:  # not in this version, or its data library is not here
                continue
            for task in vars(module).values():
                if isinstance(task, type) and "evaluate" in vars(task) and task.__module__ == module.__name__:
                    self.patch(task, "evaluate", self.saw_answer)

    def listen_to_core(self, core):
        """core: nanochat's core_eval module, or whatever has its five functions."""
        self.patch(core, "evaluate_task", self.saw_task)
        self.patch(core, "evaluate_example", self.saw_example)
        self.patch(core, "forward_model", self.saw_forward)
        for kind in ("mc", "schema", "lm"):
            self.patch(core, f"batch_sequences_{kind}", self.saw_sequences)

    def saw_checkpoint(self, original, folder, step, model_data, *args, **kwargs):
        if self.rank == 0:
            self.weights = weights_digest(clean_weights(model_data))
        return original(folder, step, model_data, *args, **kwargs)

    def saw_task(self, original, model, tokenizer, data, device, task_meta):
        caller = sys._getframe(2).f_locals  # base_eval.py says there which task this is
        label = caller.get("label") or pathlib.Path(task_meta["dataset_uri"]).stem
        self.task = TaskItems(data, tokenizer, task_meta, label, caller.get("data_path"))
        self.tensors.watch(model)
        result = original(model, tokenizer, data, device, task_meta)
        if torch.distributed.is_available() and torch.distributed.is_initialized():
            shares = [None] * torch.distributed.get_world_size()
            torch.distributed.all_gather_object(shares, self.task.items)
            for share in shares:
                self.task.items.update(share)
        group = self.group_of("core", model, tokenizer, caller.get("max_per_task"))
        group["tasks"][self.task.task], self.task = self.task, None
        return result

    def group_of(self, kind, model, tokenizer, limit):
        """The tasks that were evaluated after so many steps."""
        # chat_eval.py says whose checkpoint it asks; in a training it is the one in training.
        source = None if self.rows else getattr(getattr(sys.modules["__main__"], "args", None), "source", None)
        group = self.evaluations.setdefault((len(self.rows), kind), {"tasks": {}, "limit": limit or 0,
                                                                     "source": source if source in STAGES else None})
        if "weights" not in group and self.rank == 0:
            group["weights"] = weights_digest(clean_weights(dict(model.state_dict())))
            group["tokenizer"] = tokenizer_of(tokenizer.enc) if hasattr(tokenizer, "enc") else None
        return group

    def saw_answer(self, original, task, conversation, response):
        ok = original(task, conversation, response)
        frame, around = sys._getframe(2), {}  # chat_eval.py says there which task and which problem this is
        for _ in range(4):
            if frame is None or "task_name" in around:
                break
            around = {**frame.f_locals, **around}
            frame = frame.f_back
        if "task_name" not in around or "task_object" not in around:
            return ok  # a reward in training
        group = self.group_of("chat", around["model"], around["tokenizer"], around.get("max_problems"))
        items = group["tasks"].setdefault(around["task_name"], ChatItems(around["task_name"], around))
        if "letter_ids" in around:
            logits = around["logits"][around["idx"], around["answer_pos"]].float()
            log_probs = torch.log_softmax(logits, -1)[around["letter_ids"]].tolist()
            asked = [int(token) for token in around["prompt_ids"][around["idx"]][: around["answer_pos"] + 1]]
            inputs = "".join(input_text([*asked, letter], len(asked), len(asked) + 1) for letter in around["letter_ids"])
            items.saw(around["i0"] + around["idx"], conversation, response, ok, log_probs, inputs)
        else:
            asked = around.get("encoded_prompt") or around["tokenizer"].render_for_completion(conversation)
            items.saw(around["i"], conversation, response, ok, None, input_text(asked))
        return ok

    def saw_cleanup(self, original, *args, **kwargs):
        if torch.distributed.is_available() and torch.distributed.is_initialized():
            mine = {(steps, name): (task.items, task.bytes_of) for (steps, kind), group in self.evaluations.items()
                    if kind == "chat" for name, task in group["tasks"].items()}
            shares = [None] * torch.distributed.get_world_size()
            torch.distributed.all_gather_object(shares, mine)
            for share in shares:
                for (steps, name), (items, bytes_of) in share.items():
                    task = self.evaluations.get((steps, "chat"), {"tasks": {}})["tasks"].get(name)
                    if task:
                        task.items.update(items)
                        task.bytes_of.update(bytes_of)
        return original(*args, **kwargs)

    def saw_example(self, original, idx, *args, **kwargs):
        if self.task is None:
            return original(idx, *args, **kwargs)
        self.task.begin(idx)
        self.tensors.begin(f"item {self.task.task}/{self.task.ids[idx]}")
        ok = original(idx, *args, **kwargs)
        self.task.end(ok)
        return ok

    def saw_sequences(self, original, tokenizer, prompts):
        found = original(tokenizer, prompts)
        if self.task is not None:
            self.task.saw_spans(prompts, *found)
        return found

    def saw_forward(self, original, model, input_ids):
        found = original(model, input_ids)
        if self.task is not None:
            self.task.saw_scores(*found)
        return found

    # what is written

    def write(self, error):
        if self.rows:
            self.folders.append(self.write_training(error))
        for steps, kind in sorted(self.evaluations):
            self.folders.append(self.write_evaluation(steps, kind))
        if not self.folders and not error:
            raise BadInput("nothing was seen: no optimizer step and no CORE task")
        for folder in self.folders:
            print(f"captured: {folder}", file=sys.stderr)

    def common(self, tokenizer):
        numerics = {"fp32 products": getattr(torch, "get_float32_matmul_precision", lambda: "unknown")(),
                    "deterministic algorithms": str(torch.are_deterministic_algorithms_enabled()), **self.numerics}
        environment = dict(self.machine.environment(), started_at=self.started, finished_at=now())
        source = "PyTorch on this machine"
        return {"environment": environment,
                "numerics": [{"item": item, "value": value, "status": "documented", "source": source}
                             for item, value in numerics.items()],
                "artifacts": {"tokenizer.json": tokenizer_text(tokenizer)} if tokenizer else {}}

    def write_training(self, error):
        rows = self.rows
        tokenizer = next((g["tokenizer"] for g in self.evaluations.values() if g.get("tokenizer")), self.tokenizer)
        finite = [row for row in rows if math.isfinite(row["loss"])]
        metrics = [metric("train_loss", rows[-1]["loss"] if rows[-1] in finite else None, "nat", "lower", n=1,
                          why="the loss of the last step is not finite"),
                   metric("optimizer_steps", len(rows), "1")]
        for key, unit in (("val_bpb", "bit/byte"), ("val_loss", "nat")):
            values = {step: v[key] for step, v in self.validations.items() if key in v}
            if values:
                metrics += [metric(key, values[max(values)], unit, "lower"),
                            metric("min_" + key, min(values.values()), unit, "lower")]
        if self.parameters:
            metrics.append(metric("parameters", self.parameters, "1"))
        batch = self.settings.get("total_batch_size")
        if isinstance(batch, int) and batch > 0:
            metrics.append(metric("tokens", batch * len(rows), "token"))
        parts = self.common(tokenizer)
        parts["artifacts"]["steps.csv"] = self.steps_csv(finite)
        parts["host_artifacts"] = {"times.csv": self.times_csv()}
        self.write_tensors("step ", parts)
        settings = dict(self.settings)
        if self.batches is not None and self.batches.digest() != hashlib.sha256().digest():
            settings["first_batches"] = f"{min(len(rows), WARM_UP_STEPS)} steps {self.batches.hexdigest()}"
        if self.first_weights:
            settings["first_weights"] = self.first_weights
        if error:
            parts.update(status="failed", error=error)
        else:
            settings["effective"] = {"iterations": len(rows)}
            if self.model_config:
                settings["effective"]["config"] = self.model_config
        return write_record(
            self.out, "train", self.name, self.machine, settings=settings, seed=self.seed(),
            metrics=metrics, host_metrics=self.times(), subject={"weights": self.weights} if self.weights else {},
            comparability={"tokenizer": tokenizer["sha256"]} if tokenizer else {}, **parts)

    def seed(self):
        return torch.initial_seed() % 2**63

    def write_tensors(self, prefix, parts):
        path = self.out / f".tensors.{os.getpid()}"
        if self.tensors.write(path, prefix):
            parts.setdefault("host_artifacts", {})["tensors.safetensors"] = path.read_bytes()
            path.unlink()

    def steps_csv(self, rows):
        groups = max((len(row["rates"]) for row in rows), default=0)
        columns = ["step", "train_loss", "lr_multiplier", *(f"lr_{i}" for i in range(groups)), "val_bpb", "val_loss"]
        by_step = {row["step"]: row for row in rows}
        lines = [",".join(columns)]
        for step in sorted({*by_step, *self.validations}):
            row, validation = by_step.get(step, {"rates": []}), self.validations.get(step, {})
            rates = row["rates"] + [None] * (groups - len(row["rates"]))
            cells = [step, row.get("loss"), row.get("multiplier"), *rates,
                     validation.get("val_bpb"), validation.get("val_loss")]
            lines.append(",".join("" if cell is None else repr(cell) for cell in cells))
        return "\n".join(lines) + "\n"

    def times_csv(self):
        lines = ["step,step_time_ns,tokens"]
        lines += [f"{row['step']},{row.get('time_ns', '')},{row.get('tokens') or ''}" for row in self.rows]
        return "\n".join(lines) + "\n"

    def times(self):
        timed = [row for row in self.rows if row.get("time_ns")]
        steady = timed[WARM_UP_STEPS:] or timed
        rates = [row["tokens"] * 1e9 / row["time_ns"] for row in steady if row.get("tokens")]
        median = lambda values: float(statistics.median(values)) if values else None
        memory, why = self.machine.peak_memory()
        return [metric("step_time_ns", median([row["time_ns"] for row in steady]), "ns", "lower", "device", len(steady),
                       why="no line of nanochat and no step() told the times"),
                metric("throughput_tok_s", median(rates), "tok/s", "higher", "device", len(rates),
                       why="the tokens of a step are unknown"),
                metric("peak_memory_bytes", memory, "byte", "lower", "device", why=why)]

    def write_evaluation(self, steps, kind):
        group = self.evaluations[steps, kind]
        tokenizer, tasks = group["tokenizer"], list(group["tasks"].values())
        is_last = steps == max(at for at, of in self.evaluations if of == kind)
        seen = self.rows[steps - 1]["step"] + 1 if steps else 0
        name = (group["source"] or self.name) + ("" if is_last else f"@{seen}") + f".{kind}"
        parts = self.common(tokenizer)
        limit = group["limit"] if group["limit"] > 0 else 0
        settings = {"tasks": [task.task for task in tasks], "max_per_task": limit or -1}
        comparability = {"max_per_task": str(limit or "all"),
                         "tokenizer": tokenizer["sha256"] if tokenizer else "unknown"}
        if kind == "core":
            settings.update(baselines="v1", few_shot_seed=1234, shuffle_seed=1337)
            comparability.update(baselines="v1", few_shot_seed="1234", shuffle_seed="1337", scorer="core-1")
        items, metrics, shared = {}, [], dict(comparability)
        for task in tasks:
            comparability.update(task.comparability())
            file = "items/" + re.sub(r"[^A-Za-z0-9._-]", "_", task.task) + ".jsonl"
            parts["artifacts"][file] = "".join(item_line(task.items[i]) for i in sorted(task.items))
            items[task.task] = file
            metrics += task.metrics()
        if kind == "core":
            composite = core_composite(tasks, shared, limit > 0)
            metrics += composite[0]
            comparability.update(composite[1])
        if is_last and kind == "core":
            self.write_tensors("item ", parts)
        return write_record(
            self.out, "eval", name, self.machine, settings=settings, seed=self.seed() if self.rows else None,
            trained_on=self.machine.device if self.rows else "", comparability=comparability,
            subject={"weights": group["weights"]}, metrics=metrics, items=items, **parts)


def run_module(options):
    sys.path.insert(0, os.getcwd())
    if options.tensors:
        os.environ["TORCHDYNAMO_DISABLE"] = "1"  # a compiled model has no ops to listen to
    try:
        found = importlib.util.find_spec(options.module)
    except ModuleNotFoundError:
        found = None
    if found is None:
        raise BadInput(f"{os.getcwd()}: there is no module {options.module}; start it in nanochat's folder")
    name = options.name or NAMES.get(options.module.rpartition(".")[2], options.module.rpartition(".")[2])
    settings = {"module": options.module, "arguments": options.arguments}
    with Capture(options.out, name, settings, options.tensors, options.device, options.profile) as capture:
        try:
            capture.listen_to_nanochat()
        except ImportError as failure:
            raise BadInput(
                f"{os.getcwd()}: not nanochat's folder, or something it needs is missing: {failure}") from failure
        sys.argv = [options.module, *options.arguments]
        runpy.run_module(options.module, run_name="__main__", alter_sys=True)


class Arguments(argparse.ArgumentParser):
    def error(self, message):
        raise BadInput(f"{message} (--help has examples)")


def main():
    try:
        return run(sys.argv[1:])
    except BadInput as failure:
        print(f"nanochat_capture: {failure}", file=sys.stderr)
        return 64


def run(argv):
    first, examples, about = __doc__.split("\n\n", 2)
    parser = Arguments(usage=examples.strip(), description=f"{first}\n\n{about}",
                       formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True, help="folder of the run, or of the converted model")
    parser.add_argument("-m", dest="module", help="nanochat's module to run, as python -m names it")
    parser.add_argument("--name", help="of the run in tables (default: the stage: base, mid, sft, rl)")
    parser.add_argument("--device", help="what records call the accelerator (default: captured_ and its name); "
                        "npubench gate pairs records of equal names")
    parser.add_argument("--tensors", type=int, default=0, metavar="N",
                        help="keep what every op gives in the first N steps or items (npubench compare tensors)")
    parser.add_argument("--profile", type=int, default=0, metavar="N",
                        help=f"profile N optimizer steps behind step {WARM_UP_STEPS} (npubench profile OUT/profile)")
    parser.add_argument("--convert", metavar="FILE", help="a model_NNNNNN.pt: write it as safetensors, run nothing")
    parser.add_argument("--config", help="of --convert: the meta file (default: meta_NNNNNN.json beside it)")
    parser.add_argument("--tokenizer", help="of --convert: nanochat's tokenizer folder, or its tokenizer.pkl")
    parser.add_argument("--gpt-py", help="of --convert: the nanochat/gpt.py that trained it, for constants that the "
                        "weights do not tell (versions between the releases)")
    parser.add_argument("arguments", nargs="*", help="after --: of the module")
    options = parser.parse_args(argv)
    if bool(options.module) == bool(options.convert):
        parser.error("give either -m MODULE or --convert FILE")
    if torch is None:
        raise BadInput(f"torch cannot be imported here ({TORCH_IS_MISSING}); run this where nanochat runs")
    convert(options) if options.convert else run_module(options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
