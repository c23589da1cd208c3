#include "model/engine/calculator.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "model/engine/calculator_tokens.hpp"
#include "model/engine/calculator_value.hpp"

namespace nb {
namespace {

using namespace calculator;

// CPython 3.11 compiles trees some 2,980 operators deep, less the frames of its caller. We count
// all operators, deep or not: no model writes as many.
constexpr int kMaxOperators = 2900;
// Far above any answer of 512 tokens; bounds what the schoolbook products can cost.
constexpr std::size_t kMaxExpressionBytes = 1 << 16;

constexpr auto kKeywords = std::to_array<std::string_view>(
    {"and",    "as",   "assert", "async",  "await",  "break",   "class",    "continue",
     "def",    "del",  "elif",   "else",   "except", "finally", "for",      "from",
     "global", "if",   "import", "in",     "is",     "lambda",  "nonlocal", "not",
     "or",     "pass", "raise",  "return", "try",    "while",   "with",     "yield"});

// Recursive descent over Python's expression grammar, as far as the allowed characters reach. Every
// operand is evaluated; a Failure in a branch that Python would skip is dropped with it. Only
// parentheses nest calls (the tokenizer stops at Python's 200): rows of operators are loops.
class Parser {
 public:
  explicit Parser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  Value all() {
    Value value = expression();
    return is_bad_ || peek().kind != TokenKind::kEnd ? Value(Failure{}) : value;
  }

 private:
  const Token& peek() const { return tokens_[at_]; }
  bool take(std::string_view text) {  // an operator or keyword
    const Token& token = peek();
    if (token.text != text || token.text.empty()) return false;
    ++at_;
    return true;
  }
  // A deep tree or a syntax error: everything unwinds, nothing more is read.
  Value bad() {
    is_bad_ = true;
    at_ = tokens_.size() - 1;
    return Failure{};
  }
  bool take_operator(std::string_view text) {
    if (!take(text)) return false;
    if (++operators_ > kMaxOperators) bad();
    return true;
  }

  Value expression() {
    std::optional<Value> chosen;
    while (true) {  // a if b else c if d else e: a if b else (c if d else e)
      Value value = disjunction();
      if (!take_operator("if")) return chosen ? std::move(*chosen) : value;
      const Value condition = disjunction();
      if (!take("else")) return bad();
      if (chosen) continue;
      if (failed(condition))
        chosen = Failure{};
      else if (is_true(condition))
        chosen = std::move(value);
    }
  }

  Value disjunction() {
    Value value = conjunction();
    while (take_operator("or")) {
      Value next = conjunction();
      if (!failed(value) && !is_true(value)) value = std::move(next);
    }
    return value;
  }

  Value conjunction() {
    Value value = inversion();
    while (take_operator("and")) {
      Value next = inversion();
      if (!failed(value) && is_true(value)) value = std::move(next);
    }
    return value;
  }

  Value inversion() {
    int count = 0;
    while (take_operator("not")) ++count;
    Value value = comparison();
    if (count == 0) return value;
    return failed(value) ? Value(Failure{}) : Value(is_true(value) != (count % 2 == 1));
  }

  // a in b not in c: (a in b) and (b not in c)
  Value comparison() {
    Value left = sum_of_terms();
    Value result = true;
    bool is_chain = false;
    while (true) {
      bool is_not = false, is_identity = false;
      if (take_operator("is")) {
        is_identity = true;
        is_not = take("not");
      } else if (take_operator("not")) {
        is_not = true;
        if (!take("in")) return bad();
      } else if (!take_operator("in")) {
        return is_chain ? result : left;
      }
      Value right = sum_of_terms();
      const Value claim = is_identity ? is_same(left, right) : contains(right, left);
      if (!failed(result) && is_true(result))
        result = failed(claim) ? Value(Failure{}) : Value(is_true(claim) != is_not);
      is_chain = true;
      left = std::move(right);
    }
  }

  // Only what is one object whoever makes it: whether equal numbers are, CPython leaves open.
  static Value is_same(const Value& a, const Value& b) {
    const auto is_single = [](const Value& value) {
      return std::holds_alternative<None>(value) || std::holds_alternative<bool>(value) ||
             std::holds_alternative<Ellipsis>(value);
    };
    if (failed(a) || failed(b) || (!is_single(a) && !is_single(b))) return Failure{};
    if (a.index() != b.index()) return false;
    return !std::holds_alternative<bool>(a) || std::get<bool>(a) == std::get<bool>(b);
  }

