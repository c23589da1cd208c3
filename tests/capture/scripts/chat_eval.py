"""Asks a checkpoint of base_train.py the chat tasks, in the manner of nanochat's chat_eval.py."""
import argparse
import pathlib

import torch

from nanochat.checkpoint_manager import load_model
from nanochat.common import compute_cleanup
from nanochat.tokenizer import Tokenizer
from tasks.arc import ARC
from tasks.gsm8k import GSM8K


def run_categorical_eval(task_object, tokenizer, model, batch_size, max_problems=None):
    passed = 0
    for i0 in range(0, len(task_object), batch_size):
        conversations = [task_object[i] for i in range(i0, min(i0 + batch_size, len(task_object)))]
        prompt_ids = [tokenizer.render_for_completion(conversation) for conversation in conversations]
        length = max(map(len, prompt_ids))
        padded = [ids + [tokenizer.get_bos_token_id()] * (length - len(ids)) for ids in prompt_ids]
        with torch.no_grad():
            logits = model(torch.tensor(padded))
        for idx, conversation in enumerate(conversations):
            letters = conversation["letters"]
            letter_ids = [tokenizer.encode(letter)[0] for letter in letters]
            answer_pos = len(prompt_ids[idx]) - 1
            predicted = letters[logits[idx, answer_pos, letter_ids].argmax().item()]
            passed += int(task_object.evaluate(conversation, predicted))
    return passed / len(task_object)


def run_generative_eval(task_object, tokenizer, model, num_samples, max_new_tokens, temperature, top_k,
                        max_problems=None):
    passed = 0
    for i in range(len(task_object)):
        conversation = task_object[i]
        ids = tokenizer.render_for_completion(conversation)
        start = len(ids)
        for _ in range(max_new_tokens):
            with torch.no_grad():
                ids.append(model(torch.tensor([ids]))[0, -1].argmax().item())
        completions = [tokenizer.decode(ids[start:]), f"It is\n#### {i + 2}"][:num_samples]
        passed += int(any([task_object.evaluate(conversation, completion) for completion in completions]))
    return passed / len(task_object)


def run_chat_eval(task_name, model, tokenizer, max_problems=None):
    if task_name == "ARC-Easy":
        return run_categorical_eval(ARC(), tokenizer, model, 5, max_problems)
    return run_generative_eval(GSM8K(), tokenizer, model, 2, 8, 0.0, 50, max_problems)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    parser.add_argument("-i", "--source", choices=["base", "sft"], help="whose checkpoint is asked; none: base's, unsaid")
    parser.add_argument("-a", "--task-name", default="ARC-Easy|GSM8K")
    args = parser.parse_args()
    torch.set_num_threads(1)
    model = load_model(args.folder / "sft" if args.source == "sft" else args.folder)
    for task_name in args.task_name.split("|"):
        print(f"{task_name} accuracy: {100 * run_chat_eval(task_name, model, Tokenizer()):.2f}%")
    compute_cleanup()
