// Tokenizers on their own: train one on texts, text to ids and back, compression beside GPT-2's and
// GPT-4's as nanochat's tok_eval.py shows it.
#include "model/tokenizer/tokenizer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>

#include "evals/data/manifest.hpp"
#include "harness/base/fs.hpp"
#include "harness/base/locations.hpp"
#include "harness/base/say.hpp"
#include "harness/base/table.hpp"
#include "harness/base/text_width.hpp"
#include "harness/cli/common.hpp"
#include "harness/cli/verb.hpp"
#include "harness/plan/text_sources.hpp"
#include "model/data/corpus.hpp"
#include "model/tokenizer/train_tokenizer.hpp"

namespace nb::cli {
namespace {

struct TokenizerOptions {
  std::string tokenizer;  // file to read
  std::string out = "tokenizer.json";
  std::string data_dir;
  std::vector<std::string> texts;  // sources of texts
  std::vector<std::string> words;  // a text, or ids
  TokenizerSettings settings;
  bool adds_bos = false, json = false;
};

constexpr std::int64_t kDocumentChars = 4000;  // of a .txt file: as a suite's default cut

// A path of the current folder is found as the shell finds it, where no data has that name.
std::string source_of(const std::string& text, const fs::path& data) {
  std::error_code ignored;
  const bool is_data = fs::exists(data / text, ignored) ||
                       std::ranges::any_of(data_manifest().files, [&](const DataFile& file) {
                         return file.name == text || file.name.starts_with(text + "/");
                       });
  return !is_data && fs::exists(text, ignored) ? fs::absolute(text, ignored).string() : text;
}

// Documents of all files of the sources, in order.
Result<std::vector<std::string>> documents_of(const TokenizerOptions& options) {
  const fs::path data = data_folder(options.data_dir);
  std::vector<std::string> sources;
  for (const std::string& text : options.texts) sources.push_back(source_of(text, data));
  NB_TRY(const std::vector<TextFile> files, find_text_files(sources, data, "--text"));
  NB_TRY_VOID(check_text_files(files, data));
  std::vector<std::string> documents;
  for (const TextFile& file : files) {
    NB_TRY(Documents read, read_documents(file.path, kDocumentChars));
    std::move(read.texts.begin(), read.texts.end(), std::back_inserter(documents));
  }
  return documents;
}

int train(const TokenizerOptions& options) {
  const auto documents = documents_of(options);
  if (!documents) return fail(documents.error());
  const auto tokenizer = train_tokenizer(*documents, options.settings);
  if (!tokenizer) return fail(tokenizer.error());
  if (const auto saved = tokenizer->save(options.out); !saved) return fail(saved.error());
  if (options.json)
    return print_json({{"file", options.out},
                       {"vocab_size", tokenizer->vocab_size()},
                       {"documents", documents->size()},
                       {"hash", tokenizer->hash()}});
  say("{}: {} tokens from {}\n", options.out, with_commas(tokenizer->vocab_size()),
      count_text(std::ssize(*documents), "document"));
  return kExitOk;
}

// The words of the command line with spaces between them; without any, all of standard input.
std::string text_of(const TokenizerOptions& options) {
  if (options.words.empty())
    return {std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>()};
  return fmt::format("{}", fmt::join(options.words, " "));
}

int encode(const TokenizerOptions& options) {
  const auto tokenizer = Tokenizer::load(options.tokenizer);
  if (!tokenizer) return fail(tokenizer.error());
  if (options.adds_bos && tokenizer->bos() < 0)
    return fail({ErrorCode::kBadInput, options.tokenizer + ": this tokenizer has no <|bos|>"});
  const std::string text = text_of(options);
  const std::vector<int> ids =
      options.adds_bos ? tokenizer->encode(text, tokenizer->bos()) : tokenizer->encode(text);
  if (options.json) return print_json(Json(ids));
  say("{}\n", fmt::join(ids, " "));
  return kExitOk;
}

int decode(const TokenizerOptions& options) {
  const auto tokenizer = Tokenizer::load(options.tokenizer);
  if (!tokenizer) return fail(tokenizer.error());
  std::vector<int> ids;
  const std::string text = text_of(options);
  for (std::size_t at = 0; (at = text.find_first_not_of(" ,\t\r\n[]", at)) != std::string::npos;) {
    const std::size_t end = std::min(text.find_first_of(" ,\t\r\n[]", at), text.size());
    const std::string word = text.substr(at, end - at);
    const bool is_number =
        word.find_first_not_of("0123456789") == std::string::npos && word.size() < 10;
    if (!is_number || std::stoi(word) >= tokenizer->vocab_size())
      return fail({ErrorCode::kBadInput, fmt::format("\"{}\" is not an id from 0 to {}", word,
                                                     tokenizer->vocab_size() - 1)});
    ids.push_back(std::stoi(word));
    at = end;
  }
  if (options.json) return print_json(Json(tokenizer->decode(ids)));
  put_on_stdout(tokenizer->decode(ids) + "\n");  // exact: it goes into files
  return kExitOk;
}

struct Compared {
  std::string name;
  Tokenizer tokenizer;
};

// The one that is asked about, and those of the data folder that are there.
Result<std::vector<Compared>> compared(const TokenizerOptions& options,
                                       std::vector<std::string>& missing) {
  std::vector<Compared> all;
  NB_TRY(Tokenizer own, Tokenizer::load(options.tokenizer));
  all.push_back({options.tokenizer, std::move(own)});
  const std::pair<const char*, const char*> known[] = {
      {"GPT-2", "tokenizers/gpt2/encoder"}, {"GPT-4 (cl100k)", "tokenizers/tiktoken/cl100k_base"}};
  for (const auto& [name, file] : known) {
    const auto found = resolve(data_manifest(), file, data_folder(options.data_dir));
    if (!found) {
      missing.emplace_back(name);
      continue;
    }
    NB_TRY(Tokenizer other, Tokenizer::load(found->path));
    all.push_back({name, std::move(other)});
  }
  return all;
}

int evaluate(const TokenizerOptions& options) {
  std::vector<std::string> missing;
  const auto documents = documents_of(options);
  if (!documents) return fail(documents.error());
  const auto tokenizers = compared(options, missing);
  if (!tokenizers) return fail(tokenizers.error());
  std::uint64_t bytes = 0;
  for (const std::string& document : *documents) bytes += document.size();
  std::vector<std::int64_t> tokens;
  for (const Compared& one : *tokenizers) {
    std::int64_t sum = 0;
    for (const std::vector<int>& ids : one.tokenizer.encode_batch(*documents))
      sum += std::ssize(ids);
    tokens.push_back(sum);
  }
  TextTable table{{"tokenizer", "vocabulary", "tokens", "bytes/token", "this needs fewer"}, {}};
  Json rows = Json::array();
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const Compared& one = (*tokenizers)[i];
    const double ratio = static_cast<double>(bytes) / static_cast<double>(tokens[i]);
    // Relative to the other, as nanochat's tok_eval.py.
    const double fewer =
        100.0 * static_cast<double>(tokens[i] - tokens[0]) / static_cast<double>(tokens[i]);
    table.rows.push_back({one.name, with_commas(one.tokenizer.vocab_size()), with_commas(tokens[i]),
                          fmt::format("{:.3f}", ratio),
                          i == 0 ? "" : fmt::format("{:+.1f} %", fewer)});
    rows.push_back({{"tokenizer", one.name},
                    {"vocab_size", one.tokenizer.vocab_size()},
                    {"tokens", tokens[i]},
                    {"bytes_per_token", ratio}});
  }
  if (options.json) return print_json({{"bytes", bytes}, {"tokenizers", rows}});
  say("{}{} bytes in {}{}\n", to_text(table, output_width()),
      with_commas(static_cast<std::int64_t>(bytes)), count_text(std::ssize(*documents), "document"),
      missing.empty() ? ""
                      : fmt::format("; not in the data folder: {} (npubench data get "
                                    "tokenizers)",
                                    fmt::join(missing, ", ")));
  return kExitOk;
}

struct Command {
  const char* name;
  const char* doc;
  int (*run)(const TokenizerOptions&);
};
constexpr Command kCommands[] = {
    {"train", "BPE on texts, with nanochat's split pattern and tie rule", train},
    {"encode", "a text, or standard input, to ids", encode},
    {"decode", "ids, or those of standard input, to text", decode},
    {"eval", "compression of texts beside GPT-2's and GPT-4's tokenizer", evaluate},
};

void add_tokenizer_file(CLI::App& command, TokenizerOptions& options) {
  command
      .add_option("--tokenizer", options.tokenizer,
                  "npubench's JSON, a tiktoken rank file, GPT-2's encoder.json or vocab.bpe, or "
                  "llama2.c's tokenizer.bin")
      ->required();
}

void add_texts(CLI::App& command, TokenizerOptions& options) {
  command
      .add_option("--text", options.texts,
                  "names or groups from `npubench data list`, or your own .txt and .jsonl files "
                  "and folders")
      ->required();
  command.add_option("--data-dir", options.data_dir,
                     "public data (default: NPUBENCH_DATA, else ~/.cache/npubench/data)");
}

}  // namespace

