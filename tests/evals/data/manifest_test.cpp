#include "evals/data/manifest.hpp"

#include <gtest/gtest.h>

#include "harness/base/fs.hpp"
#include "tests/support/data_dir.hpp"
#include "tests/support/temp_dir.hpp"

namespace nb {
namespace {

// sha256("hello\n"), git hash-object of it: from coreutils and git.
constexpr const char* kManifest = R"({"schema": 1, "files": [
  {"name": "text/b", "path": "t/b.txt", "size_bytes": 6, "licence": "none", "origin": "o/r@1:b",
   "sha256": "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03"},
  {"name": "text/a", "path": "t/a.txt", "licence": "none", "origin": "o/r@1:a",
   "git_blob": "ce013625030ba8dba906f756967f9e9ca394464a"}]})";

class Resolve : public testing::Test {
 protected:
  void write(const std::string& path, const std::string& text) {
    ASSERT_TRUE(write_file(folder_ / path, text).has_value());
  }
  std::string error_of(const std::string& name) const {
    const auto file = resolve(manifest_, name, folder_.path());
    return file ? "no error" : file.error().message;
  }
  test::TempDir folder_;
  DataManifest manifest_ = *parse_data_manifest(kManifest, "m.json");
};

TEST_F(Resolve, GivesThePathOfAnIntactFile) {
  write("t/b.txt", "hello\n");
  write("t/a.txt", "hello\n");
  const auto b = resolve(manifest_, "text/b", folder_.path());
  ASSERT_TRUE(b.has_value()) << b.error().message;
  EXPECT_EQ(b->path, folder_ / "t/b.txt");
  const auto a = resolve(manifest_, "text/a", folder_.path());
  EXPECT_TRUE(a.has_value()) << a.error().message;
}

TEST_F(Resolve, MissingFileIsNamedWithChecksumAndRemedy) {
  const std::string message = error_of("text/b");
  for (const char* part :
       {"t/b.txt: data file \"text/b\" is missing", "6 bytes",
        "SHA-256 5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03", "--data-dir"})
    EXPECT_NE(message.find(part), std::string::npos) << part << " in " << message;
}

TEST_F(Resolve, TruncatedFileIsNamedWithBothSizesAndChecksum) {
  write("t/b.txt", "hel");
  const std::string message = error_of("text/b");
  for (const char* part : {"cut short", "3 bytes instead of 6", "5891b5b5"})
    EXPECT_NE(message.find(part), std::string::npos) << part << " in " << message;
}

TEST_F(Resolve, AFileThatGrewIsNamedWithBothSizes) {
  write("t/b.txt", "hello\n\n");
  const std::string message = error_of("text/b");
  EXPECT_NE(message.find("is too long: 7 bytes instead of 6"), std::string::npos) << message;
}

TEST_F(Resolve, ChangedFileIsNamedWithBothChecksums) {
  write("t/b.txt", "hellO\n");
  write("t/a.txt", "hellO\n");
  // Both from coreutils and git.
  const std::string b = error_of("text/b"), a = error_of("text/a");
  EXPECT_NE(b.find("expected 5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03"),
            std::string::npos)
      << b;
  EXPECT_NE(a.find("git blob id"), std::string::npos) << a;
  EXPECT_NE(a.find("expected ce013625030ba8dba906f756967f9e9ca394464a"), std::string::npos) << a;
}

TEST_F(Resolve, UnknownNameGetsTheNearestOne) {
  EXPECT_EQ(error_of("text/bb"),
            "there is no data file \"text/bb\"; did you mean \"text/b\"? (npubench data list)");
}

TEST_F(Resolve, TheLastPartOfANameIsUnderstood) {
  EXPECT_EQ(error_of("b"),
            "there is no data file \"b\"; did you mean \"text/b\"? (npubench data list)");
  const std::vector<std::string> names = {"b"};
  EXPECT_EQ(find_files(manifest_, names).error().message,
            "there is no data file or group \"b\"; did you mean \"text/b\"? (npubench data list)");
}

TEST_F(Resolve, AFolderInAFilesPlaceIsNoMissingFile) {
  std::filesystem::create_directories(folder_ / "t/b.txt");
  EXPECT_EQ(error_of("text/b"),
            (folder_ / "t/b.txt").string() +
                ": a folder where data file \"text/b\" belongs; move it away, then: npubench data "
                "get text/b");
}

TEST_F(Resolve, AMistypedDataFolderIsSaidNotToExist) {
  const std::vector<std::string> names = {"text/b"};
  const std::string nowhere = (folder_ / "nowhere").string();
  EXPECT_TRUE(check_presence(manifest_, names, nowhere)
                  .error()
                  .message.starts_with("data folder " + nowhere +
                                       " does not exist: \"text/b\" is missing"));
  EXPECT_EQ(check_folder(nowhere, "--from").error().message,
            "--from " + nowhere + " does not exist");
  write("t/a.txt", "hello\n");
  EXPECT_EQ(check_folder(folder_ / "t/a.txt", "data folder").error().message,
            "data folder " + (folder_ / "t/a.txt").string() + " is not a folder");
  EXPECT_TRUE(check_folder(folder_.path(), ""));
}

TEST_F(Resolve, WithoutADataFolderSaysSo) {
  const auto file = resolve(manifest_, "text/b", "");
  ASSERT_FALSE(file.has_value());
  EXPECT_NE(file.error().message.find("no data folder"), std::string::npos);
}

