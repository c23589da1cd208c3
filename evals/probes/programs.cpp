// Programs of HumanEval: what stands in front of an answer.
#include "evals/humaneval/program.hpp"
#include "evals/probes/items.hpp"

namespace nb {
namespace {

struct Answered {
  const char* prompt;
  const char* answer;
  const char* program;  // as nanochat's tasks/humaneval.py puts it together
};
constexpr Answered kAnswered[] = {
    {"from typing import List\n\n\ndef first(x: List[int]) -> int:\n    \"\"\" First. \"\"\"\n",
     "def first(x: List[int]) -> int:\n    return x[0]",
     "from typing import List\n\ndef first(x: List[int]) -> int:\n    return x[0]"},
    {"import math\n\n# half the way\nfrom typing import Tuple\n\ndef pair(r):\n    ''' Both. '''\n",
     "Here it is:\n```python\ndef pair(r):\n    return math.pi * r, r\n```\nIt works.",
     "import math\nfrom typing import Tuple\n\ndef pair(r):\n    return math.pi * r, r"},
    {"\nimport re\ndef words(s):\n    import this\n",
     "```\ndef words(s):\n    return re.findall('.', s)\n```",
     "import re\n\ndef words(s):\n    return re.findall('.', s)"},
    {"def plain(x):\n    \"\"\" from x on\n    import nothing\n    \"\"\"\n",
     "def plain(x):\n    return x\n", "\n\ndef plain(x):\n    return x"},
};

}  // namespace

Result<EvalResult> probe_program_imports(const ProbedModels&) {
  std::vector<ItemRecord> items;
  for (const Answered& one : kAnswered) {
    HumanEvalProblem problem;
    problem.prompt = one.prompt;
    items.push_back(probe_item("program_imports", std::string(one.prompt) + one.answer, one.program,
                               humaneval_program(problem, one.answer)));
  }
  return probe_result("program_imports", std::move(items));
}

}  // namespace nb
