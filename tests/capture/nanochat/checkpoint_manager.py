import json
import os

import torch


def save_checkpoint(checkpoint_dir, step, model_data, optimizer_data, meta_data, rank=0):
    torch.save(model_data, os.path.join(checkpoint_dir, f"model_{step:06d}.pt"))
    with open(os.path.join(checkpoint_dir, f"meta_{step:06d}.json"), "w", encoding="utf-8") as file:
        json.dump(meta_data, file)
