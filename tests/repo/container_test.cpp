// The container recipe: a base that stays, and no root when it runs.

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "harness/base/fs.hpp"

namespace nb {
namespace {

// Instruction and its arguments, in their order.
std::vector<std::pair<std::string, std::string>> instructions() {
  const auto text = read_file(NB_SOURCE_DIR "/harness/Dockerfile");
  EXPECT_TRUE(text) << text.error().message;
  std::istringstream lines(text ? *text : "");
  std::vector<std::pair<std::string, std::string>> found;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line[0] == '#' || line[0] == ' ') continue;
    const std::size_t space = line.find(' ');
    found.emplace_back(line.substr(0, space), line.substr(space + 1));
  }
  return found;
}

TEST(Container, BaseIsTheImageOfOneDay) {
  const auto recipe = instructions();
  ASSERT_FALSE(recipe.empty());
  EXPECT_EQ(recipe[0].first, "FROM");
  // "debian:12" and "debian:bookworm" are other images every month.
  const std::string& base = recipe[0].second;
  ASSERT_TRUE(base.starts_with("debian:bookworm-")) << base;
  const std::string day = base.substr(base.find('-') + 1, 8);
  EXPECT_EQ(day.find_first_not_of("0123456789"), std::string::npos) << base;
  EXPECT_EQ(day.size(), 8U) << base;
}

TEST(Container, NothingRunsAsRootOnceThePackagesAreThere) {
  bool is_root = true, has_packages = false;
  for (const auto& [what, arguments] : instructions()) {
    if (what == "USER") is_root = arguments == "root" || arguments == "0";
    if (what == "RUN" && arguments.find("packages.sh") != std::string::npos) has_packages = true;
    const bool installs = what == "RUN" && arguments.find("packages.sh") != std::string::npos;
    if (what == "CMD" || what == "ENTRYPOINT" || (what == "RUN" && !installs)) {
      EXPECT_FALSE(is_root) << what << " " << arguments;
      EXPECT_TRUE(has_packages) << what << " " << arguments;
    }
    if (what == "COPY" && !is_root) {
      EXPECT_TRUE(arguments.starts_with("--chown=")) << "files of root: " << arguments;
    }
  }
  EXPECT_FALSE(is_root);
}

}  // namespace
}  // namespace nb
