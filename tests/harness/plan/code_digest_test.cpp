// Drives code_digest.cmake as the build does, on a small tree of its own.
#include <gtest/gtest.h>

#include "harness/base/fs.hpp"
#include "harness/base/subprocess.hpp"
#include "tests/support/temp_dir.hpp"

namespace nb {
namespace {

// The generated table of a tree under `root`.
std::string digest_of(const fs::path& root, const std::string& flags = "-ffp-contract=off") {
  const fs::path out = root / "out";
  EXPECT_TRUE(write_file(out / "list", "a|a/x.cpp|a/y.hpp\nb|b/z.cpp\n"));
  EXPECT_TRUE(write_file(out / "kinds", "train|a b\neval|b\n"));
  const auto result =
      run_subprocess({NB_CMAKE, "-DSOURCE_DIR=" + root.string(),
                      "-DLIST=" + (out / "list").string(), "-DKINDS=" + (out / "kinds").string(),
                      "-DFLAGS=" + flags, "-DOUTPUT=" + (out / "table.cpp").string(), "-P",
                      NB_SOURCE_DIR "/harness/plan/code_digest.cmake"});
  EXPECT_TRUE(result);
  EXPECT_EQ(result->exit_code, 0) << result->err;
  auto text = read_file(out / "table.cpp");
  EXPECT_TRUE(text);
  return text ? *text : "";
}

void fill(const fs::path& root) {
  ASSERT_TRUE(write_file(root / "a/x.cpp", "int x;\n"));
  ASSERT_TRUE(write_file(root / "a/y.hpp", "int y();\n"));
  ASSERT_TRUE(write_file(root / "b/z.cpp", "int z;\n"));
}

// The line of one folder.
std::string line_of(const std::string& table, const std::string& folder) {
  const std::size_t at = table.find("{\"" + folder + "\"");
  return at == std::string::npos ? "" : table.substr(at, table.find('\n', at) - at);
}

TEST(CodeDigest, DoesNotDependOnTheFolderOfTheCheckout) {
  const test::TempDir one, two;
  fill(one.path());
  fill(two.path());
  EXPECT_EQ(digest_of(one.path()), digest_of(two.path()));
}

TEST(CodeDigest, ChangesWithOneByteOfItsComponentOnly) {
  const test::TempDir root;
  fill(root.path());
  const std::string before = digest_of(root.path());
  ASSERT_TRUE(write_file(root / "a/y.hpp", "int  y();\n"));
  const std::string after = digest_of(root.path());
  EXPECT_NE(line_of(before, "a"), line_of(after, "a"));
  EXPECT_EQ(line_of(before, "b"), line_of(after, "b"));
}

TEST(CodeDigest, ChangesWithFlagsThatChangeValues) {
  const test::TempDir root;
  fill(root.path());
  EXPECT_NE(digest_of(root.path()), digest_of(root.path(), "-ffast-math"));
}

TEST(CodeDigest, UnchangedSourcesLeaveTheFileAlone) {
  const test::TempDir root;
  fill(root.path());
  digest_of(root.path());
  const auto before = fs::last_write_time(root / "out/table.cpp");
  digest_of(root.path());
  EXPECT_EQ(before, fs::last_write_time(root / "out/table.cpp"));
}

}  // namespace
}  // namespace nb
