#include "model/tokenizer/split_pattern.hpp"

#include <fmt/format.h>

#include <array>
#include <string>

#include "harness/base/check.hpp"
#include "harness/base/fields.hpp"
#include "model/tokenizer/utf8.hpp"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

namespace nb {
namespace {

// Of the JIT's machine stack; a match that needs more is an error of ours, none of the patterns
// does.
constexpr std::size_t kStackBytes = std::size_t{32} << 10;
constexpr std::size_t kLargestStackBytes = std::size_t{16} << 20;

struct RuleRow {
  SplitRule rule;
  std::string_view name;
  std::string_view pattern;
};

// nanochat's tokenizer.py; tiktoken_ext/openai_public.py (r50k_pat_str, cl100k_base, o200k_base) at
// 0.7, where possessive quantifiers do not change what matches.
constexpr std::array kRules = {
    RuleRow{
        SplitRule::kNanochat, "nanochat",
        R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,2}| ?[^\s\p{L}\p{N}]++[\r\n]*)"
        R"(|\s*[\r\n]|\s+(?!\S)|\s+)"},
    RuleRow{SplitRule::kGpt2, "gpt2",
            R"('(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)"},
    RuleRow{
        SplitRule::kCl100k, "cl100k",
        R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*)"
        R"(|\s*[\r\n]|\s+(?!\S)|\s+)"},
    RuleRow{SplitRule::kO200k, "o200k",
            R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
            R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
            R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
            R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
            R"(|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)"},
    RuleRow{SplitRule::kSentencePiece, "sentencepiece", "(?s).+"},
    // Of the tokenizer.json of Qwen2 to Qwen3 (Qwen/Qwen2-7B; llama.cpp's
    // LLAMA_VOCAB_PRE_TYPE_QWEN2).
    RuleRow{
        SplitRule::kQwen2, "qwen2",
        R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
        R"(|\s*[\r\n]+|\s+(?!\S)|\s+)"},
};

// Unicode White_Space (PropList.txt 15.0, unchanged since 6.3), for use inside a class.
constexpr std::string_view kWhiteSpace =
    R"(\x{9}-\x{d}\x{20}\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})";

// The patterns use \s alone or in a class, and \S alone.
std::string spell_out_white_space(std::string_view pattern) {
  std::string out;
  bool in_class = false;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (c == '\\') {
      const char next = pattern[++i];
      if (next == 's') {
        out += in_class ? std::string(kWhiteSpace) : fmt::format("[{}]", kWhiteSpace);
      } else if (next == 'S') {
        NB_CHECK(!in_class, "[split] \\S in a class");
        out += fmt::format("[^{}]", kWhiteSpace);
      } else {
        out += {c, next};
      }
      continue;
    }
    if (c == '[') in_class = true;
    if (c == ']') in_class = false;
    out += c;
  }
  return out;
}

const RuleRow& row(SplitRule rule) { return kRules[static_cast<std::size_t>(rule)]; }

std::string error_text(int code) {
  std::array<PCRE2_UCHAR, 256> text{};
  pcre2_get_error_message(code, text.data(), text.size());
  return reinterpret_cast<const char*>(text.data());
}

}  // namespace

std::string_view name(SplitRule rule) { return row(rule).name; }

Result<SplitRule> parse_split_rule(std::string_view text) {
  std::vector<std::string> names;
  for (const RuleRow& r : kRules) {
    if (r.name == text) return r.rule;
    names.emplace_back(r.name);
  }
  return bad_input(fmt::format("no split rule \"{}\"{} (there are {})", text,
                               did_you_mean(text, names), fmt::join(names, ", ")));
}

struct SplitScratch::State {
  pcre2_match_data* match = pcre2_match_data_create(1, nullptr);
  pcre2_match_context* context = pcre2_match_context_create(nullptr);
  pcre2_jit_stack* stack = pcre2_jit_stack_create(kStackBytes, kLargestStackBytes, nullptr);

  State() {
    NB_CHECK(match != nullptr && context != nullptr, "[split] out of memory");
    if (stack != nullptr) pcre2_jit_stack_assign(context, nullptr, stack);
  }
  ~State() {
    pcre2_match_data_free(match);
    pcre2_match_context_free(context);
    if (stack != nullptr) pcre2_jit_stack_free(stack);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
};

SplitScratch::SplitScratch() : state_(std::make_unique<State>()) {}
SplitScratch::~SplitScratch() = default;
SplitScratch::SplitScratch(SplitScratch&&) noexcept = default;
SplitScratch& SplitScratch::operator=(SplitScratch&&) noexcept = default;

struct SplitPattern::Code {
  pcre2_code* code = nullptr;
  bool is_jitted = false;
  Code() = default;
  ~Code() { pcre2_code_free(code); }
  Code(const Code&) = delete;
  Code& operator=(const Code&) = delete;
};

SplitPattern::SplitPattern(SplitRule rule) : rule_(rule), code_(std::make_unique<Code>()) {
  const std::string pattern = spell_out_white_space(row(rule).pattern);
  int error = 0;
  PCRE2_SIZE offset = 0;
  code_->code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                              PCRE2_UTF | PCRE2_UCP | PCRE2_NO_UTF_CHECK, &error, &offset, nullptr);
  NB_CHECK(code_->code != nullptr, "[split] {} at {} of {}", error_text(error), offset, pattern);
  code_->is_jitted = pcre2_jit_compile(code_->code, PCRE2_JIT_COMPLETE) == 0;
}
SplitPattern::~SplitPattern() = default;
SplitPattern::SplitPattern(SplitPattern&&) noexcept = default;
SplitPattern& SplitPattern::operator=(SplitPattern&&) noexcept = default;

void SplitPattern::split_valid(std::string_view text, SplitScratch& scratch,
                               std::vector<std::string_view>& pieces) const {
  SplitScratch::State& state = *scratch.state_;
  const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
  const PCRE2_SIZE* bounds = pcre2_get_ovector_pointer(state.match);
  for (std::size_t at = 0; at < text.size();) {
    // pcre2_jit_match skips checks that pcre2_match would do on the whole subject each time.
    const int found = code_->is_jitted
                          ? pcre2_jit_match(code_->code, subject, text.size(), at,
                                            PCRE2_NO_UTF_CHECK, state.match, state.context)
                          : pcre2_match(code_->code, subject, text.size(), at, PCRE2_NO_UTF_CHECK,
                                        state.match, state.context);
    NB_CHECK(found > 0 && bounds[0] == at && bounds[1] > at,
             "[split] {} at byte {} of {}: every rule matches at every position",
             found > 0 ? "a gap" : error_text(found), at, text.size());
    pieces.push_back(text.substr(at, bounds[1] - at));
    at = bounds[1];
  }
}

void SplitPattern::split(std::string_view text, SplitScratch& scratch,
                         std::vector<std::string_view>& pieces) const {
  pieces.clear();
  while (!text.empty()) {
    const std::size_t valid = utf8_valid_prefix(text);
    split_valid(text.substr(0, valid), scratch, pieces);
    text.remove_prefix(valid);
    std::size_t invalid = 0;
    while (invalid < text.size() && utf8_sequence_length(text.substr(invalid)) == 0) ++invalid;
    if (invalid > 0) pieces.push_back(text.substr(0, invalid));
    text.remove_prefix(invalid);
  }
}

std::vector<std::string_view> SplitPattern::split(std::string_view text) const {
  SplitScratch scratch;
  std::vector<std::string_view> pieces;
  split(text, scratch, pieces);
  return pieces;
}

}  // namespace nb
