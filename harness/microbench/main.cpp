// npubench_microbench --request JSON: runs one group of microbenchmarks, writes Google Benchmark's
// JSON to stdout. Called by `npubench run`; by hand:
//   npubench_microbench --request '{"group": "matmul", "device": {"profile": "ascend_910b3"}}'
#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <string_view>

#include "harness/microbench/programs.hpp"

namespace nb {
namespace {

Result<void> run(int argc, char** argv) {
  if (argc != 3 || std::string_view(argv[1]) != "--request")
    return bad_input(
        "usage: npubench_microbench --request '{\"group\": \"matmul\", \"device\": {\"profile\": "
        "\"ascend_910b3\"}}'");
  NB_TRY(const Json json, parse_json(argv[2], "--request"));
  NB_TRY(MicrobenchRequest request, parse_struct<MicrobenchRequest>(json, "--request"));
  return run_microbench_program(request, argv[0]);
}

}  // namespace
}  // namespace nb

int main(int argc, char** argv) {
  try {
    const nb::Result<void> result = nb::run(argc, argv);
    if (result) return 0;
    fmt::print(stderr, "{}\n", result.error().message);
    return static_cast<int>(result.error().code);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return static_cast<int>(nb::ErrorCode::kRun);
  }
}
