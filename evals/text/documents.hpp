// Texts that a user brings, as documents to be scored, byte for byte as they are.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "harness/base/result.hpp"

namespace nb {

struct TextDocument {
  std::string id;         // 16 hex digits of a hash of the content
  std::string public_id;  // "notes.txt", "pages.jsonl:12"
  std::string text;
  std::size_t file = 0;  // place in Texts::files
};

struct Texts {
  std::vector<std::string> files;  // names without their folders; a second one of a name gets "-2"
  std::vector<TextDocument> documents;
  std::string digest;  // 64 hex digits: names and bytes of all files
};

// .jsonl: a document a line, {"text": …}, other keys ignored. Anything else: UTF-8 text, one
// document. A byte order mark in front is no part of the text. Errors name file and line: not
// there, not UTF-8, no "text", nothing in any of the documents.
Result<Texts> read_texts(std::span<const std::string> paths);

}  // namespace nb
