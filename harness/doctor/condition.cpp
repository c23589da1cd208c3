#include "harness/doctor/condition.hpp"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <nlohmann/json.hpp>

#include "harness/base/check.hpp"
#include "harness/base/fs.hpp"
#include "harness/base/json_io.hpp"
#include "harness/doctor/lint_words.hpp"
#include "harness/doctor/pattern.hpp"
#include "harness/doctor/tables.hpp"
#include "harness/doctor/version_number.hpp"

namespace nb::doctor {
namespace {

enum class Subject { kOwn, kVariable, kKey, kFact, kLine };

// "5" and "5.0", not "5s".
std::optional<double> decimal_of(std::string_view text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  if (text.empty() || error != std::errc() || at != end) return std::nullopt;
  return value;
}

std::optional<long long> integer_of(std::string_view text) {
  long long value = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  if (text.empty() || error != std::errc() || at != end) return std::nullopt;
  return value;
}

bool compare(std::string_view op, std::string_view value, std::string_view wanted) {
  int order = 0;
  const auto left = decimal_of(value), right = decimal_of(wanted);
  if (op == "==" || op == "!=") {
    const bool equal = left && right ? *left == *right : value == wanted;
    return equal == (op == "==");
  }
  if (left && right && std::count(wanted.begin(), wanted.end(), '.') == 0)
    order = *left < *right ? -1 : *left > *right ? 1 : 0;
  else if (value.find('.') != value.npos || wanted.find('.') != wanted.npos)
    order = compare_versions(value, wanted);
  else
    return false;  // no number: another rule says so
  if (op == "<") return order < 0;
  if (op == "<=") return order <= 0;
  if (op == ">") return order > 0;
  return order >= 0;
}

std::vector<std::string> split(std::string_view text, char by) {
  std::vector<std::string> parts;
  for (;;) {
    const std::size_t end = text.find(by);
    parts.emplace_back(text.substr(0, end));
    if (end == text.npos) return parts;
    text.remove_prefix(end + 1);
  }
}

Known both(Known a, Known b) {
  if (a == Known::kNo || b == Known::kNo) return Known::kNo;
  return a == Known::kYes && b == Known::kYes ? Known::kYes : Known::kUnknown;
}
Known negated(Known a) { return a == Known::kUnknown ? a : known(a == Known::kNo); }

// The value of `key` in "key:value,key:value".
std::optional<std::string> value_of_key(std::string_view text, std::string_view key) {
  for (std::string_view entry : split(text, ',')) {
    while (!entry.empty() && entry[0] == ' ') entry.remove_prefix(1);
    const std::size_t colon = entry.find(':');
    if (colon != entry.npos && entry.substr(0, colon) == key)
      return std::string(entry.substr(colon + 1));
  }
  return std::nullopt;
}

bool is_loopback(std::string_view value) {
  return value.starts_with("127.") || value == "localhost" || value == "::1";
}

Known path_word(std::string_view word, const std::string& value, const Scene& scene) {
  if (word == "json")
    return known(parse_json(value, "value").has_value() && value.starts_with("{"));
  if (!scene.facts->is_machine) return Known::kUnknown;
  const fs::path path = scene.facts->root + value;
  std::error_code error;
  if (word == "dir") return known(fs::is_directory(path, error));
  if (word == "file") return known(fs::is_regular_file(path, error));
  if (word == "json_file") {
    const auto json = read_json(path);
    return known(json.has_value() && json->is_object());
  }
  if (word == "writable_dir")
    return known(fs::is_directory(path, error) && ::access(path.c_str(), W_OK) == 0);
  // dirs: each of a list of paths
  for (const std::string& one : split(value, ':'))
    if (!one.empty() && one[0] == '/' && !fs::exists(scene.facts->root + one, error))
      return Known::kNo;
  return Known::kYes;
}

bool is_path_word(std::string_view word) {
  return word == "json" || word == "dir" || word == "file" || word == "json_file" ||
         word == "writable_dir" || word == "dirs";
}

}  // namespace

struct Condition::Node {
  enum class Kind { kAnd, kOr, kNot, kTest } kind = Kind::kTest;
  std::vector<std::unique_ptr<Node>> parts;

  Subject subject = Subject::kOwn;
  std::string subject_name;
  std::string word;      // "set", "==", "in", "regex", …; of a bare fact "holds"
  std::string argument;  // "3", "a,b"
  const LintWord* own_word = nullptr;
  std::unique_ptr<Pattern> pattern;

