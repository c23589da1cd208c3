#include "harness/base/json_io.hpp"

#include <fmt/core.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/base/fs.hpp"

namespace nb {

namespace {

// Deeper than any file of ours; keeps recursive walks (dump, copy) off the end of the stack.
constexpr std::size_t kMaxDepth = 200;

// Hands the text to the parser and remembers how far it has read.
struct CountingIterator {
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  const char* at = nullptr;
  std::size_t* read = nullptr;

  reference operator*() const { return *at; }
  CountingIterator& operator++() {
    ++at;
    if (read != nullptr) ++*read;
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator before = *this;
    ++*this;
    return before;
  }
  bool operator==(const CountingIterator& other) const { return at == other.at; }
  bool operator!=(const CountingIterator& other) const { return at != other.at; }
};

std::string line_and_column(std::string_view text, std::size_t offset) {
  std::size_t line = 1;
  std::size_t line_start = 0;
  for (std::size_t i = 0; i < offset && i < text.size(); ++i) {
    if (text[i] != '\n') continue;
    ++line;
    line_start = i + 1;
  }
  return fmt::format("{}:{}", line, offset - line_start + 1);
}

// Builds the value as the library's own DOM parser does, and refuses a key that comes twice.
class Builder : public nlohmann::json_sax<Json> {
 public:
  Builder(std::string_view text, const std::size_t* read) : text_(text), read_(read) {}

  Json root;
  std::string error;  // "line:column: sentence" when parsing stopped

  bool null() override { return put(nullptr); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(number_integer_t value) override { return put(value); }
  bool number_unsigned(number_unsigned_t value) override { return put(value); }
  bool number_float(number_float_t value, const string_t&) override { return put(value); }
  bool string(string_t& value) override { return put(std::move(value)); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(Json::object()); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    const auto [place, is_new] = open_.back()->get_ref<Json::object_t&>().try_emplace(name);
    slot_ = &place->second;
    if (is_new) return true;
    error = fmt::format("{}: key \"{}\" appears twice in one object",
                        line_and_column(text_, key_start()), name);
    return false;
  }

  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception& what) override {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error …"
    std::string_view reason = what.what();
    if (const auto bracket = reason.find("] "); bracket != reason.npos)
      reason.remove_prefix(bracket + 2);
    if (reason.starts_with("parse error at ")) {
      if (const auto colon = reason.find(": "); colon != reason.npos)
        reason.remove_prefix(colon + 2);
    }
    error = fmt::format("{}: {}", line_and_column(text_, position > 0 ? position - 1 : 0), reason);
    return false;
  }

 private:
  template <class T>
  bool put(T&& value) {
    place() = Json(std::forward<T>(value));
    return true;
  }
  bool open(Json&& empty) {
    if (open_.size() >= kMaxDepth) {
      error = fmt::format("{}: nested deeper than {} levels", line_and_column(text_, *read_ - 1),
                          kMaxDepth);
      return false;
    }
    Json& here = place();
    here = std::move(empty);
    open_.push_back(&here);
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }
  // Where the next value goes. Pointers stay valid: an array grows only while no element is open.
  Json& place() {
    if (open_.empty()) return root;
    if (open_.back()->is_object()) return *slot_;
    auto& array = open_.back()->get_ref<Json::array_t&>();
    array.emplace_back();
    return array.back();
  }
  // Offset of the opening quote of the key that was just read.
  std::size_t key_start() const {
    std::size_t at = *read_ - 1;  // its closing quote
    while (at > 0) {
      --at;
      if (text_[at] != '"') continue;
      std::size_t backslashes = 0;
      while (backslashes < at && text_[at - 1 - backslashes] == '\\') ++backslashes;
      if (backslashes % 2 == 0) break;
    }
    return at;
  }

