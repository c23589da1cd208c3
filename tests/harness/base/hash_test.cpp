#include "harness/base/hash.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "harness/base/check.hpp"
#include "harness/base/fs.hpp"
#include "tests/support/temp_dir.hpp"

namespace nb {
namespace {

// FIPS 180-2, appendix B.
constexpr const char* kAbc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
constexpr const char* kEmpty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
constexpr const char* kMillionA =
    "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";

TEST(Sha256, KnownAnswers) {
  EXPECT_EQ(sha256_hex("abc"), kAbc);
  EXPECT_EQ(sha256_hex(""), kEmpty);
  EXPECT_EQ(sha256_hex(std::string(1'000'000, 'a')), kMillionA);
}

TEST(Sha256, PiecesAreAsTheWhole) {
  Sha256 hash;
  hash.update("a");
  hash.update("");
  hash.update("bc");
  EXPECT_EQ(hash.hex(), kAbc);
  EXPECT_THROW(hash.hex(), CheckFailure);
}

TEST(Sha256, OfAFile) {
  const test::TempDir dir;
  ASSERT_TRUE(write_file(dir / "x", "abc").has_value());
  EXPECT_EQ(sha256_file(dir / "x").value(), kAbc);
  EXPECT_FALSE(sha256_file(dir / "y").has_value());
}

// In pieces, which are given back; the last is no whole one.
TEST(Sha256, OfALargeFileIsThatOfItsBytes) {
  const test::TempDir dir;
  std::string text(9 * 1024 * 1024 + 5, 'a');
  for (std::size_t i = 0; i < text.size(); i += 997) text[i] = static_cast<char>('a' + i % 26);
  ASSERT_TRUE(write_file(dir / "x", text).has_value());
  EXPECT_EQ(sha256_file(dir / "x").value(), sha256_hex(text));
}

TEST(Sha256, OfJsonIsOfItsSortedOneLineForm) {
  EXPECT_EQ(sha256_json(Json{{"b", 1}, {"a", 0.5}}), sha256_hex(R"({"a":0.5,"b":1})"));
  EXPECT_THROW(sha256_json(Json{{"a", std::numeric_limits<double>::quiet_NaN()}}), CheckFailure);
}

}  // namespace
}  // namespace nb
