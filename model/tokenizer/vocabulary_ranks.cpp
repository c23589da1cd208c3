#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>

#include "harness/base/base64.hpp"
#include "harness/base/hash.hpp"
#include "model/tokenizer/vocabulary_files.hpp"

namespace nb {
namespace {

constexpr std::uint32_t kLargestRank = 1U << 22U;

struct KnownFile {
  std::string_view name;  // file name without extension
  std::string_view sha256;
  SplitRule rule;
  std::vector<SpecialToken> specials;
};

// tiktoken_ext/openai_public.py at 0.7: expected_hash, pat_str, special_tokens.
const std::array<KnownFile, 4>& known_files() {
  static const std::array<KnownFile, 4> files = {
      KnownFile{"r50k_base",
                "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930",
                SplitRule::kGpt2,
                {{"<|endoftext|>", 50256}}},
      KnownFile{"p50k_base",
                "94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069",
                SplitRule::kGpt2,
                {{"<|endoftext|>", 50256}}},
      KnownFile{"cl100k_base",
                "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
                SplitRule::kCl100k,
                {{"<|endoftext|>", 100257},
                 {"<|fim_prefix|>", 100258},
                 {"<|fim_middle|>", 100259},
                 {"<|fim_suffix|>", 100260},
                 {"<|endofprompt|>", 100276}}},
      KnownFile{"o200k_base",
                "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
                SplitRule::kO200k,
                {{"<|endoftext|>", 199999}, {"<|endofprompt|>", 200018}}}};
  return files;
}

struct RankLine {
  std::string bytes;
  std::uint32_t rank = 0;
};

Result<RankLine> parse_rank_line(std::string_view line, const std::string& where) {
  const std::size_t space = line.find(' ');
  const std::string form = "expected base64, a space and a rank";
  if (space == std::string_view::npos)
    return bad_input(fmt::format("{}: {}; is the file truncated?", where, form));
  RankLine row;
  std::optional<std::string> bytes = base64_decode(line.substr(0, space));
  if (!bytes || bytes->empty()) return bad_input(fmt::format("{}: {}: bad base64", where, form));
  row.bytes = std::move(*bytes);
  const std::string_view number = line.substr(space + 1);
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), row.rank);
  if (number.empty() || error != std::errc() || end != number.data() + number.size() ||
      row.rank > kLargestRank)
    return bad_input(
        fmt::format("{}: {} from 0 to {}; is the file truncated?", where, form, kLargestRank));
  return row;
}

Result<std::vector<std::string>> parse_rank_lines(std::string_view text, const std::string& where) {
  std::vector<std::string> tokens;
  std::vector<std::size_t> lines;  // by rank, 0: none yet
  for (std::size_t number = 1; !text.empty(); ++number) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) continue;
    const std::string here = fmt::format("{}:{}", where, number);
    NB_TRY(RankLine row, parse_rank_line(line, here));
    if (row.rank >= tokens.size()) {
      tokens.resize(row.rank + std::size_t{1});
      lines.resize(row.rank + std::size_t{1});
    }
    if (lines[row.rank] != 0)
      return bad_input(fmt::format("{}: rank {} is already used in line {}; ranks are unique", here,
                                   row.rank, lines[row.rank]));
    lines[row.rank] = number;
    tokens[row.rank] = std::move(row.bytes);
  }
  if (tokens.empty())
    return bad_input(where + ": no token; expected lines of base64, a space and a rank");
  return tokens;
}

}  // namespace

Result<Vocabulary> parse_ranks(std::string_view text, const std::string& where) {
  Vocabulary vocabulary;
  NB_TRY(vocabulary.tokens, parse_rank_lines(text, where));
  const std::string hash = sha256_hex(text);
  const std::string stem = std::filesystem::path(where).stem().string();
  for (const KnownFile& file : known_files()) {
    if (hash == file.sha256) {
      vocabulary.rule = file.rule;
      vocabulary.specials = file.specials;
      const auto size = static_cast<std::size_t>(file.specials.back().id) + 1;
      vocabulary.tokens.resize(std::max(vocabulary.tokens.size(), size));
      NB_TRY_VOID(check_vocabulary(vocabulary, where));
      return vocabulary;
    }
    if (stem == file.name)
      return bad_input(
          fmt::format("{}: has SHA-256 {}, the published {} has {}; copy it again, or "
                      "rename it if it is a vocabulary of your own",
                      where, hash, file.name, file.sha256));
  }
  for (std::size_t rank = 0; rank < vocabulary.tokens.size(); ++rank)
    if (vocabulary.tokens[rank].empty())
      return bad_input(
          fmt::format("{}: rank {} is missing although there is a rank {}; ranks start "
                      "at 0 without gaps",
                      where, rank, vocabulary.tokens.size() - 1));
  append_nanochat_specials(vocabulary);
  NB_TRY_VOID(check_vocabulary(vocabulary, where));
  return vocabulary;
}

}  // namespace nb