  Value sum_of_terms() {
    Value value = term();
    while (true) {
      if (take_operator("+"))
        value = sum(value, term());
      else if (take_operator("-"))
        value = difference(value, term());
      else
        return value;
    }
  }

  Value term() {
    Value value = factor();
    while (true) {
      if (take_operator("*"))
        value = product(value, factor());
      else if (take_operator("//"))
        value = floor_quotient(value, factor());
      else if (take_operator("/"))
        value = quotient(value, factor());
      else
        return value;
    }
  }

  Value factor() {
    const std::size_t first = at_;
    while (take_operator("-") || take_operator("+")) {
    }
    if (is_bad_) return Failure{};
    const std::size_t end = at_;
    Value value = primary();
    for (std::size_t i = end; i > first; --i)
      value = tokens_[i - 1].text == "-" ? negated(value) : plus_sign(value);
    return value;
  }

  Value primary() {
    Value value = atom();
    while (true) {
      if (take_operator(".")) {
        if (peek().kind != TokenKind::kName || is_keyword(peek().text) || is_constant(peek().text))
          return bad();
        const std::string_view method = tokens_[at_++].text;
        // A method that is not called has an address for a text: not followed.
        value = take_operator("(") ? call_method(value, method, argument()) : Value(Failure{});
      } else if (take_operator("(")) {
        argument();
        value = Failure{};  // nothing here can be called
      } else {
        return value;
      }
    }
  }

  std::optional<Value> argument() {
    if (take(")")) return std::nullopt;
    Value value = expression();
    if (!take(")")) return bad();
    return value;
  }

  Value atom() {
    const Token& token = peek();
    switch (token.kind) {
      case TokenKind::kValue:
        ++at_;
        return token.value;
      case TokenKind::kString:
        return strings();
      case TokenKind::kName:
        if (is_keyword(token.text)) return bad();
        ++at_;
        if (token.text == "None") return None{};
        if (token.text == "True") return true;
        if (token.text == "False") return false;
        return Failure{};  // NameError: there are no builtins
      case TokenKind::kOperator:
        if (take("...")) return Ellipsis{};
        if (take("(")) {
          if (take(")")) return EmptyTuple{};
          Value value = expression();
          return take(")") ? value : bad();
        }
        break;
      case TokenKind::kEnd:
        break;
    }
    return bad();
  }

  // 'ab' 'cd' is one string.
  Value strings() {
    std::string text;
    const bool is_bytes = peek().is_bytes;
    for (; peek().kind == TokenKind::kString; ++at_) {
      if (peek().is_bytes != is_bytes) return bad();
      text += std::get<std::string>(peek().value);
    }
    return is_bytes ? Value(Failure{}) : Value(std::move(text));
  }

  static bool is_constant(std::string_view name) {
    return name == "None" || name == "True" || name == "False";
  }
  static bool is_keyword(std::string_view name) {
    return std::find(kKeywords.begin(), kKeywords.end(), name) != kKeywords.end();
  }

  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  int operators_ = 0;
  bool is_bad_ = false;
};

std::optional<std::string> evaluate(std::string_view expression) {
  if (expression.size() > kMaxExpressionBytes) return std::nullopt;
  auto tokens = tokens_of(expression);
  return tokens ? str(Parser(std::move(*tokens)).all()) : std::nullopt;
}

constexpr std::string_view kArithmetic = "0123456789*+-/.() ";
constexpr std::string_view kStrings =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789'\"()._ ";
constexpr auto kForbidden = std::to_array<std::string_view>(
    {"__", "import", "exec", "eval", "compile", "open", "file", "input", "raw_input", "globals",
     "locals", "vars", "dir", "getattr", "setattr", "delattr", "hasattr"});

bool has_only(std::string_view text, std::string_view allowed) {
  return text.find_first_not_of(allowed) == std::string_view::npos;
}

bool has_forbidden_word(std::string lower) {
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  return std::any_of(kForbidden.begin(), kForbidden.end(),
                     [&](std::string_view word) { return lower.find(word) != std::string::npos; });
}

}  // namespace

std::optional<std::string> use_calculator(std::string_view expression, CalculatorRules rules) {
  std::string text(expression);
  std::erase(text, ',');
  if (has_only(text, kArithmetic))
    return text.find("**") == std::string::npos ? evaluate(text) : std::nullopt;
  if (rules == CalculatorRules::kOld || !has_only(text, kStrings) || has_forbidden_word(text) ||
      text.find(".count(") == std::string::npos)
    return std::nullopt;
  return evaluate(text);
}

}  // namespace nb
