// tests/changed.py on a tree and a build of its own.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "harness/base/fs.hpp"
#include "harness/base/subprocess.hpp"
#include "tests/support/temp_dir.hpp"

namespace nb::test {
namespace {

// Two programs, "files" and, with the label "sources", "sources".
class ChangedTests : public testing::Test {
 protected:
  ChangedTests() {
    const std::string build = (tree_ / "build").string();
    put("tests/changed.py", read_file(NB_SOURCE_DIR "/tests/changed.py").value());
    put(".gitignore", "build\n");
    put("golden.csv", "1\n");
    put("README.md", "words\n");
    put("build/files", "program");
    put("build/sources", "program");
    put("build/CTestTestfile.cmake",
        "add_test(files \"" + build + "/files\")\nadd_test(sources \"" + build +
            "/sources\")\nset_tests_properties(sources PROPERTIES LABELS sources)\n");
    EXPECT_EQ(call({"git", "init", "-q", tree_.path().string()}), "");
  }

  void put(const std::string& name, const std::string& text) {
    EXPECT_TRUE(make_folders((tree_ / name).parent_path()));
    EXPECT_TRUE(write_file(tree_ / name, text));
  }
  static std::string call(const std::vector<std::string>& command) {
    const auto result = run_subprocess(command);
    return result ? result->out + result->err : result.error().message;
  }
  std::string reached() {
    return call({NB_PYTHON, (tree_ / "tests/changed.py").string(), (tree_ / "build").string()});
  }
  void passed(const std::string& cases) {
    put("build/junit", "<testsuite>" + cases + "</testsuite>");
    EXPECT_EQ(call({NB_PYTHON, (tree_ / "tests/changed.py").string(), (tree_ / "build").string(),
                    "--passed", (tree_ / "build/junit").string()}),
              "");
  }

  TempDir tree_;
};

constexpr const char* kBothPassed =
    "<testcase name=\"files\" status=\"run\"/><testcase name=\"sources\" status=\"run\"/>";

TEST_F(ChangedTests, AreThoseThatDidNotPassWithWhatTheyReadToday) {
  EXPECT_EQ(reached(), "^(files|sources)$\n");
  passed("<testcase name=\"files\" status=\"run\"/><testcase name=\"sources\" status=\"fail\"/>");
  EXPECT_EQ(reached(), "^(sources)$\n");
  passed(kBothPassed);
  EXPECT_EQ(reached(), "");
  put("README.md", "other words\n");
  EXPECT_EQ(reached(), "^(sources)$\n");
  passed(kBothPassed);
  put("golden.csv", "2\n");
  EXPECT_EQ(reached(), "^(files|sources)$\n");
  passed(kBothPassed);
  put("build/files", "another program");
  EXPECT_EQ(reached(), "^(files)$\n");
}

// What a program starts is read, too: npubench, where it holds the path of the build.
TEST_F(ChangedTests, ReachProgramsThatStartOurs) {
  put("build/npubench", "one");
  put("build/files", "starts " + (tree_ / "build").string() + "/npubench");
  passed(kBothPassed);
  put("build/npubench", "another");
  EXPECT_EQ(reached(), "^(files)$\n");
}

}  // namespace
}  // namespace nb::test
