#include "evals/humaneval/program.hpp"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "evals/data/manifest.hpp"
#include "evals/humaneval/control.hpp"
#include "evals/humaneval/evaluator.hpp"
#include "evals/humaneval/pass_at_k.hpp"
#include "harness/base/hash.hpp"
#include "harness/base/json_io.hpp"
#include "harness/base/numpy_random.hpp"
#include "tests/support/data_dir.hpp"

namespace nb {
namespace {

const Json& golden() {
  static const Json json = read_json(NB_SOURCE_DIR "/tests/golden/humaneval.json").value();
  return json;
}

TEST(HumanEvalProgram, TakesCodeOutOfAnswersAsTheReferenceDoes) {
  for (const Json& one : golden().at("answers"))
    EXPECT_EQ(extract_code(one[0].get<std::string>()), one[1].get<std::string>()) << one[0];
}

TEST(HumanEvalProgram, TakesImportsOutOfPromptsAsTheReferenceDoes) {
  for (const Json& one : golden().at("prompts"))
    EXPECT_EQ(leading_imports(one[0].get<std::string>()), one[1].get<std::string>()) << one[0];
}

TEST(HumanEvalProgram, IsTheReferencesForEveryProblemInItsOrder) {
  NB_NEEDS_DATA();
  const auto file = resolve(data_manifest(), "humaneval/HumanEval", test::data_dir());
  ASSERT_TRUE(file) << file.error().message;
  const auto problems = read_humaneval(file->path);
  ASSERT_TRUE(problems) << problems.error().message;
  const Json& programs = golden().at("programs");
  const auto order = NumpyRandom(42).permutation(problems->size());
  ASSERT_EQ(programs.size(), order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    const HumanEvalProblem& problem = (*problems)[order[i]];
    EXPECT_EQ(problem.task_id, programs[i][0]);
    const std::string answer =
        "Sure!\n```python\n" + problem.prompt + problem.canonical_solution + "\n```\nThat is it.";
    EXPECT_EQ(sha256_hex(humaneval_program(problem, answer, problem.test)),
              programs[i][1].get<std::string>())
        << problem.task_id;
  }
}

TEST(HumanEvalProgram, ContinuesThePromptAsHumanEvalDoes) {
  const HumanEvalProblem problem{"", "T/0", "def f():\n", "f", "", "def check(c):\n    pass\n"};
  const std::string text = mark_text(HumanEvalText::kContinuation, "    return ```1\n```");
  EXPECT_EQ(humaneval_program(problem, text, problem.test),
            "def f():\n    return ```1\n```\ndef check(c):\n    pass\n\ncheck(f)");
  EXPECT_EQ(humaneval_code(problem, text), "    return ```1\n```");
  EXPECT_EQ(humaneval_code(problem, "```\n\ndef f():\n    return 1\n```"), "\n    return 1");
}

TEST(HumanEvalProgram, RunsASolutionAsItIs) {
  const HumanEvalProblem problem{"", "T/0", "import x\n", "f", "", "test"};
  EXPECT_EQ(
      humaneval_program(problem, mark_text(HumanEvalText::kSolution, " def f(): 1 "), "other"),
      " def f(): 1 \nother\ncheck(f)");
}

TEST(PassAtK, EqualsTheExactFractions) {
  for (const Json& one : golden().at("pass_at_k"))
    EXPECT_NEAR(pass_at_k(one[0], one[1], one[2]), one[3].get<double>(), 1e-12) << one;
}

constexpr std::string_view kTest =
    "def check(candidate):\n    for i in range(9):\n        assert abs(poly(candidate(i))) < 1\n";

TEST(MayForge, PassesPlainSolutions) {
  for (const char* code : {
           "    return 2 * x",
           "import math\nfrom typing import List, Optional\nfrom collections import Counter as C\n"
           "def f(x: List[int]) -> Optional[int]:\n    return max(x) if x else None\n",
           "    import re\n    return re.findall(r'\\w+\\s', text)",
           "    # the host's post office\n    return sum(int(c) for c in str(x))",
           "    words = \"\\n\".join(words)\n    return max(words, key=len)",
           " \t\n    ~x",
           "    \\",
           "    abs = len(range(3))\n    x, y = y.real, x\n    return x.real == y <= 2 != 1 >= 0",
           "    d[i] += s.count('a')\n    for i, c in enumerate(s.split()):\n        n = 1.5",
           "def g(x):\n    return [y for y in x.items()]\n\n# range = 1\ndef f(x):\n    return "
           "g(x)",
           "    with suppress(ValueError) as e:\n        pass",
       })
    EXPECT_FALSE(may_forge(code, kTest, "f")) << code;
}

TEST(MayForge, NoticesEveryWayOutThatWeKnow) {
  for (const char* code : {
           "import sys",
           "import os",
           "import math, os",
           "from os import path",
           "import os.path",
           "x = 1; import os",
           "x = 1; import numpy",
           "if x: import numpy",
           "class A: pass",
           "x.__class__",
           "a._b",
           "getattr(x, 'y')",
           "eval('1')",
           "open('f')",
           "type('A', (), {})",
           "(g for g in x).gi_frame",
           "'\\x5f'",
           "'\\137'",
           "'\\u005f'",
           "'\\N{LOW LINE}'",
           "x = \\\n1",
           "'\\x",
           "x = \\\n",
           "ｏｓ",
           "a\rb",
           "typing.get_type_hints(f)",
           "from unittest.mock import ANY",
           "import importlib",
           "import numpy as np",
           "@dataclass",
           "lambda: globals()",
           "\fimport os",
       })
    EXPECT_TRUE(may_forge(code, kTest, "f")) << code;
}

// A library's name replaced, a builtin that the test reads, a helper of the prompt: passed before.
TEST(MayForge, NoticesWhatIsBoundOutsideOfTheFunction) {
  for (const char* code : {
           "    collections.isinstance = lambda a, b: True",
           "    collections . all = len",
           "    collections.all, x = len, 1",
           "    x = collections.all = len",
           "    [collections.all] = [len]",
           "    (collections.all\n    ) = len",
           "    (collections.all, d['('\n    ]) = len, 1",
           "    (collections.\n    all) = len",
           "    collections.all += 1",
           "    collections.all >>= 1",
           "    for collections.all in [len]: pass",
           "    for (collections\n    .all) in [len]: pass",
           "    with x as collections.all: pass",
           "    with x as (collections\n    .all): pass",
           "    del collections.all",
           "    return 0.0\nrange = lambda *a: []",
           "    return 0.0\n(range) = 1",
           "    return 0.0\nif 1:\n    range = 1",
           "    return 0.0\ndef range(*a): return []",
           "    return 0.0\ndef poly(*a): return 0",
           "    return 0.0\nfrom math import pow as abs",
           "    return 0.0\nimport math as range",
           "    return 0.0\ndef g(x=(range := 1)): pass",
           "    return 0.0\n@g\ndef h(): pass",
           "    global range\n    range = 1",
           "    match x:\n        case range: pass",
       })
    EXPECT_TRUE(may_forge(code, kTest, "f")) << code;
}

}  // namespace
}  // namespace nb
