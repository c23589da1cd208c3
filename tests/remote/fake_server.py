#!/usr/bin/env python3
"""An OpenAI-compatible server that misbehaves on purpose, for tests of harness/remote.

    python3 fake_server.py PERSONA PORT_FILE LOG_FILE PORT [CERTIFICATE KEY]

Its model is a table of log-probabilities of the next byte by the last one, so every answer is known. Ids are those of the
byte tokenizer: 0 … 255 bytes, then nanochat's nine special tokens (256 is <|bos|>). Listens on 127.0.0.1:PORT (0: any), writes its port
to PORT_FILE and a line for every request to LOG_FILE (method, path, status; no bodies). Ends when its stdin is closed.

A persona is a name, or name:N; PERSONAS says what each does.
"""
import http.server
import json
import math
import os
import pathlib
import ssl
import sys
import threading
import time
import urllib.error
import urllib.request

PERSONAS = {
    "vllm": "everything right, as vLLM answers",
    "npubench": "the same, as our own server is called",
    "vllm_old_echo": "log-probabilities of prompts by echo only",
    "sglang": "log-probabilities of prompts by POST /generate only",
    "llamacpp": "as llama.cpp @ 050ee92d (2026-06): echo is ignored, /tokenize wants \"content\", ids stand beside log-probabilities, "
                "which move by what its prompt cache held",
    "llamacpp_refuse": "the same, but echo is refused with status 500, as its builds did in 2025 (ggml-org/llama.cpp#12591)",
    "llamacpp_silent": "echo is ignored: one entry in OpenAI's first form, whatever the prompt; no ids, no /tokenize",
    "mindie": "no ids as prompts, nothing of prompts",
    "few_letters": "the same, never says A to D; to every other length of a chat's prompt a single letter is among the likely tokens",
    "says_a": "as vllm, but an answer is held to nothing and begins with A",
    "bos_twice": "puts a second <|bos|> in front of ids",
    "other_tokenizer": "every id is one more than ours",
    "processed_logprobs": "log-probabilities after the temperature",
    "too_likely": "log-probabilities that are none of a distribution",
    "choices_out_of_order": "two choices, the one of index 0 last",
    "busy": "429 with Retry-After: 0 to every third request",
    "unavailable": "503 to every third request",
    "reset": "closes every fourth connection without an answer",
    "half_body": "closes every fourth connection in the middle of the answer",
    "slow": "every answer takes 3 s from request N on",
    "dies_at_item": "ends the process at its Nth scored request",
    "always_busy": "429 to everything but the list of models",
    "nan": "NaN instead of every log-probability of the byte N",
    "floor": "-9999 instead of every log-probability of the byte N",
    "other_model": "answers as another model from request N on",
    "other_name": "lists another model from request N on",
    "html": "a page of HTML for everything",
    "html_at_item": "502 with a page of HTML at request N, once; HTML with status 200 from N + 10 on",
    "needs_key": "401 without 'Authorization: Bearer secret-key'",
    "noisy": "log-probabilities move by up to 0.01 either way from request to request",
    "no_extras": "400 for members that OpenAI's reference does not have",
    "no_models": "404 for the list of models",
    "endless": "an answer without an end from request N on",
    "echoes_body": "400 that quotes the request, from request N on",
    "no_context": "does not say how long its context is",
    "rounded": "log-probabilities of a model rounded to bf16",
    "other_template": "makes another prompt of a conversation",
    "thinks": "answers chats behind a thought that ends with </think>",
    "no_detokenize": "404 for /detokenize",
    "bad_tokens": "/tokenize answers with negative ids, texts, a million ids, or ids beyond any vocabulary (N = 0 … 3)",
    "other_tokens": "every id is one more than before from the Nth /tokenize on",
    "spaced": "/detokenize puts a space in front",
    "strips": "/detokenize takes a space in front away",
    "bos_in_texts": "/tokenize puts <|bos|> in front of every text, whatever is asked",
    "bos_hidden": "the same, and it refuses an empty text",
    "template_proxy": "stands before the server of port N and changes every conversation, as another template would",
}

