// tests/units.py on a unit of two sources of its own.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "harness/base/fs.hpp"
#include "harness/base/json_io.hpp"
#include "harness/base/subprocess.hpp"
#include "tests/support/temp_dir.hpp"

namespace nb::test {
namespace {

// What units.py says of these two sources as one unit.
std::string said_of(const std::string& first, const std::string& second) {
  const TempDir folder;
  EXPECT_TRUE(write_file(folder / "a.cpp", first) && write_file(folder / "b.cpp", second));
  EXPECT_TRUE(make_folders(folder / "Unity"));
  EXPECT_TRUE(
      write_file(folder / "Unity/unit.cxx", "#include \"../a.cpp\"\n#include \"../b.cpp\"\n"));
  EXPECT_TRUE(
      write_json(folder / "compile_commands.json",
                 Json::array({{{"directory", folder.path().string()},
                               {"file", "x/Unity/unit.cxx"},
                               {"command", NB_CXX " -O2 -Wall -Werror -MD -MF unit.d -o unit.o -c "
                                                  "Unity/unit.cxx"}}})));
  const auto result =
      run_subprocess({NB_PYTHON, NB_SOURCE_DIR "/tests/units.py", folder.path().string()});
  return result ? result->out + result->err : result.error().message;
}

// A benchmark drew its operands by the function of another one: their sizes did not fit.
TEST(Units, ACallOfAnotherSourcesFunctionIsSeen) {
  const std::string first =
      "namespace { long drawn(long rows) { return 2 * rows; } }\n"
      "long a() { return drawn(1); }\n";
  const std::string said =
      said_of(first,
              "namespace { long drawn(unsigned long count, int) { return count; } }\n"
              "long b() { return drawn(2L) + drawn(3, 0); }\n");
  EXPECT_NE(said.find("b.cpp:2:24: calls long int {anonymous}::drawn(long int) of "),
            std::string::npos)
      << said;
  EXPECT_NE(said.find("\n0 passed, 1 failed, 0 skipped\n"), std::string::npos) << said;
  EXPECT_EQ(said_of(first, "long a();\nlong b() { return a(); }\n"),
            "1 passed, 0 failed, 0 skipped\n");
}

TEST(Units, OneThatDoesNotCompileFails) {
  EXPECT_NE(said_of("", "int b() { return c(); }\n").find("0 passed, 1 failed"), std::string::npos);
}

}  // namespace
}  // namespace nb::test
