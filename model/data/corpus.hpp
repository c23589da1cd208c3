// Text documents of a file or folder, in a deterministic order, shuffled and split into train and
// val. Knows files and text; nothing of tokens.
//
// .jsonl: one document per line, field `text`. .txt: cut into documents by cut_text(). A folder:
// every .txt and .jsonl below it, sorted by relative path. A byte order mark is dropped and CRLF
// becomes LF; invalid UTF-8 is an error with file, line and byte. Documents of white space only are
// dropped, counted.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/fields.hpp"
#include "harness/base/result.hpp"

namespace nb {

struct CorpusSettings {
  std::int64_t document_chars =
      2'000;            // .txt: paragraphs are grouped until a document has so many code points
  bool shuffle = true;  // before the split, else val is another author than train (measured: 2.15
                        // against 1.91 bits per byte on novels at 1 M tokens)
  std::uint64_t seed = 1337;   // of the shuffle (CPython's random.Random(seed).shuffle)
  double val_fraction = 0.05;  // the last documents after the shuffle, at least one when > 0
  FieldList fields();
};

struct Documents {
  std::vector<std::string> texts;
  std::int64_t dropped_empty = 0;
  std::uint64_t text_bytes = 0;
};

struct Corpus {
  std::vector<std::string> train;
  std::vector<std::string> val;
  std::int64_t dropped_empty = 0;
  std::string sha256;  // of both lists with lengths: equal corpora have equal hashes
};

// An error that names line and byte, and what to do, where a text is not UTF-8.
Result<void> check_utf8_text(std::string_view text, const std::string& where);

// In file order, unshuffled.
Result<Documents> read_documents(const std::filesystem::path& path, std::int64_t document_chars);
Result<Documents> parse_jsonl_documents(std::string_view text, const std::string& where);
Result<Documents> parse_text_documents(std::string_view text, const std::string& where,
                                       std::int64_t document_chars);
// Paragraphs (separated by lines of white space only) are joined with one empty line until a
// document has at least `document_chars` code points. A paragraph longer than twice that is cut at
// line ends by the same rule; a line is never cut. LF text in, documents without surrounding empty
// lines out.
std::vector<std::string> cut_text(std::string_view text, std::int64_t document_chars);

// Shuffles and splits. An error if nothing would be left for training.
Result<Corpus> make_corpus(Documents documents, const CorpusSettings& settings);
// Of a generated corpus that has its own split (microworld.hpp).
Corpus make_corpus(std::vector<std::string> train, std::vector<std::string> val);

}  // namespace nb