  Known holds(const Scene& scene) const;
  Known test(const Scene& scene) const;
  Known test_value(const std::optional<std::string>& value, bool is_known_unset,
                   const Scene& scene) const;
  template <class F>
  bool any(const F& f) const {
    return f(*this) ||
           std::any_of(parts.begin(), parts.end(), [&](const auto& p) { return p->any(f); });
  }
};

Known Condition::Node::holds(const Scene& scene) const {
  switch (kind) {
    case Kind::kNot:
      return negated(parts[0]->holds(scene));
    case Kind::kAnd: {
      Known all = Known::kYes;
      for (const auto& part : parts) {
        all = both(all, part->holds(scene));
        if (all == Known::kNo) break;
      }
      return all;
    }
    case Kind::kOr: {
      Known all = Known::kYes;  // of the negations
      for (const auto& part : parts) {
        all = both(all, negated(part->holds(scene)));
        if (all == Known::kNo) break;
      }
      return negated(all);
    }
    case Kind::kTest:
      return test(scene);
  }
  return Known::kUnknown;
}

Known Condition::Node::test(const Scene& scene) const {
  if (own_word != nullptr) return own_word->holds(scene);
  switch (subject) {
    case Subject::kLine:
      return scene.line == nullptr ? Known::kNo : known(pattern->found_in(scene.line->text));
    case Subject::kFact: {
      if (subject_name == "package") {
        if (!scene.facts->packages) return Known::kUnknown;
        return known(scene.facts->packages->contains(argument));
      }
      const std::string* value = scene.facts->find(subject_name);
      if (word == "unknown") return known(value == nullptr);
      if (value == nullptr) return Known::kUnknown;
      if (word == "holds") return known(*value != "0");
      return test_value(*value, false, scene);
    }
    case Subject::kVariable: {
      const Setting* other = scene.find ? scene.find(subject_name) : nullptr;
      if (other == nullptr) return test_value(std::nullopt, scene.is_whole || scene.script, scene);
      if (other->is_computed && word != "set" && word != "unset") return Known::kUnknown;
      return test_value(other->value, false, scene);
    }
    case Subject::kOwn:
    case Subject::kKey:
      break;
  }
  if (scene.own == nullptr) return test_value(std::nullopt, scene.is_whole, scene);
  if (scene.own->is_computed && word != "set" && word != "unset") return Known::kUnknown;
  if (subject == Subject::kOwn) return test_value(scene.own->value, false, scene);
  const auto value = value_of_key(scene.own->value, subject_name);
  return value ? test_value(*value, false, scene) : known(word == "unset");
}

Known Condition::Node::test_value(const std::optional<std::string>& value, bool is_known_unset,
                                  const Scene& scene) const {
  if (!value) {
    if (!is_known_unset) return Known::kUnknown;
    return known(word == "unset" || word == "!=");
  }
  if (word == "set") return Known::kYes;
  if (word == "unset") return Known::kNo;
  if (word == "empty") return known(value->empty());
  if (word == "not_int") return known(!integer_of(*value));
  if (word == "loopback") return known(is_loopback(*value));
  if (word == "regex") return known(pattern->found_in(*value));
  if (is_path_word(word)) return path_word(word, *value, scene);
  const auto list = split(argument, ',');
  if (word == "in") return known(std::find(list.begin(), list.end(), *value) != list.end());
  if (word == "not_in") return known(std::find(list.begin(), list.end(), *value) == list.end());
  const auto integer = integer_of(*value);
  if (word == "int_outside")
    return known(!integer || *integer < *integer_of(list[0]) || *integer > *integer_of(list[1]));
  if (word == "multiple_of") return known(integer && *integer % *integer_of(argument) == 0);
  std::string wanted = argument;
  if (!wanted.empty() && std::isupper(static_cast<unsigned char>(wanted[0])) != 0 &&
      wanted.find('_') != wanted.npos) {
    const Setting* other = scene.find ? scene.find(wanted) : nullptr;
    const EnvironmentRow* row = find_variable(wanted);
    if (other != nullptr && other->is_computed) return Known::kUnknown;
    wanted = other != nullptr ? other->value : row != nullptr ? row->fallback : "";
    if (wanted.empty()) return Known::kUnknown;
    if (scene.arguments != nullptr) scene.arguments->emplace_back("limit", wanted);
  }
  return known(compare(word, *value, wanted));
}

namespace {

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  std::unique_ptr<Condition::Node> whole() {
    auto node = alternatives();
    skip();
    NB_CHECK(at_ == text_.size(), "condition {}: unread from {}", text_, at_);
    return node;
  }

 private:
  using Node = Condition::Node;

