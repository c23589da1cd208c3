#include "tests/support/golden.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace nb::test {
namespace {

std::string line_at(std::string_view text, std::size_t position) {
  const std::size_t before =
      position == 0 ? std::string_view::npos : text.rfind('\n', position - 1);
  const std::size_t begin = before == std::string_view::npos ? 0 : before + 1;
  return std::string(text.substr(begin, text.find('\n', position) - begin));
}

}  // namespace

std::string golden_difference(const std::string& name, std::string_view text) {
  const std::filesystem::path path = std::filesystem::path(NB_SOURCE_DIR) / "tests/golden" / name;
  if (const char* accept = std::getenv("NB_ACCEPT");
      accept != nullptr && std::string(accept) == "1") {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
    return {};
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) return path.string() + " is missing; NB_ACCEPT=1 writes it";
  std::stringstream bytes;
  bytes << file.rdbuf();
  const std::string expected = bytes.str();
  if (expected == text) return {};
  std::size_t at = 0;
  while (at < expected.size() && at < text.size() && expected[at] == text[at]) ++at;
  return "tests/golden/" + name + " differs; expected line: \"" + line_at(expected, at) +
         "\", now: \"" + line_at(text, at) + "\"; NB_ACCEPT=1 accepts the new text";
}

}  // namespace nb::test
