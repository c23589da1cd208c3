"""Bytes and nanochat's nine specials, with the interface of its tokenizer."""
import pickle
import sys
import types
import unittest.mock

from nanochat_capture import NANOCHAT_SPLIT

SPECIALS = ["<|bos|>", "<|user_start|>", "<|user_end|>", "<|assistant_start|>", "<|assistant_end|>",
            "<|python_start|>", "<|python_end|>", "<|output_start|>", "<|output_end|>"]


class Encoding:
    """What nanochat_capture.py reads of a tiktoken Encoding."""

    def __init__(self):
        self._pat_str = NANOCHAT_SPLIT
        self._mergeable_ranks = {bytes([b]): b for b in range(256)}
        self._special_tokens = {name: 256 + i for i, name in enumerate(SPECIALS)}

    def pickled(self):
        """As tiktoken pickles itself: an object of tiktoken.core.Encoding with its state."""
        stand_in = type("Encoding", (), {"__module__": "tiktoken.core", "__getstate__": lambda _: {
            "name": "rustbpe", "pat_str": self._pat_str, "mergeable_ranks": self._mergeable_ranks,
            "special_tokens": self._special_tokens}})
        modules = {"tiktoken": types.ModuleType("tiktoken"), "tiktoken.core": types.ModuleType("tiktoken.core")}
        modules["tiktoken.core"].Encoding = stand_in
        with unittest.mock.patch.dict(sys.modules, modules):
            return pickle.dumps(stand_in())


class Tokenizer:
    def __init__(self):
        self.enc = Encoding()

    def get_bos_token_id(self):
        return self.enc._special_tokens["<|bos|>"]

    def __call__(self, texts, prepend=None):
        one = lambda text: ([prepend] if prepend is not None else []) + list(text.encode())
        return one(texts) if isinstance(texts, str) else [one(text) for text in texts]

    def decode(self, ids):
        return bytes(i for i in ids if i < 256).decode(errors="replace")

    def encode(self, text):
        return list(text.encode())

    def render_for_completion(self, conversation):
        special = self.enc._special_tokens
        return [special["<|bos|>"], special["<|user_start|>"], *self.encode(conversation["messages"][0]["content"]),
                special["<|user_end|>"], special["<|assistant_start|>"]]

    def render_conversation(self, conversation):
        """Tokens, and 1 where they are learned."""
        asked = self.render_for_completion(conversation)
        answer = [*self.encode(conversation["messages"][1]["content"]), self.enc._special_tokens["<|assistant_end|>"]]
        return asked + answer, [0] * len(asked) + [1] * len(answer)


def get_tokenizer():
    return Tokenizer()
