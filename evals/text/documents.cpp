#include "evals/text/documents.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "harness/base/byte_order_mark.hpp"
#include "harness/base/fs.hpp"
#include "harness/base/hash.hpp"
#include "model/data/corpus.hpp"
#include "model/data/tasks/rows.hpp"

namespace nb {
namespace {

// A name that metrics can hold: "a/b" would be a part b of a.
std::string name_of(const std::string& path, const std::vector<std::string>& taken) {
  std::string name = fs::path(path).filename().string();
  for (int i = 2; std::ranges::find(taken, name) != taken.end(); ++i)
    name = fmt::format("{}-{}", fs::path(path).filename().string(), i);
  return name;
}

Result<std::vector<TextDocument>> documents_of(const std::string& path, std::string_view bytes) {
  const std::string name = fs::path(path).filename().string();
  std::vector<TextDocument> documents;
  if (fs::path(path).extension() != ".jsonl") {
    NB_TRY_VOID(check_utf8_text(bytes, path));
    documents.push_back({"", name, std::string(without_byte_order_mark(bytes)), 0});
    return documents;
  }
  const TakeRow take = [&](const Json& row, const std::string& where) -> Result<void> {
    RowReader reader(row, where, "a line of texts", "text");
    std::string text = reader.text("text");
    const std::string line = where.substr(where.rfind(':') + 1);
    documents.push_back({"", fmt::format("{}:{}", name, line), std::move(text), 0});
    return reader.status();
  };
  NB_TRY_VOID(for_each_row(bytes, path, take));
  return documents;
}

}  // namespace

Result<Texts> read_texts(std::span<const std::string> paths) {
  Texts texts;
  std::vector<std::string> hashed;
  ItemIds ids;
  bool has_bytes = false;
  for (const std::string& path : paths) {
    NB_TRY(const std::string bytes, read_file(path));
    NB_TRY(std::vector<TextDocument> documents, documents_of(path, bytes));
    texts.files.push_back(name_of(path, texts.files));
    hashed.insert(hashed.end(), {texts.files.back(), sha256_hex(bytes)});
    for (TextDocument& document : documents) {
      document.id = ids.of(netstrings({"text", document.text}));
      document.file = texts.files.size() - 1;
      has_bytes = has_bytes || !document.text.empty();
      texts.documents.push_back(std::move(document));
    }
  }
  if (!has_bytes)
    return bad_input((paths.empty() ? "no text" : paths.back()) +
                     ": there is nothing to score in it");
  texts.digest = sha256_hex(netstrings(hashed));
  return texts;
}

}  // namespace nb
