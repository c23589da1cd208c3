#include <gtest/gtest.h>

#include "harness/base/fs.hpp"
#include "results/import/any_foreign.hpp"
#include "results/import/formats.hpp"
#include "tests/results/import/expected.hpp"
#include "tests/support/temp_dir.hpp"

namespace nb::test {
namespace {

std::string refusal(const std::string& name, const std::string& text) {
  const TempDir dir;
  EXPECT_TRUE(write_file(dir / name, text));
  const auto results = read_any_foreign(dir / name);
  EXPECT_FALSE(results) << "was read";
  if (results) return {};
  std::string message = results.error().message;
  const std::string path = dir.path().string() + "/";
  for (std::size_t at; (at = message.find(path)) != message.npos;) message.erase(at, path.size());
  return message;
}

TEST(LooksLike, UnknownFilesAreNamedForWhatTheyAre) {
  const auto begins = [](const std::string& message, const std::string& beginning) {
    EXPECT_TRUE(message.starts_with(beginning)) << message;
    EXPECT_TRUE(message.ends_with("(npubench import --formats lists what is read)")) << message;
  };
  begins(refusal("a.png", "\x89PNG\r\n\x1a\n…"), "a.png: an image, which is not read; give");
  begins(refusal("a.pkl", "\x80\x04\x95xyz"), "a.pkl: weights or a pickled object, no results");
  begins(refusal("a.txt", "| npu-smi 24.1 | Version: 24.1 |\n| NPU Name | Health |\n"),
         "a.txt: output of npu-smi: the state of devices, no results");
  begins(refusal("kernel_details.csv",
                 "Name,Type,Accelerator Core,Start Time(us),Duration(us)\nx,y,AI_CORE,1,2\n"),
         "kernel_details.csv: a profile of a run, no scores");
  begins(
      refusal("tokenizer.json", "{\"version\": \"1.0\", \"added_tokens\": [], \"normalizer\": {}}"),
      "tokenizer.json: a tokenizer, no results");
  begins(refusal("config.json",
                 "{\"architectures\": [\"Q\"], \"model_type\": \"q\", \"num_layers\": 4}"),
         "config.json: a model's configuration, no results");
  begins(refusal("empty.json", "\n"), "empty.json: an empty file; did the run end");
  begins(refusal("x.bin", "version https://git-lfs.github.com/spec/v1\noid sha256:0\n"),
         "x.bin: a pointer of Git LFS");
}

TEST(LooksLike, ALogThatEndsInAnErrorIsNamedWithIt) {
  EXPECT_EQ(refusal("run.log",
                    "loading the model\nTraceback (most recent call last):\n"
                    "  File \"a.py\", line 3, in <module>\n    run()\n"
                    "RuntimeError: NPU out of memory. Tried to allocate 2.00 GiB\n"),
            "run.log: a log that ends in an error: RuntimeError: NPU out of memory. Tried to "
            "allocate 2.00 GiB; there are no results to read (npubench import --formats lists "
            "what is read)");
}

TEST(LooksLike, AFolderIsNamedByItsFirstFileThatIsKnown) {
  const TempDir dir;
  ASSERT_TRUE(write_file(dir / "prof/notes.txt", "hello\n"));
  ASSERT_TRUE(
      write_file(dir / "prof/op_statistic.csv", "OP Type,Core Type,Total Time(us)\nx,y,1\n"));
  const auto results = read_any_foreign(dir / "prof");
  ASSERT_FALSE(results);
  EXPECT_NE(results.error().message.find("/prof: op_statistic.csv is a profile of a run"),
            std::string::npos)
      << results.error().message;
}

TEST(LooksLike, RealProfilesAndStatesOfDevicesAreNamed) {
  NB_NEEDS_IMPORTS();
  int named = 0;
  for (const char* folder : {"ascend_profiler", "smi_and_collectives"})
    for (const auto& entry : fs::recursive_directory_iterator(imports_dir() / folder)) {
      const std::string name = entry.path().filename().string();
      if (!entry.is_regular_file() ||
          (!name.starts_with("npu-smi_info") && !name.starts_with("kernel_details") &&
           !name.starts_with("op_statistic")))
        continue;
      const auto results = read_any_foreign(entry.path());
      ASSERT_FALSE(results) << entry.path();
      EXPECT_NE(results.error().message.find(name.starts_with("npu") ? "npu-smi: the state"
                                                                     : "a profile of a run"),
                std::string::npos)
          << results.error().message;
      ++named;
    }
  EXPECT_GT(named, 5);
}

TEST(Formats, SayWhatTheyAreAndWhereTheirMeaningComesFrom) {
  for (const ImportFormat& format : import_formats()) {
    EXPECT_NE(std::string(format.name), "");
    EXPECT_NE(std::string(format.source), "") << format.name;
  }
}

}  // namespace
}  // namespace nb::test