TEST_F(Resolve, GroupIsEveryFileUnderItInOrder) {
  const auto found = [&](const char* name) {
    const std::vector<std::string> names = {name};
    return find_files(manifest_, names);
  };
  const auto group = found("text");
  ASSERT_TRUE(group.has_value()) << group.error().message;
  ASSERT_EQ(group->size(), 2u);
  EXPECT_EQ((*group)[0]->name, "text/a");
  EXPECT_EQ((*group)[1]->name, "text/b");
  EXPECT_EQ(found("text/b")->size(), 1u);
  const auto unknown = found("texts");
  ASSERT_FALSE(unknown.has_value());
  EXPECT_NE(unknown.error().message.find("did you mean \"text\"?"), std::string::npos)
      << unknown.error().message;
}

TEST_F(Resolve, TheBeginningOfANameIsNoGroup) {
  for (const char* name : {"tex", "text/", ""}) {
    const std::vector<std::string> names = {name};
    EXPECT_FALSE(find_files(manifest_, names).has_value()) << name;
  }
}

// Its own place; the unpacked bundle in the data folder; the bundle's folder as the data folder.
TEST_F(Resolve, NanochatsBundleIsFoundWhereItWasUnpacked) {
  std::string text = kManifest;
  for (const auto& [from, to] : {std::pair{"t/b.txt", "core/eval_data/x/b.jsonl"},
                                 std::pair{"t/a.txt", "core/eval_bundle_meta/core.yaml"}})
    text.replace(text.find(from), 7, to);
  const DataManifest manifest = *parse_data_manifest(text, "m.json");
  for (const auto& [data, meta] :
       {std::pair{"core/eval_data/x/b.jsonl", "core/eval_bundle_meta/core.yaml"},
        std::pair{"eval_bundle/eval_data/x/b.jsonl", "eval_bundle/core.yaml"},
        std::pair{"eval_data/x/b.jsonl", "core.yaml"}}) {
    const test::TempDir folder;
    for (const char* file : {data, meta})
      ASSERT_TRUE(write_file(folder / file, "hello\n").has_value());
    for (const auto& [name, file] : {std::pair{"text/a", meta}, std::pair{"text/b", data}}) {
      const auto found = resolve(manifest, name, folder.path());
      ASSERT_TRUE(found.has_value()) << found.error().message;
      EXPECT_EQ(found->path, folder / file);
    }
  }
}

TEST_F(Resolve, TableShowsTheState) {
  write("t/b.txt", "hellO\n");
  const auto state = [&](bool verify) {
    std::vector<std::string> states;
    for (const auto& row : data_table(manifest_, folder_.path(), verify).rows)
      states.push_back(row.at(1));
    return states;
  };
  EXPECT_EQ(state(false), (std::vector<std::string>{"missing", "present"}));
  EXPECT_EQ(state(true), (std::vector<std::string>{"missing", "wrong checksum"}));
  EXPECT_EQ(data_table(manifest_, "", false).header.at(1), "rows");
  fs::remove_all(folder_.path() / "t");
  fs::create_directories(folder_.path() / "t/b.txt");
  EXPECT_EQ(state(true), (std::vector<std::string>{"missing", "a folder in its place"}));
}

TEST(DataManifest, RefusesWhatItCannotVerify) {
  const auto error_of = [](const std::string& entry) {
    const auto manifest =
        parse_data_manifest("{\"schema\": 1, \"files\": [" + entry + "]}", "m.json");
    return manifest ? "no error" : manifest.error().message;
  };
  const std::string head = R"({"name": "a", "licence": "l", "origin": "o", )";
  EXPECT_NE(error_of(head + R"("path": "a"})").find("/files/0: neither sha256 nor git_blob"),
            std::string::npos);
  EXPECT_NE(error_of(head + R"("path": "../a", "sha256": "00"})").find("leaves the data folder"),
            std::string::npos);
  EXPECT_NE(error_of(head + R"("path": "a", "sha256": "00"})").find("64 hex digits"),
            std::string::npos);
  EXPECT_NE(error_of(head + R"("path": "a", "sha255": "00"})").find("sha255"), std::string::npos);
  const std::string twice =
      head + R"("path": "a", "git_blob": "ce013625030ba8dba906f756967f9e9ca394464a"})";
  EXPECT_NE(error_of(twice + "," + twice).find("two files are named \"a\""), std::string::npos);
  EXPECT_FALSE(parse_data_manifest(R"({"schema": 2, "files": []})", "m.json").has_value());
}

TEST(DataManifest, BuiltInIsTheFileInTheTree) {
  const auto text = read_file(std::filesystem::path(NB_SOURCE_DIR) / "evals/data/manifest.json");
  ASSERT_TRUE(text.has_value());
  const auto manifest = parse_data_manifest(*text, "manifest.json");
  ASSERT_TRUE(manifest.has_value()) << manifest.error().message;
  ASSERT_EQ(manifest->files.size(), data_manifest().files.size());
  for (std::size_t i = 0; i < manifest->files.size(); ++i) {
    EXPECT_EQ(manifest->files[i].name, data_manifest().files[i].name);
    EXPECT_EQ(manifest->files[i].sha256, data_manifest().files[i].sha256);
    EXPECT_EQ(manifest->files[i].origin, data_manifest().files[i].origin);
  }
}

TEST(DataManifest, EveryFileIsInTheDataFolder) {
  NB_NEEDS_DATA();
  for (const DataFile& file : data_manifest().files) {
    if (file.sha256.empty()) continue;
    const auto resolved = resolve(data_manifest(), file.name, test::data_dir());
    EXPECT_TRUE(resolved.has_value()) << resolved.error().message;
  }
}

}  // namespace
}  // namespace nb