Action add_tokenizer(CLI::App& app) {
  auto options = std::make_shared<TokenizerOptions>();
  for (const Command& command : kCommands)
    app.add_subcommand(command.name, command.doc)
        ->add_flag("--json", options->json, "JSON on stdout");
  CLI::App& training = *app.get_subcommand("train");
  add_texts(training, *options);
  training.add_option("--vocab-size", options->settings.vocab_size,
                      "bytes, merges and nine special tokens together (default: 4096)");
  training.add_option("--doc-cap", options->settings.doc_cap,
                      "code points of each document that are used (default: 10000)");
  training.add_option("--out", options->out, "file to write (default: tokenizer.json)");
  for (const char* name : {"encode", "decode", "eval"})
    add_tokenizer_file(*app.get_subcommand(name), *options);
  CLI::App& encoding = *app.get_subcommand("encode");
  encoding.add_option("words", options->words, "the text (default: standard input)");
  encoding.add_flag("--bos", options->adds_bos, "with <|bos|> in front");
  app.get_subcommand("decode")->add_option("words", options->words,
                                           "the ids (default: standard input)");
  add_texts(*app.get_subcommand("eval"), *options);
  app.require_subcommand(1);
  app.footer(
      "npubench tokenizer encode --tokenizer tokenizer.json \"The sky is blue\"\n"
      "npubench tokenizer eval --tokenizer tokenizer.json --text text/tinyshakespeare");
  return [&app, options] {
    for (const Command& command : kCommands)
      if (app.got_subcommand(command.name)) return command.run(*options);
    return kExitUsage;
  };
}

}  // namespace nb::cli
