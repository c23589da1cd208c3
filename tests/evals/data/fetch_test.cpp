#include "evals/data/fetch.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "harness/base/fs.hpp"
#include "harness/base/hash.hpp"
#include "harness/base/subprocess.hpp"
#include "tests/support/http_server.hpp"
#include "tests/support/temp_dir.hpp"

namespace nb {
namespace {

// "text/a" of 300,000 bytes and "text/b b" of 6; the origin of the second is no copy.
std::string content_a() {
  std::string text;
  while (text.size() < 300'000) text += std::to_string(text.size()) + "\n";
  text.resize(300'000);
  return text;
}
constexpr const char* kContentB = "hello\n";

DataManifest manifest() {
  return *parse_data_manifest(
      fmt::format(R"({{"schema": 1, "files": [
  {{"name": "text/a", "path": "t/a.txt", "size_bytes": 300000, "licence": "none",
   "origin": "o/r@{0}:x/a b.txt", "sha256": "{1}"}},
  {{"name": "text/b", "path": "t/b b.txt", "size_bytes": 6, "licence": "none",
   "origin": "made from o/r@{0}:b", "sha256": "{2}"}}]}})",
                  std::string(40, 'a'), sha256_hex(content_a()), sha256_hex(kContentB)),
      "m.json");
}

class Fetch : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(write_file(source_ / "t/a.txt", content_a()).has_value());
    ASSERT_TRUE(write_file(source_ / "t/b b.txt", kContentB).has_value());
    options_.use_origins = false;
  }
  Result<FetchSummary> get(std::vector<std::string> names) {
    return fetch(manifest_, names, data_.path(), options_);
  }
  std::string error_of(const std::string& name) {
    const auto summary = get({name});
    return summary ? "fetched" : summary.error().message;
  }
  bool is_right(const std::string& name) const {
    return resolve(manifest_, name, data_.path()).has_value();
  }
  bool has_part() const { return fs::exists(data_ / "t/a.txt.part"); }

  test::TempDir source_, data_, scratch_;
  DataManifest manifest_ = manifest();
  FetchOptions options_;
};

TEST_F(Fetch, FromAFolderNeedsNoNetwork) {
  options_.from = source_.path();
  const auto summary = get({});
  ASSERT_TRUE(summary.has_value()) << summary.error().message;
  EXPECT_EQ(summary->fetched, 2);
  EXPECT_TRUE(is_right("text/a") && is_right("text/b"));
  const auto again = get({"text"});
  EXPECT_EQ(again->kept, 2);
  EXPECT_EQ(again->fetched, 0);
}

// The first file that was missing there ended it, with most of the others not taken.
TEST_F(Fetch, OfAllFilesAFolderGivesThoseThatItHas) {
  options_.from = source_.path();
  fs::remove(source_ / "t/a.txt");
  const auto summary = get({});
  ASSERT_TRUE(summary.has_value()) << summary.error().message;
  EXPECT_EQ(summary->fetched, 1);
  EXPECT_EQ(summary->absent, 1);
  EXPECT_TRUE(is_right("text/b"));
  EXPECT_NE(error_of("text/a").find("is missing; it belongs at"), std::string::npos);
  options_.from = scratch_.path();
  const auto none = fetch(manifest_, {}, scratch_ / "new", options_);
  ASSERT_FALSE(none.has_value());
  EXPECT_EQ(none.error().code, ErrorCode::kBadInput);
  EXPECT_NE(none.error().message.find("has none of the files"), std::string::npos);
}

// It was an "Input/output error", and nobody thought of the disk.
TEST_F(Fetch, AFullDiskIsCalledByItsNameAndLeavesNothing) {
  options_.from = source_.path();
  fail_writes_after(1, ENOSPC);
  const std::string error = error_of("text/a");
  fail_writes_after(0, 0);
  EXPECT_EQ(error,
            "cannot write " + (data_ / "t/a.txt.part").string() + ": No space left on device");
  EXPECT_TRUE(fs::is_empty(data_ / "t"));
}

TEST_F(Fetch, AWrongFileInTheFolderIsNamedAndNotTaken) {
  options_.from = source_.path();
  ASSERT_TRUE(write_file(source_ / "t/b b.txt", "hallo\n").has_value());
  EXPECT_NE(error_of("text/b").find("not the file that \"text/b\" names"), std::string::npos)
      << error_of("text/b");
  EXPECT_FALSE(fs::exists(data_ / "t/b b.txt"));
}

