// Drives code_digest.py as the build does: on a small program of its own, whose three units are
// compiled for it, and on the real one.
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "harness/base/fs.hpp"
#include "harness/base/json_io.hpp"
#include "harness/base/subprocess.hpp"
#include "tests/support/temp_dir.hpp"

namespace nb {
namespace {

// train runs a/x.cpp, which includes a/y.hpp and calls b/z.cpp. Nothing of it runs c/rest.cpp.
class SmallProgram {
 public:
  SmallProgram() {
    EXPECT_TRUE(write_file(root_ / "a/x.cpp",
                           "#include \"a/y.hpp\"\nint z();\nint x() { return y + z(); }\n"));
    EXPECT_TRUE(write_file(root_ / "a/y.hpp", "constexpr int y = 1;\n"));
    EXPECT_TRUE(write_file(root_ / "b/z.cpp", "int z() { return 2; }\n"));
    EXPECT_TRUE(write_file(root_ / "c/rest.cpp", "int x();\nint rest() { return x(); }\n"));
    std::string objects;
    for (const char* unit : kUnits) {
      const fs::path object = object_of(unit);
      EXPECT_TRUE(make_folders(object.parent_path()));
      const auto compiled = run_subprocess({NB_CXX, "-I" + root_.path().string(), "-MD", "-MF",
                                            object.string() + ".d", "-c", (root_ / unit).string(),
                                            "-o", object.string()});
      EXPECT_TRUE(compiled && compiled->exit_code == 0) << compiled->err;
      objects += object.string() + "\n";
    }
    EXPECT_TRUE(write_file(root_ / "build/objects", objects));
  }

  const fs::path& root() const { return root_.path(); }
  // "-ffp-contract=off" in every unit where nothing else is said.
  void set_flags(const std::string& unit, const std::string& flags) { flags_[unit] = flags; }
  std::string launcher;
  std::string compiler = "GNU 12.2.0";
  std::string units;  // lines "unit<TAB>source"

  // The generated table; where the call fails, what it said.
  std::string table() const {
    Json commands = Json::array();
    for (const char* unit : kUnits) {
      const auto at = flags_.find(unit);
      const std::string flags = at == flags_.end() ? "-ffp-contract=off" : at->second;
      commands.push_back(
          {{"directory", (root_ / "build").string()},
           {"file", (root_ / unit).string()},
           {"command", launcher + "/usr/bin/c++ -I" + root_.path().string() + " " + flags + " -o " +
                           object_of(unit).string() + " -c " + (root_ / unit).string()}});
    }
    EXPECT_TRUE(write_json(root_ / "build/compile_commands.json", commands));
    std::vector<std::string> call = {NB_PYTHON,
                                     NB_SOURCE_DIR "/harness/plan/code_digest.py",
                                     "--source",
                                     root_.path().string(),
                                     "--build",
                                     (root_ / "build").string(),
                                     "--objects",
                                     (root_ / "build/objects").string(),
                                     "--nm",
                                     NB_NM,
                                     "--compiler=" + compiler,
                                     "--kind=train=a/x.cpp",
                                     "--output",
                                     (root_ / "build/table.cpp").string()};
    if (!units.empty()) {
      EXPECT_TRUE(write_file(root_ / "build/units", units));
      call.insert(call.end(), {"--units", (root_ / "build/units").string()});
    }
    const auto result = run_subprocess(call);
    if (!result || result->exit_code != 0) return result ? result->err : "";
    return read_file(root_ / "build/table.cpp").value_or("");
  }