MINDIE = ("mindie", "few_letters")
LLAMACPP = ("llamacpp", "llamacpp_refuse")
persona, _, argument = sys.argv[1].partition(":")
assert persona in PERSONAS, persona
limit = int(argument or 0)
port_file, log_file = map(pathlib.Path, sys.argv[2:4])
VOCABULARY = 265
BOS, STOP = 256, 259  # <|bos|>, <|assistant_end|>
lock = threading.Lock()
counts = {"all": 0, "completions": 0, "tokenize": 0}


def bits(x):
    """A number from 0 to 1 of an integer: a hash, the same on every host."""
    x = (x * 0x9E3779B97F4A7C15 + 0x7F4A7C15) & (2**64 - 1)
    x ^= x >> 29
    x = x * 0xBF58476D1CE4E5B9 & (2**64 - 1)
    return (x ^ x >> 32) % 1000003 / 1000003


def table_of(model):
    rows = []
    for last in range(VOCABULARY):
        # Bytes of text are likelier, so that greedy answers are texts.
        logits = [4 * bits(last * 1009 + v + model * 7919) + (3 if 97 <= v <= 122 or v in (32, 65, 66, 67, 68) else 0)
                  for v in range(VOCABULARY)]
        for before, after in ((101, 32), (32, 116)):  # behind "e" a space, behind a space "t"
            if last == before:
                logits[after] += 5
        if last == STOP:  # an answer in a chat begins with a letter
            for letter in b"ABCD":
                logits[letter] += 5
        if persona == "rounded":
            logits = [round(x * 16) / 16 for x in logits]
        total = math.log(sum(map(math.exp, logits)))
        rows.append([x - total for x in logits])
    return rows


tables = {0: table_of(0)}
if persona == "other_model":
    tables[1] = table_of(1)


