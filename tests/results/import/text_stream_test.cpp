#include "results/foreign/text_stream.hpp"

#include <gtest/gtest.h>

#include "harness/base/fs.hpp"
#include "tests/results/import/packed_text.hpp"
#include "tests/support/temp_dir.hpp"

namespace nb {
namespace {

std::string text_of_file(const std::string& bytes) {
  const test::TempDir folder;
  const fs::path path = folder / "f";
  EXPECT_TRUE(write_file(path, bytes));
  auto text = read_decoded(path);
  if (text) return *text;
  std::string message = text.error().message;
  return "error" + message.substr(message.find(": "));
}

TEST(TextStream, GzipAndUtf16AreTheTextThatTheyHold) {
  std::string text;
  for (int i = 0; i < 20000; ++i) text += "Zeile " + std::to_string(i) + " é 模 🙂\n";
  EXPECT_EQ(text_of_file(text), text);
  EXPECT_EQ(text_of_file(test::gzip_of(text)), text);
  EXPECT_EQ(text_of_file(test::utf16_of(text)), text);
  EXPECT_EQ(text_of_file(test::gzip_of("one\n") + test::gzip_of("two\n")), "one\ntwo\n");
  EXPECT_EQ(text_of_file(std::string("\xFE\xFF\0A\0\n", 6)), "A\n");  // big endian
  EXPECT_EQ(text_of_file(""), "");
}

TEST(TextStream, DamagedOnesAreErrors) {
  const std::string packed = test::gzip_of("a text that is long enough to be cut");
  EXPECT_EQ(text_of_file(packed.substr(0, packed.size() / 2)),
            "error: the gzip data end early; is the file whole?");
  std::string other = packed;
  other[12] = static_cast<char>(other[12] ^ 0x55);
  EXPECT_EQ(text_of_file(other), "error: the gzip data are damaged");
  EXPECT_EQ(text_of_file(test::gzip_of(std::string(4 << 20, ' '))),
            "error: unpacks to more than 300 times its size");
  // Half a pair of UTF-16 has no character.
  EXPECT_EQ(text_of_file(std::string("\xFF\xFE\x3D\xD8"
                                     "A\0",
                                     6)),
            "\xEF\xBF\xBD"
            "A");
}

}  // namespace
}  // namespace nb