TEST_F(Fetch, AFolderThatIsNotThereIsSaidSo) {
  options_.from = source_ / "nowhere";
  EXPECT_EQ(error_of("text/b"), "--from " + options_.from.string() + " does not exist");
  options_.from = scratch_.path();
  EXPECT_EQ(error_of("text/b"),
            "--from " + options_.from.string() + ": \"text/b\" is missing; it belongs at " +
                (scratch_ / "t/b b.txt").string() + " (the layout of npubench data list)");
}

TEST_F(Fetch, AMirrorIsAUrl) {
  options_.mirrors = {"core/copa"};
  EXPECT_EQ(error_of("text/a"),
            "mirror \"core/copa\": no URL that can be fetched; it begins with https://, http:// or "
            "file://");
}

TEST_F(Fetch, AnUnknownNameGetsTheNearestOne) {
  EXPECT_NE(error_of("text/aa").find("did you mean \"text/a\""), std::string::npos)
      << error_of("text/aa");
}

TEST_F(Fetch, WhatIsNoCopyNeedsAMirrorOrAFolder) {
  options_.use_origins = true;
  EXPECT_NE(error_of("text/b").find("--mirror URL"), std::string::npos) << error_of("text/b");
  EXPECT_NE(error_of("text/b").find("not a copy of a public file"), std::string::npos);
  options_.use_origins = false;
  EXPECT_NE(error_of("text/a").find("its origin is excluded"), std::string::npos)
      << error_of("text/a");
}

TEST_F(Fetch, NoServerIsNamed) {
  options_.mirrors = {"http://127.0.0.1:1/data"};  // nobody listens on port 1
  options_.attempts = 1;
  const std::string error = error_of("text/a");
  EXPECT_NE(error.find("http://127.0.0.1:1/data/t/a.txt"), std::string::npos) << error;
  EXPECT_NE(error.find("Failed to connect"), std::string::npos) << error;
}

class FetchFromServer : public Fetch {
 protected:
  void SetUp() override {
    Fetch::SetUp();
    if (!run_subprocess({"curl", "--version"})) GTEST_SKIP() << "skipped: no curl here";
    server_ = std::make_unique<test::HttpServer>(source_.path(), scratch_.path());
    if (!server_->is_up()) GTEST_SKIP() << "skipped: no python3, or no local sockets here";
  }
  void mirror(const std::vector<std::string>& modes) {
    for (const std::string& mode : modes) options_.mirrors.push_back(server_->url(mode));
  }
  std::unique_ptr<test::HttpServer> server_;
};

TEST_F(FetchFromServer, PathsAreEscaped) {
  mirror({"plain"});
  const auto summary = get({});
  ASSERT_TRUE(summary.has_value()) << summary.error().message;
  EXPECT_EQ(summary->fetched, 2);
  EXPECT_TRUE(is_right("text/a") && is_right("text/b"));
  EXPECT_FALSE(has_part());
}

TEST_F(FetchFromServer, ACutDownloadGoesOnWhereItWas) {
  mirror({"cut"});
  const auto summary = get({"text/a"});
  ASSERT_TRUE(summary.has_value()) << summary.error().message;
  EXPECT_TRUE(is_right("text/a"));
  EXPECT_EQ(server_->requests(),
            (std::vector<std::string>{"cut t/a.txt ", "cut t/a.txt bytes=150000-"}));
}

TEST_F(FetchFromServer, WhatAnInterruptedProgramLeftIsUsed) {
  mirror({"plain"});
  ASSERT_TRUE(write_file(data_ / "t/a.txt.part", content_a().substr(0, 1234)).has_value());
  ASSERT_TRUE(get({"text/a"}).has_value());
  EXPECT_TRUE(is_right("text/a"));
  EXPECT_EQ(server_->requests(), (std::vector<std::string>{"plain t/a.txt bytes=1234-"}));
}