def text_of(ids):
    return bytes(i for i in ids if i < 256).decode("utf-8", "replace")


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # an answer is written in two pieces: else the second waits 40 ms for an ACK

    def do_GET(self):
        number = self.count("all")
        if persona == "html":
            return self.page(200)
        if persona == "template_proxy":
            return self.forward()
        if self.path == "/props" and persona in LLAMACPP:
            return self.answer({"build_info": "b1-toy", "total_slots": 4})
        if self.path == "/version" and persona in LLAMACPP:
            return self.error(404, "File Not Found")
        if self.path == "/version":
            return self.answer({"version": "0.9.1"}) if persona != "sglang" else self.error(404, "no such path")
        if self.path != "/v1/models" or persona == "no_models":
            return self.error(404, "Not Found")
        if persona == "needs_key" and self.headers.get("Authorization") != "Bearer secret-key":
            return self.error(401, "wrong key secret-key-of-yours")
        owner = {"sglang": "sglang", "llamacpp": "llamacpp", "llamacpp_refuse": "llamacpp", "llamacpp_silent": "llamacpp", "mindie": "MindIE", "few_letters": "MindIE",
                 "npubench": "npubench"}.get(persona, "vllm")
        name = "toy" if persona != "other_name" or number < limit else "toy-2"
        model = {"id": name, "object": "model", "owned_by": owner, "max_model_len": 1024}
        if persona in LLAMACPP:
            model["meta"] = {"n_ctx": model.pop("max_model_len"), "n_vocab": VOCABULARY}
        if persona == "no_context":
            del model["max_model_len"]
        self.answer({"object": "list", "data": [model]})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        number = self.count("all")
        if persona == "html":
            return self.page(200)
        if persona == "needs_key" and self.headers.get("Authorization") != "Bearer secret-key":
            return self.error(401, "wrong key secret-key-of-yours")
        if persona == "template_proxy":
            return self.forward(body)
        if self.path == "/v1/chat/completions":
            return self.chat(body)
        if self.path == "/apply-template" and persona.startswith("llamacpp"):
            return self.answer({"prompt": text_of(self.rendered(body["messages"]))})
        if self.path == "/detokenize" and persona not in (*MINDIE, "llamacpp_silent", "no_detokenize"):
            return self.detokenize(text_of(body["tokens"]))
        if self.path == "/tokenize":
            return self.tokenize(body)
        if self.path == "/generate" and persona == "sglang":
            return self.sglang(body)
        if self.path != "/v1/completions":
            return self.error(404, "Not Found")
        self.completions(body, self.count("completions"), number)

    def count(self, key):
        with lock:
            counts[key] += 1
            return counts[key]

    def detokenize(self, text):
        if persona == "spaced":
            text = " " + text
        if persona == "strips":
            text = text.removeprefix(" ")
        self.answer({"content" if persona in LLAMACPP else "prompt": text})

    def tokenize(self, body):
        number = self.count("tokenize")
        if persona in (*MINDIE, "llamacpp_silent"):
            return self.error(404, "Not Found")
        if persona in LLAMACPP:
            marked = [BOS] if body.get("add_special") else []
            return self.answer({"tokens": marked + list(body.get("content", "").encode())})
        if persona == "bad_tokens":
            return self.answer({"tokens": [[-1], ["H"], [72] * 1000000, [1 << 20]][limit]})
        if persona == "bos_hidden" and body.get("prompt") == "":
            return self.error(400, "prompt must not be empty")
        ids = self.rendered(body["messages"]) if "messages" in body else list(body["prompt"].encode())
        if (body.get("add_special_tokens") or persona in ("bos_in_texts", "bos_hidden")) and "messages" not in body:
            ids = [BOS] + ids
        if persona == "other_tokenizer" or persona == "other_tokens" and number >= limit:
            ids = [i + 1 for i in ids]
        self.answer({"tokens": ids, "count": len(ids), "max_model_len": 1024})

    def rendered(self, messages):
        if persona == "other_template":
            return list("".join(f"### {m['role']}:\n{m['content']}\n" for m in messages).encode()) + list(b"### assistant:\n")
        ids = [BOS]
        for m in messages:
            begin = 257 if m["role"] == "user" else 259
            ids += [begin, *m["content"].encode(), begin + 1]
        return ids + [259]

    def chat(self, body):
        """Texts only. MindIE tells at most five likely tokens and holds no answer to any."""
        if persona in MINDIE and body.get("top_logprobs", 0) > 5:
            return self.error(422, "top_logprobs must be at most 5")
        prompt = self.rendered(body["messages"])
        table, last, new = tables[0], prompt[-1], []
        allowed = body.get("allowed_token_ids") or [int(i) for i in body.get("logit_bias", {})]
        allowed = allowed if allowed and persona not in MINDIE else range(VOCABULARY)
        if persona == "few_letters":
            allowed = [v for v in allowed if v not in tuple(b"ABCD")]
        likely = sorted(range(256), key=lambda v: (-table[last][v], v))
        if persona == "few_letters" and len(prompt) % 2:
            likely = [v for v in likely if v not in tuple(b"BCD")]
        likely = likely[:body.get("top_logprobs", 0)]
        for _ in range(body["max_tokens"]):
            new.append(last := max(allowed, key=lambda v: (table[last][v], -v)))
        text = ("Let me think: 5.</think>\n\n" if persona == "thinks" else "") + text_of(new)
        choice = {"index": 0, "finish_reason": "length", "message": {"role": "assistant", "content": text}}
        if body.get("logprobs"):
            top = [{"token": text_of([v]), "logprob": table[prompt[-1]][v]} for v in likely]
            choice["logprobs"] = {"content": [{"token": text, "logprob": 0, "top_logprobs": top}]}
        self.answer({"id": "chatcmpl-1", "object": "chat.completion", "choices": [choice],
                     "usage": {"prompt_tokens": len(prompt), "completion_tokens": len(new)}})

    def forward(self, body=None):
        if body and "messages" in body:
            body["messages"] = [dict(m, content="### Instruction:\n" + m["content"]) for m in body["messages"]]
        request = urllib.request.Request(f"http://127.0.0.1:{limit}{self.path}", method=self.command,
                                         data=json.dumps(body).encode() if body else None)
        try:
            with urllib.request.urlopen(request) as answer:
                self.send(answer.status, answer.read(), answer.headers["Content-Type"])
        except urllib.error.HTTPError as refused:
            self.send(refused.code, refused.read(), refused.headers["Content-Type"])

    def completions(self, body, number, request):
        if persona == "always_busy" or persona == "busy" and request % 3 == 0:
            return self.error(429, "too many requests", {"Retry-After": "0"})
        if persona == "unavailable" and request % 3 == 0:
            return self.error(503, "overloaded", {"Retry-After": "0"})
        if persona == "reset" and request % 4 == 0:
            return self.hang_up()
        if persona == "dies_at_item" and number >= limit:
            os._exit(1)
        if persona == "slow" and number >= limit:
            time.sleep(3)
        if persona == "html_at_item" and (number == limit or number > limit + 10):
            return self.page(502 if number == limit else 200)
        if persona == "echoes_body" and number >= limit:
            return self.error(400, "cannot read the input " + json.dumps(body))
        extras = {"return_token_ids", "skip_special_tokens", "stop_token_ids", "prompt_logprobs", "allowed_token_ids"}
        if persona in ("no_extras", "vllm_old_echo") and extras & set(body):
            return self.error(400, "Unknown parameter: 'return_token_ids'.")
        prompt = body["prompt"]
        if isinstance(prompt, str):
            prompt = list(prompt.encode())
        elif persona in MINDIE:
            return self.error(422, "prompt must be a string")
        if persona == "bos_twice" and isinstance(body["prompt"], list):
            prompt = [BOS] + prompt
        if len(prompt) + body["max_tokens"] > 1024:
            return self.error(400, "This model's maximum context length is 1024 tokens.")
        table = tables[1 if persona == "other_model" and number >= limit else 0]
        temperature = body.get("temperature", 1)
        new = []
        allowed = body.get("allowed_token_ids") if persona not in (*LLAMACPP, "llamacpp_silent") else None
        allowed = allowed or [int(i) for i in body.get("logit_bias", {})] or range(VOCABULARY)
        last = prompt[-1]
        reason = "length"
        for i in range(body["max_tokens"]):
            if persona == "says_a":
                allowed = range(VOCABULARY) if i else [ord("A")]
            last = max(allowed, key=lambda v: (table[last][v], -v))
            new.append(last)
            if last in body.get("stop_token_ids", []) or last == STOP:
                reason = "stop"
                break
        choice = {"index": 0, "text": text_of(new), "finish_reason": reason, "logprobs": None}
        if body.get("return_token_ids") and not persona.startswith("llamacpp"):
            choice["token_ids"] = new
        noise = (bits(request) - 0.5) * 0.02 if persona == "noisy" else 0
        score = lambda before, v: self.number(table[before][v], v, temperature) - noise
        if body.get("prompt_logprobs") and persona not in ("vllm_old_echo", "sglang", *LLAMACPP, "llamacpp_silent"):
            choice["prompt_logprobs"] = [None] + [
                {str(v): {"logprob": score(a, v), "rank": 1, "decoded_token": text_of([v])}
                 for v in (b, max(range(VOCABULARY), key=lambda v: (table[a][v], -v)))}
                for a, b in zip(prompt, prompt[1:])]
        if body.get("echo") and persona == "llamacpp_refuse":
            return self.error(500, "Only no echo is supported")
        if body.get("logprobs") is not None and persona in LLAMACPP:
            content = []
            cache = request % 2 * 1e-7 if persona == "llamacpp" else 0
            for b, i in zip(prompt[-1:] + new[:-1], new):
                likely = sorted(range(VOCABULARY), key=lambda v: (-table[b][v], v))[:body["logprobs"]]
                content.append({"id": i, "token": text_of([i]), "logprob": table[b][i] - cache, "top_logprobs": [
                    {"id": v, "token": text_of([v]), "logprob": table[b][v] - cache} for v in likely]})
            choice["logprobs"] = {"content": content}
        elif body.get("logprobs") is not None:
            echoed = prompt if body.get("echo") and not persona.startswith("llamacpp") and persona != "sglang" else []
            ids = echoed + new
            before = [None] + echoed[:-1] + prompt[-1:] + new[:-1] if echoed else prompt[-1:] + new[:-1]
            names = [text_of([i]) if i < 256 else {BOS: "<|bos|>"}.get(i, f"<{i}>") for i in ids]
            tops = []
            for b in before:
                likely = sorted(range(VOCABULARY), key=lambda v: (-table[b][v], v))[:max(1, body["logprobs"])] if b is not None else []
                tops.append({text_of([v]) if v < 256 else f"<{v}>": score(b, v) for v in likely} or None)
            choice["logprobs"] = {"tokens": names, "top_logprobs": tops, "text_offset": [0] * len(ids),
                                  "token_logprobs": [None if b is None else score(b, i) for b, i in zip(before, ids)]}
        choices = [choice]
        if persona == "choices_out_of_order":
            wrong = dict(choice, index=1, text="wrong", token_ids=[0] * len(new))
            if "prompt_logprobs" in choice:
                wrong["prompt_logprobs"] = [None] * len(prompt)
            choices = [wrong, choice]
        answer = {"id": f"cmpl-{number}", "object": "text_completion", "created": 1, "model": body["model"], "choices": choices,
                  "usage": {"prompt_tokens": len(prompt), "completion_tokens": len(new)}}
        if persona == "half_body" and request % 4 == 0:
            return self.hang_up(answer)
        if persona == "endless" and number >= limit:
            return self.endless()
        self.answer(answer)

    def number(self, log_prob, v, temperature):
        if persona == "nan" and v == limit:
            return math.nan
        if persona == "floor" and v == limit:
            return -9999.0
        if persona == "processed_logprobs" and temperature > 0:
            return log_prob / temperature
        if persona == "too_likely":
            return log_prob / 100
        return log_prob

    def sglang(self, body):
        ids, table = body["input_ids"], tables[0]
        start = body.get("logprob_start_len", 0)
        own, top = [[None, ids[start], None]], [None]
        for a, b in list(zip(ids, ids[1:]))[start:]:
            best = max(range(VOCABULARY), key=lambda v: (table[a][v], -v))
            own.append([table[a][b], b, None])
            top.append([[table[a][best], best, None]])
        self.answer({"text": "", "meta_info": {"prompt_tokens": len(ids), "input_token_logprobs": own,
                                               "input_top_logprobs": top}})

    def answer(self, value):
        self.send(200, json.dumps(value).encode(), "application/json")

    def error(self, status, message, headers=None):
        self.send(status, json.dumps({"error": {"message": message, "type": "error", "code": status}}).encode(),
                  "application/json", headers)

    def page(self, status):
        self.send(status, b"<html><head><title>Bad gateway</title></head><body>no</body></html>", "text/html")

    def send(self, status, body, kind, headers=None):
        with open(log_file, "a") as log:
            log.write(f"{self.command} {self.path} {status}\n")
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def hang_up(self, answer=None):
        self.close_connection = True
        if answer:
            body = json.dumps(answer).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body[:len(body) // 2])

    def endless(self):
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        chunk = b"x" * 65536
        try:
            while True:
                self.wfile.write(b"10000\r\n" + chunk + b"\r\n")
        except OSError:
            self.close_connection = True

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 64
    daemon_threads = True

    def handle_error(self, *_):
        pass


server = Server(("127.0.0.1", int(sys.argv[4])), Handler)
if len(sys.argv) > 6:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[5], sys.argv[6])
    server.socket = context.wrap_socket(server.socket, server_side=True)
port_file.with_suffix(".new").write_text(str(server.server_port))
os.rename(port_file.with_suffix(".new"), port_file)
threading.Thread(target=server.serve_forever, daemon=True).start()
sys.stdin.read()
os._exit(0)