  void skip() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool take(std::string_view what) {
    skip();
    if (text_.substr(at_, what.size()) != what) return false;
    at_ += what.size();
    return true;
  }
  std::unique_ptr<Node> alternatives() { return chain(Node::Kind::kOr, "||"); }
  std::unique_ptr<Node> chain(Node::Kind kind, std::string_view sign) {
    const auto part = [&] {
      return kind == Node::Kind::kOr ? chain(Node::Kind::kAnd, "&&") : negation();
    };
    auto first = part();
    if (!take(sign)) return first;
    auto node = std::make_unique<Node>();
    node->kind = kind;
    node->parts.push_back(std::move(first));
    do node->parts.push_back(part());
    while (take(sign));
    return node;
  }
  std::unique_ptr<Node> negation() {
    skip();
    if (text_.substr(at_, 2) != "!=" && take("!")) {
      auto node = std::make_unique<Node>();
      node->kind = Node::Kind::kNot;
      node->parts.push_back(negation());
      return node;
    }
    if (take("(")) {
      auto node = alternatives();
      NB_CHECK(take(")"), "condition {}: no )", text_);
      return node;
    }
    return test();
  }
  std::string name() {
    skip();
    const std::size_t begin = at_;
    while (at_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '_'))
      ++at_;
    return std::string(text_.substr(begin, at_ - begin));
  }
  std::string until(char end) {
    const std::size_t close = text_.find(end, at_);
    NB_CHECK(close != text_.npos, "condition {}: no {}", text_, end);
    std::string inside(text_.substr(at_, close - at_));
    at_ = close + 1;
    return inside;
  }
  std::unique_ptr<Node> test() {
    auto node = std::make_unique<Node>();
    const std::size_t begin = at_;
    const std::string first = name();
    const auto words = lint_words();
    const auto word = std::find_if(words.begin(), words.end(),
                                   [&](const LintWord& w) { return w.name == first; });
    if (word != words.end()) {
      node->own_word = &*word;
      return node;
    }
    if (first == "key" && take("(")) {
      node->subject = Subject::kKey;
      node->subject_name = until(')');
    } else if (first == "package" && take("(")) {
      node->subject = Subject::kFact;
      node->subject_name = first;
      node->argument = until(')');
      return node;
    } else if (first == "line") {
      node->subject = Subject::kLine;
    } else if (!first.empty() && std::isupper(static_cast<unsigned char>(first[0])) != 0) {
      node->subject = Subject::kVariable;
      node->subject_name = first;
    } else if (!is_word(first)) {
      node->subject = Subject::kFact;
      node->subject_name = first;
      NB_CHECK(!first.empty() || comparison_follows(), "condition {}: nothing at {}", text_, begin);
      if (first.empty()) node->subject = Subject::kOwn;
    } else {
      at_ = begin;
    }
    if (node->subject == Subject::kFact && !word_follows()) {
      node->word = "holds";
      return node;
    }
    read_word(*node);
    return node;
  }
  static bool is_word(std::string_view text) {
    constexpr std::string_view kWords[] = {"set",   "unset",    "empty",       "unknown",
                                           "in",    "not_in",   "int_outside", "not_int",
                                           "regex", "loopback", "multiple_of"};
    return is_path_word(text) ||
           std::find(std::begin(kWords), std::end(kWords), text) != std::end(kWords);
  }
  bool comparison_follows() {
    skip();
    return at_ < text_.size() && (text_[at_] == '<' || text_[at_] == '>' || text_[at_] == '=' ||
                                  text_.substr(at_, 2) == "!=");
  }
  bool word_follows() {
    if (comparison_follows()) return true;
    const std::size_t begin = at_;
    const bool is = is_word(name());
    at_ = begin;
    return is;
  }
  void read_word(Node& node) {
    skip();
    if (comparison_follows()) {
      const std::size_t begin = at_;
      while (at_ < text_.size() &&
             (text_[at_] == '<' || text_[at_] == '>' || text_[at_] == '=' || text_[at_] == '!'))
        ++at_;
      node.word = text_.substr(begin, at_ - begin);
      skip();
      const std::size_t value = at_;
      while (at_ < text_.size() && text_[at_] != ' ' && text_[at_] != ')') ++at_;
      node.argument = text_.substr(value, at_ - value);
      return;
    }
    node.word = name();
    NB_CHECK(is_word(node.word), "condition {}: no word {}", text_, node.word);
    if (node.word == "regex") {
      skip();
      const std::size_t end = end_of_pattern();
      node.pattern = std::make_unique<Pattern>(text_.substr(at_, end - at_));
      at_ = end;
    } else if (take("{")) {
      node.argument = until('}');
    } else if (take("[")) {
      node.argument = until(']');
    } else if (node.word == "multiple_of") {
      node.argument = name();
    }
  }

  // At && or ||, or the ) of a group of conditions.
  std::size_t end_of_pattern() const {
    int depth = 0;
    for (std::size_t at = at_; at < text_.size(); ++at) {
      if (text_.substr(at, 4) == " && " || text_.substr(at, 4) == " || ") return at;
      if (text_[at] == '\\') {
        ++at;
      } else if (text_[at] == '(') {
        ++depth;
      } else if (text_[at] == ')' && --depth < 0) {
        return at;
      }
    }
    return text_.size();
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

Condition::Condition(std::string_view text) : root_(Parser(text).whole()) {}
Condition::~Condition() = default;
Condition::Condition(Condition&&) noexcept = default;
Condition& Condition::operator=(Condition&&) noexcept = default;

Known Condition::holds(const Scene& scene) const { return root_->holds(scene); }

bool Condition::asks_for_lines() const {
  return root_->any([](const Node& node) {
    return node.subject == Subject::kLine || (node.own_word != nullptr && node.own_word->of_line);
  });
}

bool Condition::asks_for_absence() const {
  return root_->any([](const Node& node) {
    return node.kind == Node::Kind::kTest && node.own_word == nullptr &&
           node.subject == Subject::kOwn && node.word == "unset";
  });
}

}  // namespace nb::doctor
