"""Batches of nanochat's chat stages, for stages_parity.py: conversations of byte tokens, padded rows, the stream of
mid_train.py and the packed rows of newer chat_sft.py. Written from karpathy/nanochat at 3a5e0bc and 00255c1."""
import torch

BOS, USER_START, USER_END, ASSISTANT_START, ASSISTANT_END = range(256, 261)


def rendered(user, assistant):
    """Ids and mask of one question and its answer (tokenizer.py, render_conversation)."""
    prompt = [BOS, USER_START, *user.encode(), USER_END, ASSISTANT_START]
    answer = [*assistant.encode(), ASSISTANT_END]
    return prompt + answer, [0] * len(prompt) + [1] * len(answer)


def tensors_of(rows):
    return torch.tensor(rows, dtype=torch.int64)


def padded(conversations):
    """chat_sft.py, collate_and_yield."""
    width = max(len(ids) for ids, _ in conversations) - 1
    inputs, targets = [], []
    for ids, mask in conversations:
        rest = width - (len(ids) - 1)
        inputs.append(ids[:-1] + [ASSISTANT_END] * rest)
        targets.append([t if m else -1 for t, m in zip(ids[1:], mask[1:])] + [-1] * rest)
    return tensors_of(inputs), tensors_of(targets)


class Stream:
    """mid_train.py, mid_data_generator."""

    def __init__(self, conversations, settings):
        self.all, self.buffer, self.cursor, self.is_over = conversations, [], 0, False
        self.rows, self.length = settings["device_batch_size"], settings["sequence_len"]

    def next(self):
        needed = self.rows * self.length + 1
        while len(self.buffer) < needed:
            self.buffer += self.all[self.cursor][0]
            self.cursor += 1
            if self.cursor >= len(self.all):
                self.cursor, self.is_over = 0, True
        tokens, self.buffer = self.buffer[:needed], self.buffer[needed:]
        self.progress = self.cursor / len(self.all)
        return [tensors_of(t).view(self.rows, self.length) for t in (tokens[:-1], tokens[1:])]


class Packs:
    """chat_sft.py at 00255c1, sft_data_generator_bos_bestfit; targets are the supervised tokens, as since 83dccc2."""

    def __init__(self, conversations, settings):
        self.all, self.waiting, self.cursor, self.consumed, self.is_over = conversations, [], 0, 0, False
        self.rows, self.size = settings["device_batch_size"], settings["packed"]["sequence_len"] + 1
        self.buffer = settings["packed"]["buffer"]

    def row(self):
        ids, mask = [], []
        while len(ids) < self.size:
            while len(self.waiting) < self.buffer:
                self.waiting.append(self.all[self.cursor])
                self.cursor = (self.cursor + 1) % len(self.all)
            fitting = [one for one in self.waiting if len(one[0]) <= self.size - len(ids)]
            if not fitting:
                break
            best = max(fitting, key=lambda one: len(one[0]))  # the first of equals
            del self.waiting[next(i for i, one in enumerate(self.waiting) if one is best)]
            self.consumed += 1
            ids, mask = ids + best[0], mask + best[1]
        rest = self.size - len(ids)
        return ids + [BOS] * rest, [t if m else -1 for t, m in zip(ids, mask)] + [-1] * rest

    def next(self):
        rows = [self.row() for _ in range(self.rows)]
        self.progress = self.consumed / len(self.all)
        self.is_over = self.is_over or self.consumed >= len(self.all)
        return [tensors_of(t) for t in ([r[0][:-1] for r in rows], [r[1][1:] for r in rows])]


def one_pass(loader, micro_batches, multiplier):
    """Batches and rate of each update: a batch is fetched ahead, and progress is what has been fetched."""
    ahead, progress = loader.next(), 0
    while not loader.is_over:
        batches = []
        for _ in range(micro_batches):
            batches.append(ahead)
            ahead = loader.next()
            progress = max(progress, loader.progress)
        yield batches, multiplier(progress)
