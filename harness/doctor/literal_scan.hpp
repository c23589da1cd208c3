// Finds which of some hundred short texts stand in a long one, in one pass (Aho and Corasick 1975):
// what makes lines worth a regular expression. Immutable after it is made; thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace nb::doctor {

class LiteralScan {
 public:
  // No text is empty or has a line break; several may be equal.
  explicit LiteralScan(const std::vector<std::string>& literals);

  // Where the first literal that ends in `text` at or behind `from` ends; npos: none does.
  std::size_t first_end(std::string_view text, std::size_t from) const;
  // Numbers of the literals that stand in `text`, ascending, each once.
  std::vector<int> in(std::string_view text) const;

 private:
  using State = std::uint16_t;
  using Row = std::uint32_t;  // twice the place of a state's row, + 1 where a literal ends in it
  Row next(Row row, char byte) const {
    return rows_[row / 2 + class_[static_cast<unsigned char>(byte)]];
  }
  std::array<std::uint8_t, 256> class_{};  // bytes that no literal has are one class
  std::size_t classes_ = 1;
  std::vector<State> next_;             // [state][class]
  std::vector<std::vector<int>> ends_;  // literals that end in a state
  std::vector<Row> rows_;               // next_ as the loops take it
};

}  // namespace nb::doctor
