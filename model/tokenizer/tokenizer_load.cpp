#include <fmt/core.h>

#include "harness/base/byte_order_mark.hpp"
#include "harness/base/fs.hpp"
#include "model/tokenizer/tokenizer.hpp"
#include "model/tokenizer/vocabulary_files.hpp"

namespace nb {
namespace {

constexpr std::string_view kOurFile = "tokenizer.json";

// The two files of GPT-2's form: OpenAI's names and Hugging Face's.
struct FilePair {
  std::string_view encoder, merges;
};
constexpr FilePair kPairs[] = {{"encoder.json", "vocab.bpe"}, {"vocab.json", "merges.txt"}};

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}
// The pair of which a folder has a file; OpenAI's where it has none.
FilePair pair_in(const fs::path& folder) {
  for (const FilePair& pair : kPairs)
    if (is_there(folder / pair.encoder) && is_there(folder / pair.merges)) return pair;
  for (const FilePair& pair : kPairs)
    if (is_there(folder / pair.encoder) || is_there(folder / pair.merges)) return pair;
  return kPairs[0];
}

Result<Vocabulary> load_gpt2(const fs::path& encoder, const fs::path& merges) {
  NB_TRY(const std::string encoder_text, read_file(encoder), "GPT-2's form has two files");
  NB_TRY(const std::string merges_text, read_file(merges), "GPT-2's form has two files");
  return parse_gpt2(encoder_text, encoder.string(), merges_text, merges.string());
}

// Our JSON has its format key; the dump sorts keys, so it stands near the front, but a hand-edited
// file may have it anywhere. GPT-2's encoder.json has token texts as keys and no such text with a
// colon after it.
bool is_our_json(std::string_view text) {
  return text.find("\"npubench tokenizer\"") != std::string_view::npos;
}

Result<Vocabulary> load_file(const fs::path& path) {
  NB_TRY(std::string text, read_file(path));
  if (is_llama2c_tokenizer(text)) return parse_llama2c_tokenizer(text, path.string());
  if (text.starts_with(kByteOrderMark)) text.erase(0, kByteOrderMark.size());
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos)
    return bad_input(path.string() + ": empty; expected a tokenizer file (is it truncated?)");
  if (text[first] == '{' && !is_our_json(text) && is_hugging_face_tokenizer(text))
    return parse_hugging_face_tokenizer(text, path.string());
  if (text[first] == '{')
    return is_our_json(text)
               ? parse_vocabulary_json(text, path.string())
               : load_gpt2(path, path.parent_path() / pair_in(path.parent_path()).merges);
  if (text.starts_with("#version"))
    return load_gpt2(path.parent_path() / pair_in(path.parent_path()).encoder, path);
  return parse_ranks(text, path.string());
}

Result<Vocabulary> load_vocabulary(const fs::path& path) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) return load_file(path);
  if (fs::exists(path / kOurFile, ignored)) return load_file(path / kOurFile);
  const FilePair pair = pair_in(path);
  if (is_there(path / pair.encoder) || is_there(path / pair.merges))
    return load_gpt2(path / pair.encoder, path / pair.merges);
  return bad_input(fmt::format("{}: a folder without {} or {} and {}; name a tokenizer file",
                               path.string(), kOurFile, pair.encoder, pair.merges));
}

}  // namespace

Result<Tokenizer> Tokenizer::load(const std::filesystem::path& path) {
  NB_TRY(Vocabulary vocabulary, load_vocabulary(path));
  return Tokenizer(std::move(vocabulary));
}

Result<void> Tokenizer::save(const std::filesystem::path& path) const {
  NB_TRY(const std::string text, print_vocabulary_json(vocabulary()));
  return write_file(path, text);
}

}  // namespace nb
