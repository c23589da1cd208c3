// The faults themselves take minutes and are no part of the tests (README.md); that they still fit
// the sources takes a moment and is.
#include <gtest/gtest.h>

#include <string>

#include "harness/base/fs.hpp"
#include "harness/base/subprocess.hpp"
#include "tests/support/temp_dir.hpp"

namespace nb::test {
namespace {

const std::string kFaults = NB_SOURCE_DIR "/tests/faults";

SubprocessResult python(const std::string& code) {
  auto result = run_subprocess(
      {"python3", "-B", "-c", "import sys; sys.path.insert(0, sys.argv[1])\n" + code, kFaults});
  EXPECT_TRUE(result) << result.error().message;
  return result ? *result : SubprocessResult{};
}

TEST(Faults, EveryEditFitsTheSources) {
  const auto checked = run_subprocess({"python3", "-B", kFaults + "/drive.py", "check"});
  ASSERT_TRUE(checked) << checked.error().message;
  EXPECT_EQ(checked->exit_code, 0) << checked->out << checked->err;
}

TEST(Faults, AnEditMatchesWhateverTheLineBreaks) {
  const auto result = python(
      "from plant import Edit, edited\n"
      "print(edited('a = f(x,\\n      y + 1);', Edit('f.cpp', 'f(x, y + 1)', 'g()'), 'x'))");
  EXPECT_EQ(result.out, "a = g();\n") << result.err;
}

TEST(Faults, AnEditThatFitsTwiceOrNeverIsAnErrorThatNamesIt) {
  for (const std::string text : {"", "f(x); f(x);"}) {
    const auto result = python(
        "from plant import Edit, PlantError, edited\n"
        "try: edited('" +
        text +
        "', Edit('model/f.cpp', 'f(x)', 'g()'), 'some_fault')\n"
        "except PlantError as error: print(error)");
    EXPECT_NE(result.out.find("fault some_fault: model/f.cpp: 'f(x)' is there"), std::string::npos)
        << result.out << result.err;
  }
}

}  // namespace
}  // namespace nb::test
