#include "model/data/corpus.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "harness/base/byte_order_mark.hpp"
#include "harness/base/cpython_random.hpp"
#include "harness/base/fs.hpp"
#include "harness/base/hash.hpp"
#include "harness/base/json_io.hpp"
#include "model/tokenizer/utf8.hpp"

namespace nb {
namespace {

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n\v\f") == std::string_view::npos;
}

// Without byte order mark, CRLF as LF.
std::string normalised(std::string_view text) {
  text = without_byte_order_mark(text);
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i)
    if (text[i] != '\r' || i + 1 == text.size() || text[i + 1] != '\n') out += text[i];
  return out;
}

void add(Documents& documents, std::string text) {
  if (is_blank(text)) {
    ++documents.dropped_empty;
    return;
  }
  documents.text_bytes += text.size();
  documents.texts.push_back(std::move(text));
}

bool is_jsonl(const fs::path& path) { return path.extension() == ".jsonl"; }
bool is_document_file(const fs::path& path) { return path.extension() == ".txt" || is_jsonl(path); }

Result<std::vector<fs::path>> files_of(const fs::path& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) {
    if (is_document_file(path)) return std::vector<fs::path>{path};
    return bad_input(
        fmt::format("{}: documents are read from .txt and .jsonl files", path.string()));
  }
  std::vector<fs::path> files;
  for (fs::recursive_directory_iterator it(path, error), end; !error && it != end;
       it.increment(error))
    if (it->is_regular_file(error) && is_document_file(it->path())) files.push_back(it->path());
  if (error) return bad_input(fmt::format("{}: {}", path.string(), error.message()));
  if (files.empty())
    return bad_input(fmt::format("{}: no .txt or .jsonl file in this folder", path.string()));
  std::sort(files.begin(), files.end(), [](const fs::path& a, const fs::path& b) {
    return a.generic_string() < b.generic_string();  // bytes: the same order on every host
  });
  return files;
}

void update(Sha256& hash, const std::vector<std::string>& texts) {
  hash.update(fmt::format("{}:", texts.size()));
  for (const std::string& text : texts) {
    hash.update(fmt::format("{}:", text.size()));
    hash.update(text);
  }
}

}  // namespace

FieldList CorpusSettings::fields() {
  return {{"document_chars",
           "minimum code points of a document from a .txt file",
           &document_chars,
           {.min = 1}},
          {"shuffle", "shuffle documents before the split", &shuffle},
          {"seed", "of the shuffle", &seed},
          {"val_fraction",
           "share of the documents held out for validation",
           &val_fraction,
           {.min = 0, .max = 0.9}}};
}

Result<void> check_utf8_text(std::string_view text, const std::string& where) {
  const std::size_t valid = utf8_valid_prefix(text);
  if (valid == text.size()) return {};
  const auto line =
      1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(valid), '\n');
  return bad_input(
      fmt::format("{}:{}: byte {} of the file (0x{:02x}) is not UTF-8; convert the file, e.g. "
                  "with iconv -t UTF-8",
                  where, line, valid, static_cast<unsigned char>(text[valid])));
}

Result<Documents> parse_jsonl_documents(std::string_view text, const std::string& where) {
  NB_TRY_VOID(check_utf8_text(text, where));
  text = without_byte_order_mark(text);
  Documents documents;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (is_blank(line)) continue;
    const std::string here = fmt::format("{}:{}", where, number);
    NB_TRY(Json json, parse_json_line(line, here));
    if (!json.is_object() || !json.contains("text") || !json["text"].is_string())
      return bad_input(fmt::format("{}: expected an object with a text under \"text\"", here));
    add(documents, std::move(json["text"].get_ref<std::string&>()));
  }
  return documents;
}

Result<Documents> parse_text_documents(std::string_view text, const std::string& where,
                                       std::int64_t document_chars) {
  NB_TRY_VOID(check_utf8_text(text, where));
  Documents documents;
  for (std::string& document : cut_text(normalised(text), document_chars))
    add(documents, std::move(document));
  return documents;
}

Result<Documents> read_documents(const std::filesystem::path& path, std::int64_t document_chars) {
  NB_TRY(const std::vector<fs::path> files, files_of(path));
  Documents all;
  for (const fs::path& file : files) {
    NB_TRY(const std::string text, read_file(file));
    NB_TRY(Documents documents, is_jsonl(file)
                                    ? parse_jsonl_documents(text, file.string())
                                    : parse_text_documents(text, file.string(), document_chars));
    all.dropped_empty += documents.dropped_empty;
    all.text_bytes += documents.text_bytes;
    std::move(documents.texts.begin(), documents.texts.end(), std::back_inserter(all.texts));
  }
  if (all.texts.empty())
    return bad_input(fmt::format("{}: no document with text in {} file{}", path.string(),
                                 files.size(), files.size() == 1 ? "" : "s"));
  return all;
}

Result<Corpus> make_corpus(Documents documents, const CorpusSettings& settings) {
  const std::size_t count = documents.texts.size();
  std::vector<std::size_t> order(count);
  for (std::size_t i = 0; i < count; ++i) order[i] = i;
  if (settings.shuffle) order = CPythonRandom(settings.seed).shuffled(count);
  // Half up; exact for every count that occurs.
  auto val_count = static_cast<std::size_t>(
      std::floor(settings.val_fraction * static_cast<double>(count) + 0.5));
  if (settings.val_fraction > 0) val_count = std::max<std::size_t>(val_count, 1);
  if (val_count >= count)
    return bad_input(
        fmt::format("corpus: {} documents, {} of them for validation, leave none for "
                    "training; give more text or a smaller document_chars or val_fraction",
                    count, val_count));
  std::vector<std::string> train, val;
  for (std::size_t i = 0; i < count; ++i)
    (i < count - val_count ? train : val).push_back(std::move(documents.texts[order[i]]));
  Corpus corpus = make_corpus(std::move(train), std::move(val));
  corpus.dropped_empty = documents.dropped_empty;
  return corpus;
}

Corpus make_corpus(std::vector<std::string> train, std::vector<std::string> val) {
  Corpus corpus;
  corpus.train = std::move(train);
  corpus.val = std::move(val);
  Sha256 hash;
  update(hash, corpus.train);
  update(hash, corpus.val);
  corpus.sha256 = hash.hex();
  return corpus;
}

}  // namespace nb
