// Device::run is the only way to run an op: arithmetic of nb::kernels is called by model/ops only,
// and there only from the function handed to run() or run_backward(), so nothing can be free of
// simulated cost. Helpers of one file count as arithmetic when all their callers do.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <vector>

#include "tests/repo/source_tree.hpp"

namespace nb::test {
namespace {

// What may be called without a device, and why.
struct Exception {
  std::string_view file;    // empty: any
  std::string_view kernel;  // empty: any
  std::string_view why;
};
constexpr std::array kExceptions = {
    Exception{"", "sum_in_order", "sums losses that the host has read back, for a log line"},
    Exception{"", "all_finite", "checks values that the host has read back"},
    Exception{"", "openblas_info", "says which library is linked; computes nothing"},
    Exception{"model/engine/log_probs.cpp", "score_targets",
              "reads logits that the device has handed out; evaluation time is no metric"},
    Exception{"model/engine/sampler.cpp", "exp",
              "draws on the host from logits that the device has handed out"},
    Exception{"model/engine/sampler.cpp", "first_largest",
              "chooses on the host from logits that the device has handed out"},
    Exception{"model/collectives/ring_order.cpp", "",
              "adds what ranks exchange; its time is the collective's"},
    Exception{"harness/plan/expectation.cpp", "matmul_nt",
              "measures this host for the expected duration; no result rests on it"},
};

// Helpers of model/ops that call kernels for other files of it; those must call them under run().
struct SharedHelper {
  std::string_view file;
  std::string_view name;
};
constexpr std::array kSharedHelpers = {
    SharedHelper{"model/host/weight.cpp", "multiply_weight_nt"},
    SharedHelper{"model/host/weight.cpp", "multiply_weight_nn"},
    // A norm that is only told of a step costs the device nothing (optim/groups.hpp).
    SharedHelper{"model/ops/optimizer_ops.cpp", "squares_of"},
};

bool is_name_char(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

struct Range {
  std::size_t begin;
  std::size_t end;
};
bool is_inside(std::size_t at, const std::vector<Range>& ranges) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [&](const Range& r) { return r.begin <= at && at < r.end; });
}

std::size_t closing(std::string_view code, std::size_t open) {
  const char left = code[open];
  const char right = left == '(' ? ')' : '}';
  int depth = 0;
  for (std::size_t i = open; i < code.size(); ++i) {
    if (code[i] == left) ++depth;
    if (code[i] == right && --depth == 0) return i;
  }
  return code.size();
}

// Where `name` is followed by '(' and does not end a longer name.
std::vector<std::size_t> calls_of(std::string_view code, std::string_view name) {
  std::vector<std::size_t> places;
  for (auto at = code.find(name); at != code.npos; at = code.find(name, at + 1)) {
    const std::size_t after = at + name.size();
    if ((at == 0 || !is_name_char(code[at - 1])) && after < code.size() && code[after] == '(')
      places.push_back(at);
  }
  return places;
}

// A function with a body: its name, its parameters and its braces.
struct Function {
  std::string name;
  std::size_t at;  // of the name
  Range parameters;
  Range body;
};

bool is_keyword(std::string_view word) {
  constexpr std::array<std::string_view, 8> kKeywords = {"if",    "for",    "while",    "switch",
                                                         "catch", "return", "requires", "sizeof"};
  return std::find(kKeywords.begin(), kKeywords.end(), word) != kKeywords.end();
}

std::vector<Function> functions_of(std::string_view code) {
  std::vector<Function> functions;
  for (std::size_t open = code.find('('); open != code.npos; open = code.find('(', open + 1)) {
    std::size_t start = open;
    while (start > 0 && is_name_char(code[start - 1])) --start;
    const std::string_view name = code.substr(start, open - start);
    if (name.empty() || is_keyword(name)) continue;
    const std::size_t close = closing(code, open);
    std::size_t next = code.find_first_not_of(" \n\t", close + 1);
    if (next != code.npos && code.substr(next, 5) == "const")
      next = code.find_first_not_of(" \n\t", next + 5);
    if (next == code.npos || code[next] != '{') continue;
    const std::size_t end = closing(code, next);
    if (!functions.empty() && open < functions.back().body.end) continue;  // inside another body
    functions.push_back({std::string(name), start, {open, close}, {next, end}});
  }
  return functions;
}

// Argument lists whose functions run only through the device: of .run(…), .run_backward(…), and of
// functions of this file that hand their std::function<void()> to one of these.
std::vector<Range> run_ranges(std::string_view code, const std::vector<Function>& functions) {
  std::vector<Range> ranges;
  const auto add = [&](std::string_view name, bool member_only) {
    for (const std::size_t at : calls_of(code, name)) {
      const bool is_member =
          at > 0 && (code[at - 1] == '.' || (at > 1 && code.substr(at - 2, 2) == "->"));
      if (!member_only || is_member)
        ranges.push_back({at + name.size(), closing(code, at + name.size())});
    }
  };
  add("run", true);
  add("run_backward", true);
  constexpr std::string_view kType = "std::function<void()>& ";
  for (const Function& function : functions) {
    const std::string_view parameters =
        code.substr(function.parameters.begin, function.parameters.end - function.parameters.begin);
    const auto at = parameters.find(kType);
    if (at == parameters.npos) continue;
    std::size_t end = at + kType.size();
    while (end < parameters.size() && is_name_char(parameters[end])) ++end;
    const std::string_view handed = parameters.substr(at + kType.size(), end - at - kType.size());
    bool all_through_device = true;
    for (const std::size_t call : calls_of(code, handed))
      if (call > function.body.begin && call < function.body.end && !is_inside(call, ranges))
        all_through_device = false;
    if (all_through_device) add(function.name, false);
  }
  return ranges;
}

std::vector<Range> unnamed_namespaces(std::string_view code) {
  std::vector<Range> ranges;
  for (auto at = code.find("namespace {"); at != code.npos; at = code.find("namespace {", at + 1))
    ranges.push_back({at, closing(code, at + 10)});
  return ranges;
}

std::vector<std::string> ops_problems(const SourceFile& file) {
  const std::string code = code_only(file.text);
  const std::vector<Function> functions = functions_of(code);
  const std::vector<Range> ranges = run_ranges(code, functions);
  std::vector<std::string> problems;
  std::set<std::string> arithmetic;  // functions that must themselves be called under run()
  std::vector<std::pair<std::size_t, std::string>> open;  // calls still to be proved
  for (auto at = code.find("kernels::"); at != code.npos; at = code.find("kernels::", at + 1)) {
    std::size_t end = at + 9;
    while (end < code.size() && is_name_char(code[end])) ++end;
    if (end < code.size() && code[end] == '(') open.emplace_back(at, code.substr(at, end - at));
  }
  std::vector<Range> shared;  // bodies of helpers whose callers are looked at in their own files
  for (const SharedHelper& helper : kSharedHelpers) {
    if (file.path.ends_with(".hpp")) continue;  // declarations
    if (helper.file != file.path) {
      for (const std::size_t at : calls_of(code, helper.name)) open.emplace_back(at, helper.name);
      continue;
    }
    for (const Function& function : functions)
      if (function.name == helper.name) shared.push_back(function.body);
  }
  while (!open.empty()) {
    const auto [at, name] = open.back();
    open.pop_back();
    if (is_inside(at, ranges) || is_inside(at, shared)) continue;
    const auto caller = std::find_if(
        functions.begin(), functions.end(),
        [&, place = at](const Function& f) { return f.body.begin < place && place < f.body.end; });
    const bool has_own_callers = caller != functions.end() &&
                                 is_inside(caller->at, unnamed_namespaces(code)) &&
                                 calls_of(code, caller->name).size() > 1;
    if (!has_own_callers) {
      problems.push_back(file.path + ":" + std::to_string(line_of(code, at)) + ": calls " + name +
                         "() outside the function handed to Device::run");
      continue;
    }
    if (!arithmetic.insert(caller->name).second) continue;
    for (const std::size_t call : calls_of(code, caller->name))
      if (call != caller->at) open.emplace_back(call, caller->name);
  }
  return problems;
}

std::vector<std::string> elsewhere_problems(const SourceFile& file) {
  const std::string code = code_only(file.text);
  std::vector<std::string> problems;
  const auto report = [&](std::size_t at, const std::string& what) {
    problems.push_back(file.path + ":" + std::to_string(line_of(code, at)) + ": " + what +
                       "; arithmetic goes through model/ops and Device::run");
  };
  for (auto at = code.find("kernels::"); at != code.npos; at = code.find("kernels::", at + 1)) {
    std::size_t end = at + 9;
    while (end < code.size() && is_name_char(code[end])) ++end;
    const std::string name = code.substr(at + 9, end - at - 9);
    const bool is_excepted =
        std::any_of(kExceptions.begin(), kExceptions.end(), [&](const Exception& e) {
          return (e.kernel.empty() || e.kernel == name) && (e.file.empty() || e.file == file.path);
        });
    if (end < code.size() && code[end] == '(' && !is_excepted)
      report(at, "calls kernels::" + name + "()");
  }
  return problems;
}

std::vector<std::string> device_run_problems(const std::vector<SourceFile>& files) {
  std::vector<std::string> problems;
  for (const SourceFile& file : files) {
    const auto is_in = [&](std::string_view folder) { return file.path.starts_with(folder); };
    if (is_in("tests/") || is_in("model/kernels/") || is_in("harness/microbench/")) continue;
    if (is_in("model/host/")) continue;  // runs what was recorded beside a Device::run
    // Names of kernels that could be called without "kernels::".
    const std::string code = code_only(file.text);
    for (const char* way : {"using namespace kernels", "using namespace nb::kernels",
                            "using kernels::", "using nb::kernels::", "namespace nb::kernels {",
                            "= kernels;", "= nb::kernels;"})
      if (const auto at = code.find(way); at != code.npos)
        problems.push_back(file.path + ":" + std::to_string(line_of(code, at)) + ": \"" + way +
                           "\" hides calls of kernels from this test");
    const auto found = is_in("model/ops/") ? ops_problems(file) : elsewhere_problems(file);
    problems.insert(problems.end(), found.begin(), found.end());
  }
  return problems;
}

TEST(DeviceRun, IsTheOnlyWayToRunAnOp) {
  constexpr std::array<std::string_view, 2> kEndings = {".cpp", ".hpp"};
  const std::vector<SourceFile> files = source_files(kEndings);
  EXPECT_GE(std::count_if(files.begin(), files.end(),
                          [](const SourceFile& f) { return f.path.starts_with("model/ops/"); }),
            10);
  const auto problems = device_run_problems(files);
  EXPECT_TRUE(problems.empty()) << lines(problems);
}

TEST(DeviceRun, AKernelCalledOutsideOpsIsNamed) {
  const auto problems = device_run_problems(
      {{"model/decoder/x.cpp",
        "// kernels::rope(x)\nvoid f() {\n  kernels::matmul_nt(a, b);\n  kernels::Settings "
        "s{};\n}\n"},
       {"evals/y.cpp", "using namespace kernels;\n"},
       {"model/decoder/z.cpp", "double f() { return kernels::sum_in_order(losses); }\n"}});
  ASSERT_EQ(problems.size(), 2U) << lines(problems);
  EXPECT_EQ(
      problems[0],
      "model/decoder/x.cpp:3: calls kernels::matmul_nt(); arithmetic goes through model/ops and "
      "Device::run");
  EXPECT_EQ(problems[1].substr(0, 13), "evals/y.cpp:1");
}

TEST(DeviceRun, AnOpThatComputesBesideRunIsNamed) {
  const auto problems = device_run_problems({{"model/ops/x.cpp", R"(
void good(Device& device) {
  device.run(desc, [&] { kernels::add(a, b); });
  device.run_backward(desc, {}, [&] { kernels::add(a, b); });
}
void bad(Device& device) {
  device.run(desc, [] {});
  kernels::add(a, b);
}
)"}});
  ASSERT_EQ(problems.size(), 1U) << lines(problems);
  EXPECT_EQ(problems[0],
            "model/ops/x.cpp:8: calls kernels::add() outside the function handed to Device::run");
}

TEST(DeviceRun, HelpersCountAsWhatCallsThem) {
  const std::string helpers = R"(
namespace {
void part(Matrix a) { kernels::add(a, a); }
void whole(Matrix a) { part(a); }
void grouped(Device& device, const std::function<void()>& arithmetic) {
  device.run(desc, [&] { arithmetic(); });
}
}
)";
  EXPECT_TRUE(device_run_problems({{"model/ops/x.cpp", helpers + R"(
void op(Device& device) { device.run(desc, [&] { whole(a); }); }
void grouped_op(Device& device) { grouped(device, [&] { kernels::scale(a); }); }
)"}}).empty());
  const auto problems = device_run_problems(
      {{"model/ops/x.cpp", helpers + "void op(Device& device) {\n  whole(a);\n}\n"}});
  ASSERT_EQ(problems.size(), 1U) << lines(problems);
  EXPECT_NE(problems[0].find(": calls whole() outside"), std::string::npos) << problems[0];
  // A helper that other files can call proves nothing.
  EXPECT_EQ(device_run_problems({{"model/ops/x.cpp",
                                  "void part() { kernels::add(a, a); }\n"
                                  "void op() { device.run(desc, [&] { part(); }); }\n"}})
                .size(),
            1U);
}

}  // namespace
}  // namespace nb::test