// A good mirror was blamed for what an older program had left.
TEST_F(FetchFromServer, APartOfAnotherFileIsFetchedAnew) {
  mirror({"plain"});
  ASSERT_TRUE(write_file(data_ / "t/a.txt.part", std::string(1234, 'x')).has_value());
  ASSERT_TRUE(get({"text/a"}).has_value()) << error_of("text/a");
  EXPECT_TRUE(is_right("text/a"));
  EXPECT_EQ(server_->requests(),
            (std::vector<std::string>{"plain t/a.txt bytes=1234-", "plain t/a.txt "}));
}

TEST_F(FetchFromServer, AWholePartIsCheckedWithoutAnyRequest) {
  mirror({"plain"});
  ASSERT_TRUE(write_file(data_ / "t/a.txt.part", content_a()).has_value());
  ASSERT_TRUE(get({"text/a"}).has_value());
  EXPECT_TRUE(is_right("text/a"));
  EXPECT_TRUE(server_->requests().empty());
}

TEST_F(FetchFromServer, ABusyServerIsAskedAgainLater) {
  mirror({"busy"});
  ASSERT_TRUE(get({"text/a"}).has_value());
  EXPECT_EQ(server_->requests(), (std::vector<std::string>{"busy t/a.txt ", "busy t/a.txt "}));
}

TEST_F(FetchFromServer, ABusyServerIsNotAskedMoreOftenThanAllowed) {
  mirror({"busy"});
  options_.attempts = 1;
  EXPECT_NE(error_of("text/a").find("503"), std::string::npos) << error_of("text/a");
  EXPECT_FALSE(is_right("text/a"));
}

TEST_F(FetchFromServer, AServerWithoutRangesStartsOver) {
  mirror({"norange"});
  const auto summary = get({"text/a"});
  ASSERT_TRUE(summary.has_value()) << summary.error().message;
  EXPECT_TRUE(is_right("text/a"));
}

TEST_F(FetchFromServer, TheNextMirrorHelpsWhereOneIsWrongOrGone) {
  mirror({"gone", "wrong", "plain"});
  const auto summary = get({"text/a"});
  ASSERT_TRUE(summary.has_value()) << summary.error().message;
  EXPECT_TRUE(is_right("text/a"));
  EXPECT_EQ(server_->requests(),
            (std::vector<std::string>{"gone t/a.txt ", "wrong t/a.txt ", "plain t/a.txt "}))
      << "neither passes by waiting";
}

TEST_F(FetchFromServer, OtherBytesAreNeverTaken) {
  mirror({"wrong"});
  const std::string error = error_of("text/a");
  EXPECT_NE(error.find("not the file that \"text/a\" names"), std::string::npos) << error;
  EXPECT_FALSE(fs::exists(data_ / "t/a.txt"));
  EXPECT_FALSE(has_part());
}

// A server that never ended filled the disk.
TEST_F(FetchFromServer, WhatIsMoreThanTheManifestSaysIsCutOff) {
  mirror({"endless"});
  const std::string error = error_of("text/a");
  EXPECT_NE(error.find("it has more than the 293 KiB of this file in the manifest"),
            std::string::npos)
      << error;
  EXPECT_FALSE(has_part());
  mirror({"plain"});
  ASSERT_TRUE(get({"text/a"}).has_value());
  EXPECT_TRUE(is_right("text/a"));
}

TEST(OriginUrl, IsOfByteCopiesOnly) {
  EXPECT_EQ(origin_url(manifest().files[0]),
            "https://raw.githubusercontent.com/o/r/" + std::string(40, 'a') + "/x/a%20b.txt");
  EXPECT_EQ(origin_url(manifest().files[1]), "");
}

TEST(OriginUrl, OfTheRealManifestNamesTheCopies) {
  int copies = 0;
  for (const DataFile& file : data_manifest().files) copies += origin_url(file).empty() ? 0 : 1;
  EXPECT_EQ(origin_url(*data_manifest().find("core/copa")),
            "https://raw.githubusercontent.com/mosaicml/llm-foundry/"
            "8c8dd48f72168c5d51e2f7b151595892a8fba43d/scripts/eval/local_data/"
            "commonsense_reasoning/copa.jsonl");
  EXPECT_EQ(origin_url(*data_manifest().find("arc/arc_easy_test")), "");
  EXPECT_GT(copies, 60);
}

}  // namespace
}  // namespace nb
