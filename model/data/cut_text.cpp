#include "model/data/corpus.hpp"
#include "model/tokenizer/utf8.hpp"

namespace nb {
namespace {

// Joins parts until a group is large enough; the last group may be smaller.
class Grouper {
 public:
  Grouper(std::int64_t wanted, std::string_view separator, std::vector<std::string>& out)
      : wanted_(wanted), separator_(separator), out_(out) {}

  void add(std::string_view part, std::int64_t code_points) {
    if (!group_.empty()) group_ += separator_;
    group_ += part;
    size_ += code_points;
    if (size_ >= wanted_) end();
  }
  void end() {
    if (!group_.empty()) out_.push_back(std::move(group_));
    group_.clear();
    size_ = 0;
  }

 private:
  std::int64_t wanted_;
  std::string_view separator_;
  std::vector<std::string>& out_;
  std::string group_;
  std::int64_t size_ = 0;
};

std::int64_t code_points(std::string_view text) {
  return static_cast<std::int64_t>(utf8_code_points(text));
}

std::string_view next_line(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(line.size() < text.size() ? line.size() + 1 : line.size());
  return line;
}

std::vector<std::string_view> paragraphs(std::string_view text) {
  std::vector<std::string_view> found;
  const char* begin = nullptr;
  const char* end = nullptr;
  while (!text.empty()) {
    const std::string_view line = next_line(text);
    if (line.find_first_not_of(" \t\r\v\f") != std::string_view::npos) {
      if (begin == nullptr) begin = line.data();
      end = line.data() + line.size();
    } else if (begin != nullptr) {
      found.emplace_back(begin, static_cast<std::size_t>(end - begin));
      begin = nullptr;
    }
  }
  if (begin != nullptr) found.emplace_back(begin, static_cast<std::size_t>(end - begin));
  return found;
}

}  // namespace

std::vector<std::string> cut_text(std::string_view text, std::int64_t document_chars) {
  std::vector<std::string> documents;
  Grouper grouper(document_chars, "\n\n", documents);
  for (std::string_view paragraph : paragraphs(text)) {
    const std::int64_t size = code_points(paragraph);
    if (size <= 2 * document_chars) {
      grouper.add(paragraph, size);
      continue;
    }
    grouper.end();
    Grouper lines(document_chars, "\n", documents);
    while (!paragraph.empty()) {
      const std::string_view line = next_line(paragraph);
      lines.add(line, code_points(line));
    }
    lines.end();
  }
  grouper.end();
  return documents;
}

}  // namespace nb