  std::string_view text_;
  const std::size_t* read_;
  std::vector<Json*> open_;
  Json* slot_ = nullptr;
};

std::string pointer_token(std::string_view key) {
  std::string token = "/";
  for (const char c : key) {
    if (c == '~')
      token += "~0";
    else if (c == '/')
      token += "~1";
    else
      token += c;
  }
  return token;
}

// Why the value cannot be written, with the pointer of the first such place; empty when it can.
std::string unwritable(const Json& value, const std::string& pointer) {
  if (value.is_number_float() && !std::isfinite(value.get<double>()))
    return fmt::format("{}: {} is not a JSON number", pointer.empty() ? "/" : pointer,
                       std::isnan(value.get<double>()) ? "NaN" : "infinity");
  if (value.is_object()) {
    for (const auto& [key, member] : value.items())
      if (std::string why = unwritable(member, pointer + pointer_token(key)); !why.empty())
        return why;
  }
  if (value.is_array()) {
    for (std::size_t i = 0; i < value.size(); ++i)
      if (std::string why = unwritable(value[i], fmt::format("{}/{}", pointer, i)); !why.empty())
        return why;
  }
  return {};
}

// The same for text that is not UTF-8, which only dump() can tell.
std::string not_utf8(const Json& value, const std::string& pointer) {
  const auto fails = [](const Json& text) {
    try {
      (void)text.dump();
      return false;
    } catch (const Json::type_error&) {
      return true;
    }
  };
  if (value.is_object()) {
    for (const auto& [key, member] : value.items()) {
      if (fails(Json(key)))
        return fmt::format("{}: a key is not UTF-8", pointer.empty() ? "/" : pointer);
      if (std::string why = not_utf8(member, pointer + pointer_token(key)); !why.empty())
        return why;
    }
    return {};
  }
  if (value.is_array()) {
    for (std::size_t i = 0; i < value.size(); ++i)
      if (std::string why = not_utf8(value[i], fmt::format("{}/{}", pointer, i)); !why.empty())
        return why;
    return {};
  }
  return fails(value) ? fmt::format("{}: text is not UTF-8", pointer.empty() ? "/" : pointer) : "";
}

}  // namespace

Result<Json> parse_json(std::string_view text, const std::string& where, JsonComments comments) {
  // The parser would take it for the end and leave out what follows.
  if (const std::size_t zero = text.find('\0'); zero != text.npos)
    return bad_input(fmt::format("{}:{}: a zero byte; JSON is UTF-8 text (is the file damaged?)",
                                 where, line_and_column(text, zero)));
  std::size_t read = 0;
  Builder builder(text, &read);
  const char* const end = text.data() + text.size();
  const bool parsed = Json::sax_parse(
      CountingIterator{text.data(), &read}, CountingIterator{end, &read}, &builder,
      nlohmann::detail::input_format_t::json, true, comments == JsonComments::kAllowed);
  if (!parsed) return bad_input(fmt::format("{}:{}", where, builder.error));
  return std::move(builder.root);
}

Result<Json> parse_json_line(std::string_view line, const std::string& where) {
  constexpr std::string_view kFirstLine = ":1:";
  auto json = parse_json(line, "");
  if (json) return json;
  std::string_view message = json.error().message;
  if (message.starts_with(kFirstLine)) message.remove_prefix(kFirstLine.size());
  return bad_input(fmt::format("{}:{}", where, message));
}

Result<Json> read_json(const std::filesystem::path& path, JsonComments comments) {
  NB_TRY(const std::string text, read_file(path));
  return parse_json(text, path.string(), comments);
}

Result<std::string> dump_json(const Json& value, int indent) {
  if (std::string why = unwritable(value, ""); !why.empty()) return run_error(std::move(why));
  try {
    return value.dump(indent);
  } catch (const Json::type_error&) {
    return run_error(not_utf8(value, ""));
  }
}

Result<void> write_json(const std::filesystem::path& path, const Json& value, int indent) {
  NB_TRY(std::string text, dump_json(value, indent), path.string());
  return write_file(path, text + "\n");
}

Json optional_json(const std::optional<double>& value) { return value ? Json(*value) : Json(); }
Json optional_json(const std::optional<std::int64_t>& value) {
  return value ? Json(*value) : Json();
}

}  // namespace nb
