#include "model/engine/calculator_tokens.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <string>

#include "harness/base/ascii.hpp"

namespace nb::calculator {
namespace {

constexpr int kMaxOpen = 200;                    // CPython, tokenizer.h, MAXLEVEL
constexpr std::size_t kMaxLiteralDigits = 4300;  // of a decimal integer

bool is_hex(char c) { return is_digit(c) || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f'); }
bool starts_name(char c) { return ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || c == '_'; }

// Correctly rounded; too large is infinity and too small zero, as Python's literals are.
double read_double(const std::string& digits) {
  double value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc::result_out_of_range) return value;
  // Out of range: of the two, the one on whose side the first digit that is not 0 stands.
  const std::size_t e = digits.find('e');
  const std::size_t point = std::min(digits.find('.'), std::min(e, digits.size()));
  const std::size_t first = digits.find_first_of("123456789");
  long long power = static_cast<long long>(point) - static_cast<long long>(first);
  if (e != std::string::npos) {
    long long exponent = 0;
    const auto read =
        std::from_chars(digits.data() + e + 1, digits.data() + digits.size(), exponent);
    power = read.ec == std::errc() ? power + exponent : std::numeric_limits<long long>::max();
  }
  return power > 0 ? std::numeric_limits<double>::infinity() : 0.0;
}

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  std::optional<std::vector<Token>> all() {
    while (true) {
      while (peek() == ' ') ++at_;
      if (at_ == text_.size()) break;
      if (!one()) return std::nullopt;
    }
    tokens_.emplace_back();
    return std::move(tokens_);
  }

 private:
  char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  void push(TokenKind kind, std::size_t size) {
    Token& token = tokens_.emplace_back();
    token.kind = kind;
    token.text = text_.substr(at_, size);
    at_ += size;
  }
  void push_value(TokenKind kind, Value value) {
    Token& token = tokens_.emplace_back();
    token.kind = kind;
    token.value = std::move(value);
  }

  bool one() {
    const char c = peek();
    if (is_digit(c) || (c == '.' && is_digit(peek(1)))) return number();
    if (c == '\'' || c == '"') return string(0);
    if (starts_name(c)) return name();
    if (text_.substr(at_, 3) == "...") {
      push(TokenKind::kOperator, 3);
    } else if (text_.substr(at_, 2) == "//") {
      push(TokenKind::kOperator, 2);
    } else {
      open_ += c == '(' ? 1 : c == ')' ? -1 : 0;
      if (open_ < 0 || open_ > kMaxOpen) return false;
      push(TokenKind::kOperator, 1);
    }
    return true;
  }

  bool name() {
    std::size_t size = 1;
    while (starts_name(peek(size)) || is_digit(peek(size))) ++size;
    if ((peek(size) == '\'' || peek(size) == '"') && is_prefix(text_.substr(at_, size)))
      return string(size);
    push(TokenKind::kName, size);
    return true;
  }

  static bool is_prefix(std::string_view prefix) {
    std::string lower(prefix);
    for (char& c : lower) c = static_cast<char>(c | 0x20);
    for (const char* known : {"r", "u", "b", "f", "br", "rb", "fr", "rf"})
      if (lower == known) return true;
    return false;
  }

  // Without braces and backslashes every prefix but b is the text as it stands.
  bool string(std::size_t prefix_size) {
    const std::string_view prefix = text_.substr(at_, prefix_size);
    const bool is_bytes = prefix.find_first_of("bB") != std::string_view::npos;
    at_ += prefix_size;
    const char quote = peek();
    const std::size_t marks = peek(1) == quote && peek(2) == quote ? 3 : 1;
    const std::string closing(marks, quote);
    const std::size_t end = text_.find(closing, at_ + marks);
    if (end == std::string_view::npos) return false;
    std::string content(text_.substr(at_ + marks, end - at_ - marks));
    at_ = end + marks;
    push_value(TokenKind::kString, std::move(content));
    tokens_.back().is_bytes = is_bytes;
    return true;
  }

  // Digits with single underscores between them, without the underscores.
  template <class IsDigit>
  std::string digits(IsDigit is_one) {
    std::string run;
    while (is_one(peek()) || (!run.empty() && peek() == '_' && is_one(peek(1)))) {
      if (peek() != '_') run += peek();
      ++at_;
    }
    return run;
  }

  bool number() {
    Value value = BigInt();
    const char kind = static_cast<char>(peek(1) | 0x20);
    if (peek() == '0' && (kind == 'x' || kind == 'o' || kind == 'b')) {
      at_ += 2;
      if (peek() == '_') ++at_;
      const unsigned base = kind == 'x' ? 16 : kind == 'o' ? 8 : 2;
      const std::string run = digits([base](char c) {
        return base == 16 ? is_hex(c) : c >= '0' && c < static_cast<char>('0' + base);
      });
      if (run.empty()) return false;
      value = BigInt::parse(run, base);
    } else if (!decimal(value)) {
      return false;
    }
    push_value(TokenKind::kValue, std::move(value));
    return true;
  }

  bool decimal(Value& value) {
    std::string run = digits(is_digit);
    bool is_float = false;
    if (peek() == '.') {
      is_float = true;
      ++at_;
      run += '.';
      run += digits(is_digit);
    }
    if ((peek() == 'e' || peek() == 'E') && is_digit(peek(1))) {  // no signs among the characters
      is_float = true;
      ++at_;
      run += 'e' + digits(is_digit);
    }
    if (peek() == 'j' || peek() == 'J') {  // a complex number
      ++at_;
      value = Failure{};
      return true;
    }
    if (is_float) {
      value = read_double(run);
      return true;
    }
    const bool is_zero = run.find_first_not_of('0') == std::string::npos;
    if (!is_zero && (run.front() == '0' || run.size() > kMaxLiteralDigits)) return false;
    value = BigInt::parse(is_zero ? "0" : run);
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int open_ = 0;
  std::vector<Token> tokens_;
};

}  // namespace

std::optional<std::vector<Token>> tokens_of(std::string_view expression) {
  return Lexer(expression).all();
}

}  // namespace nb::calculator