 private:
  static constexpr const char* kUnits[] = {"a/x.cpp", "b/z.cpp", "c/rest.cpp"};
  fs::path object_of(const std::string& unit) const {
    return root_ / "build/objects.dir" / (unit + ".o");
  }
  test::TempDir root_;
  std::map<std::string, std::string> flags_;
};

// The line of one folder.
std::string line_of(const std::string& table, const std::string& folder) {
  const std::size_t at = table.find("\"" + folder + "\"");
  return at == std::string::npos ? "" : table.substr(at, table.find('\n', at) - at);
}

TEST(CodeDigest, DoesNotDependOnTheFolderOfTheCheckout) {
  const SmallProgram one, two;
  EXPECT_EQ(one.table(), two.table());
}

TEST(CodeDigest, ChangesWithOneByteOfWhatIsLinkedOrIncludedOnly) {
  const SmallProgram program;
  const std::string before = program.table();
  ASSERT_TRUE(write_file(program.root() / "a/y.hpp", "constexpr int  y = 1;\n"));
  const std::string included = program.table();
  EXPECT_NE(line_of(before, "a"), line_of(included, "a"));
  EXPECT_EQ(line_of(before, "b"), line_of(included, "b"));
  ASSERT_TRUE(write_file(program.root() / "b/z.cpp", "int z() { return 3; }\n"));
  const std::string linked = program.table();
  EXPECT_NE(line_of(included, "b"), line_of(linked, "b"));
  ASSERT_TRUE(write_file(program.root() / "c/rest.cpp", "int rest() { return 1; }\n"));
  EXPECT_EQ(program.table(), linked);
  EXPECT_EQ(line_of(linked, "c"), "");
}

// -Ofast and -mfma on nine files left all records reused with other bits.
TEST(CodeDigest, EveryFlagThatMayChangeAValueCountsInEveryUnit) {
  SmallProgram program;
  const std::string before = program.table();
  for (const char* unit : {"a/x.cpp", "b/z.cpp", "c/rest.cpp"})  // the last gives inline functions
    for (const char* flag : {"-Ofast", "-mfma", "-ffast-math", "-ffp-contract=fast",
                             "-funsafe-math-optimizations", "-frounding-math", "-fassociative-math",
                             "-march=native", "-DX=1", "-Wp,-DX=1", "-fno-new"}) {
      program.set_flags(unit, std::string("-ffp-contract=off ") + flag);
      EXPECT_NE(program.table(), before) << unit << " " << flag;
      program.set_flags(unit, "-ffp-contract=off");
    }
  program.set_flags("b/z.cpp", "");
  EXPECT_NE(program.table(), before) << "a flag less";
  program.set_flags("b/z.cpp", "-ffp-contract=off -ffp-contract=on");
  const std::string on = program.table();
  program.set_flags("b/z.cpp", "-ffp-contract=on -ffp-contract=off");
  EXPECT_NE(program.table(), on) << "the last of two counts";
}

TEST(CodeDigest, FlagsThatChangeNoValueDoNotCount) {
  SmallProgram program;
  const std::string before = program.table();
  for (const char* flags :
       {"-Wall -Werror -Wno-shadow", "-g1", "-ggdb3", "-fsanitize=address,undefined",
        "-fno-sanitize-recover=all -fno-omit-frame-pointer", "-O3", "-O1",
        "-isystem /usr/include/x", "-I/elsewhere", "-pipe", "-MD -MT t -MF f.d", "--sysroot=/x",
        "-fPIC", "-fdiagnostics-color=always", "-ffile-prefix-map=/a=/b"}) {
    program.set_flags("a/x.cpp", std::string(flags) + " -ffp-contract=off");
    EXPECT_EQ(program.table(), before) << flags;
  }
  program.set_flags("a/x.cpp", "-ffp-contract=off");
  program.launcher = "/usr/bin/ccache ";
  EXPECT_EQ(program.table(), before);
}

// Kernels are compiled once for every instruction set and tested to give equal bits.
TEST(CodeDigest, InstructionsOfSimdLevelsDoNotCount) {
  SmallProgram program;
  program.set_flags("b/z.cpp", "-ffp-contract=off -DNB_LEVEL=scalar -fno-strict-aliasing");
  const std::string scalar = program.table();
  program.set_flags("b/z.cpp",
                    "-ffp-contract=off -DNB_LEVEL=avx2 -DNB_LEVEL_ID=7 -mavx2 -mfma "
                    "-fno-strict-aliasing");
  EXPECT_EQ(program.table(), scalar);
  program.set_flags("b/z.cpp",
                    "-ffp-contract=off -DNB_LEVEL=avx2 -mavx2 -Ofast "
                    "-fno-strict-aliasing");
  EXPECT_NE(program.table(), scalar);
}

TEST(CodeDigest, ChangesWithTheCompiler) {
  SmallProgram program;
  const std::string before = program.table();
  program.compiler = "GNU 12.3.0";
  EXPECT_NE(line_of(program.table(), "compiler and flags"), line_of(before, "compiler and flags"));
}

// Compiled as one unit, a change of c/rest.cpp would change what runs a/x.cpp.
TEST(CodeDigest, SourcesOfAUnitAreRunByTheSameKinds) {
  SmallProgram program;
  const std::string before = program.table();
  program.units = "one 1\ta/x.cpp\none 1\tb/z.cpp\none 2\tc/rest.cpp\n";
  EXPECT_EQ(program.table(), before);
  program.units = "one 1\ta/x.cpp\none 1\tc/rest.cpp\n";
  EXPECT_EQ(program.table(),
            "one 1: these sources are not run by the same kinds of nodes and cannot be one unit "
            "(UNIT in CMakeLists.txt):\n  no node: c/rest.cpp\n  train: a/x.cpp\n");
}

TEST(CodeDigest, UnchangedSourcesLeaveTheFileAlone) {
  const SmallProgram program;
  program.table();
  const auto before = fs::last_write_time(program.root() / "build/table.cpp");
  program.table();
  EXPECT_EQ(before, fs::last_write_time(program.root() / "build/table.cpp"));
}

// What the build of this program found that each kind runs, "kind<TAB>file" a line.
bool runs(const std::string& kind, const std::string& file) {
  static const std::string sources = [] {
    auto text = read_file(NB_BINARY_DIR "/code_table.cpp.sources");
    EXPECT_TRUE(text) << text.error().message;
    return "\n" + text.value_or("");
  }();
  return sources.find("\n" + kind + "\t" + file + "\n") != std::string::npos;
}

// All of these could be changed and the old result was reused.
TEST(CodeDigest, CoversWhatANodesProcessRuns) {
  for (const char* file :
       {"model/train/checkpoint.cpp", "model/train/safetensors.cpp",
        "harness/run/write_evaluation.cpp", "harness/run/partial_items.cpp",
        "harness/run/open_model.cpp", "harness/run/evaluation.cpp",
        "harness/run/evaluation_run.cpp", "harness/run/eval_stage.cpp", "harness/run/runner.cpp",
        "results/store/record.cpp", "results/store/store.cpp", "results/store/items.cpp",
        "evals/evaluate.cpp", "harness/base/portable_math.cpp", "build/evals/sandbox/scripts.cpp"})
    EXPECT_TRUE(runs("eval", file)) << file;
  for (const char* file : {"results/store/series.cpp", "results/store/series.hpp",
                           "model/train/trainer.cpp", "model/kernels/adamw.cpp",
                           "model/kernels/inner/vec_neon.hpp", "model/kernels/inner/gemm_bf16.cpp",
                           "harness/run/train_stage.cpp", "harness/run/node_state.cpp",
                           "harness/base/rng.cpp", "build/model/device/embedded_profiles.cpp"})
    EXPECT_TRUE(runs("train", file)) << file;
  EXPECT_TRUE(runs("micro", "harness/microbench/programs.cpp"));
  EXPECT_TRUE(runs("tokenizer", "model/tokenizer/tokenizer.cpp"));
}

TEST(CodeDigest, LeavesOutWhatANodesProcessDoesNotRun) {
  for (const char* file : {"results/gate/gate.cpp", "results/compare/compare.cpp",
                           "report/report.cpp", "harness/cli/report.cpp"})
    EXPECT_FALSE(runs("train", file)) << file;
  for (const char* file : {"evals/evaluate.cpp", "evals/task_registry.cpp"})
    EXPECT_FALSE(runs("train", file)) << file;
  for (const char* kind : {"train", "eval", "dataset", "tokenizer", "shards", "predict", "micro"}) {
    EXPECT_FALSE(runs(kind, "results/gate/gate.cpp")) << kind;
    EXPECT_FALSE(runs(kind, "report/sections.cpp")) << kind;
  }
}

TEST(CodeDigest, EverySourceOfEveryKindChangesItsKey) {
  std::vector<std::string> command;
  std::string word;
  for (const char c : std::string(NB_CODE_DIGEST_COMMAND) + "|") {
    if (c != '|') {
      word += c;
      continue;
    }
    command.push_back(std::exchange(word, {}));
  }
  command.push_back("--mutate");
  const auto result = run_subprocess(command);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->exit_code, 0) << result->out << result->err;
  EXPECT_NE(result->out.find(" 0 of them change nothing"), std::string::npos) << result->out;
}

}  // namespace
}  // namespace nb
