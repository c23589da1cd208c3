// The five file forms of a vocabulary, as text in and values out. `where` (a file name) opens
// every message. Every parser ends with check_vocabulary().
#pragma once

#include <string>
#include <string_view>

#include "harness/base/result.hpp"
#include "model/tokenizer/vocabulary.hpp"

namespace nb {

// Our JSON: {"format": "npubench tokenizer", "version": 1, "rule": "nanochat", "sha256":
// vocabulary_hash(), "specials": {"<|bos|>": 65527, …}, "tokens": ["AA==", …, null for an id that
// no ordinary token has]}. A hash that does not fit the content is an error that shows both.
Result<Vocabulary> parse_vocabulary_json(std::string_view text, const std::string& where);
Result<std::string> print_vocabulary_json(const Vocabulary& vocabulary);

// tiktoken's rank file: base64 of the bytes, space, rank, one line each, any order. The public
// files r50k_base, p50k_base, cl100k_base, o200k_base are known by the SHA-256 of the file and get
// their own rule and specials; any other file is nanochat's: dense ranks, nanochat's rule, its nine
// specials appended.
Result<Vocabulary> parse_ranks(std::string_view text, const std::string& where);

// GPT-2's pair of files. As in tiktoken (load.py, data_gym_to_mergeable_bpe_ranks) a merge becomes
// a token whose rank is its id; entries of encoder.json that are neither byte nor merge are
// specials.
Result<Vocabulary> parse_gpt2(std::string_view encoder_json, const std::string& encoder_where,
                              std::string_view vocab_bpe, const std::string& bpe_where);

// A tokenizer.json of Hugging Face's tokenizers, of byte-level BPE without normalizer or with NFC:
// GPT-2's, Llama 3's, Qwen2's. Its ids must rise with its merges, as those made from rank files do.
bool is_hugging_face_tokenizer(std::string_view text);  // by the names of its members
Result<Vocabulary> parse_hugging_face_tokenizer(std::string_view text, const std::string& where);

// llama2.c's tokenizer.bin: int32 longest token, then for each id a float32 score, an int32 length
// and that many bytes (little endian): <unk>, <s>, </s>, the 256 bytes as <0x00> …, then pieces
// whose scores fall with the id (so the best score is the lowest id).
bool is_llama2c_tokenizer(std::string_view bytes);  // by its first 12 bytes
Result<Vocabulary> parse_llama2c_tokenizer(std::string_view bytes, const std::string& where);

}  // namespace nb
