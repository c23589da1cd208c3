#include "harness/base/gzip.hpp"

#include <gtest/gtest.h>

#include "harness/base/fs.hpp"
#include "harness/base/subprocess.hpp"
#include "tests/support/temp_dir.hpp"

namespace nb {
namespace {

TEST(Gzip, TheSystemsProgramUnpacksIt) {
  const test::TempDir folder;
  std::string text;
  for (int i = 0; i < 50'000; ++i) text += std::to_string(i * 7919 % 1009) + "\n";
  for (const std::string& bytes : {std::string(), std::string(1, '\0'), text}) {
    const fs::path file = folder.path() / "text.gz";
    ASSERT_TRUE(write_file(file, gzip(bytes)));
    const auto unpacked = run_subprocess({"gzip", "-dc", file.string()}, {});
    ASSERT_TRUE(unpacked);
    EXPECT_EQ(unpacked->out, bytes);
    EXPECT_EQ(read_text_or_gzip(file).value_or("?"), bytes);
  }
  EXPECT_LT(gzip(text).size(), text.size() / 2);
  EXPECT_EQ(gzip(text), gzip(text));
}

}  // namespace
}  // namespace nb
