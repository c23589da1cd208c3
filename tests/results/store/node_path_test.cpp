#include "results/store/node_path.hpp"

#include <gtest/gtest.h>

#include "harness/base/fs.hpp"
#include "tests/support/temp_dir.hpp"

namespace nb {
namespace {

class NodePath : public testing::Test {
 protected:
  NodePath() {
    for (const char* name : {"train-base-tiny-s1-3f2a0011", "train-base-tiny-s1-3f2b7788",
                             "eval-base.mw-tiny-s1-9c0d1e2f", "report"})
      EXPECT_TRUE(make_folders(folder_ / name));
  }
  std::string found(const std::string& name) const {
    const auto path = find_node_path(folder_ / name);
    if (!path) return path.error().message;
    return path->lexically_relative(folder_.path()).string();
  }
  test::TempDir folder_;
};

TEST_F(NodePath, FourDigitsOfAKeyAreEnough) {
  EXPECT_EQ(found("9c0d"), "eval-base.mw-tiny-s1-9c0d1e2f");
  EXPECT_EQ(found("3f2b77"), "train-base-tiny-s1-3f2b7788");
  EXPECT_EQ(found("9c0d/"), "eval-base.mw-tiny-s1-9c0d1e2f");
  EXPECT_EQ(found("9c0"), "9c0");    // too few
  EXPECT_EQ(found("0d1e"), "0d1e");  // not the beginning of a key
}

TEST_F(NodePath, ANameWithoutItsKeyIsEnough) {
  EXPECT_EQ(found("eval-base.mw-tiny-s1"), "eval-base.mw-tiny-s1-9c0d1e2f");
  EXPECT_EQ(found("eval-base.mw"), "eval-base.mw");
}

TEST_F(NodePath, SeveralCandidatesAreNamed) {
  const std::string name = (folder_ / "train-base-tiny-s1").string();
  EXPECT_EQ(found("train-base-tiny-s1"), name + ": 2 nodes match; give one of them:\n  " + name +
                                             "-3f2a0011\n  " + name + "-3f2b7788");
}

TEST_F(NodePath, WhatExistsIsTakenAsItIs) {
  EXPECT_EQ(found("report"), "report");
  EXPECT_EQ(found("eval-base.mw-tiny-s1-9c0d1e2f"), "eval-base.mw-tiny-s1-9c0d1e2f");
  EXPECT_EQ(find_node_path("/nowhere/at/all/3f2a").value(), "/nowhere/at/all/3f2a");
}

}  // namespace
}  // namespace nb
