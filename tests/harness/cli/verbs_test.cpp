// The table of verbs and what they share; whole commands are driven in tests/e2e.
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <set>

#include "harness/base/fs.hpp"
#include "harness/cli/common.hpp"
#include "harness/cli/verb.hpp"
#include "tests/support/temp_dir.hpp"

namespace nb::cli {
namespace {

TEST(Verbs, AreNamedOnceWithAnExampleOfTheirOwn) {
  std::set<std::string_view> names;
  for (const Verb& verb : verbs()) {
    EXPECT_TRUE(names.insert(verb.name).second) << verb.name;
    EXPECT_TRUE(verb.example.starts_with("npubench " + std::string(verb.name) + " "))
        << verb.example;
    EXPECT_FALSE(verb.summary.empty());
  }
}

void expect_described(const Verb& verb, const std::string& name) {
  ::CLI::App app;
  CLI::App options(app);
  EXPECT_TRUE(verb.add(options)) << name;
  for (const ::CLI::Option* option : app.get_options()) {
    if (option->get_group() == CLI::kOlderSpellings) continue;
    EXPECT_FALSE(option->get_description().empty()) << name << " " << option->get_name();
  }
  for (const Verb& command : verb.commands)
    expect_described(command, name + " " + std::string(command.name));
}

TEST(Verbs, DescribeEveryOption) {
  for (const Verb& verb : verbs()) expect_described(verb, std::string(verb.name));
}

TEST(Verbs, UseLongFlagsOnly) {
  for (const Verb& verb : verbs()) {
    ::CLI::App app;
    app.set_help_flag("--help", "this text");
    CLI::App options(app);
    verb.add(options);
    for (const ::CLI::Option* option : app.get_options())
      EXPECT_TRUE(option->get_snames().empty()) << verb.name << " " << option->get_name();
  }
}

TEST(Planned, ReadsSuiteOverridesAndNode) {
  SuiteOptions options;
  options.file = "tests/e2e/small.json";
  options.sets = {"/stages/base/iterations=3", R"(/devices=["tiny"])"};
  options.results_dir = "/nowhere/results";
  options.node = "train-base-tiny-s1";
  const auto planned = make_planned(options);
  ASSERT_TRUE(planned) << planned.error().message;
  EXPECT_EQ(planned->suite.stages.base->settings.iterations, 3);
  EXPECT_EQ(planned->plan.nodes[*planned->options.only].name, "train-base-tiny-s1");
  EXPECT_EQ(planned->options.results_dir, "/nowhere/results");
}

TEST(Planned, UnknownNodeAndBrokenOverrideAreErrors) {
  SuiteOptions options;
  options.file = "tests/e2e/small.json";
  options.node = "train-base-tiny-s7";
  EXPECT_FALSE(make_planned(options));
  options.node.clear();
  options.sets = {"no pointer"};
  EXPECT_FALSE(make_planned(options));
}

TEST(Fail, ExitsWithTheErrorsCode) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(fail({ErrorCode::kRun, "the disk is full"}), 4);
  EXPECT_EQ(fail({ErrorCode::kBadInput, "no such key"}), 64);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "npubench: the disk is full\nnpubench: no such key\n");
}

}  // namespace
}  // namespace nb::cli
