import json
import os
import pathlib

import torch

from nanochat.gpt import GPT, GPTConfig


def save_checkpoint(checkpoint_dir, step, model_data, optimizer_data, meta_data, rank=0):
    torch.save(model_data, os.path.join(checkpoint_dir, f"model_{step:06d}.pt"))
    with open(os.path.join(checkpoint_dir, f"meta_{step:06d}.json"), "w", encoding="utf-8") as file:
        json.dump(meta_data, file)


def load_model(folder):
    """The last checkpoint in it."""
    path = max(pathlib.Path(folder).glob("model_*.pt"))
    meta = json.loads(path.with_name(path.name.replace("model_", "meta_")).with_suffix(".json").read_text())
    model = GPT(GPTConfig(**meta["model_config"]))
    model.load_state_dict(torch.load(path))
    return model
