// npubench_microbench: runs one group of microbenchmarks. By hand:
//   npubench_microbench --list
//   npubench_microbench matmul [--device ascend_910b3] [--threads 1] [--min-time 0.2]
// `npubench run` starts it with --request JSON and reads Google Benchmark's JSON from stdout.
#include <fmt/core.h>

#include <charconv>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/base/table.hpp"
#include "harness/microbench/measurement.hpp"
#include "harness/microbench/measurement_table.hpp"
#include "harness/microbench/program_main.hpp"
#include "harness/microbench/programs.hpp"
#include "harness/suite/microbenchmarks.hpp"

namespace nb {
namespace {

constexpr const char* kUsage =
    "usage: npubench_microbench --list\n"
    "       npubench_microbench <group> [--device ascend_910b3] [--threads 0] [--min-time 0.1]\n"
    "                           [--pattern-off cached_attention]\n"
    "       npubench_microbench --request '{\"group\": \"matmul\", \"device\": {\"profile\": "
    "\"ascend_910b3\"}}'";

void list_groups() {
  TextTable table{{"group", "what is measured"}, {}};
  for (const MicrobenchmarkGroup& group : microbenchmark_groups())
    table.rows.push_back({std::string(group.name), std::string(group.meaning)});
  fmt::print("{}", to_text(table));
}

template <class T>
bool parse_number(const std::string& text, T& value) {
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && at == end && value >= 0;
}

Result<MicrobenchRequest> parse_words(const std::vector<std::string>& words) {
  MicrobenchRequest request;
  request.group = words.front();
  request.device.name = request.device.profile = "ascend_910b3";
  request.min_time_s = 0.1;
  for (std::size_t i = 1; i + 1 < words.size(); i += 2) {
    const std::string& value = words[i + 1];
    if (words[i] == "--device")
      request.device.name = request.device.profile = value;
    else if (words[i] == "--pattern-off")
      request.pattern_off = value;
    else if (words[i] != "--threads" && words[i] != "--min-time")
      return bad_input(fmt::format("no option {}\n{}", words[i], kUsage));
    else if (!(words[i] == "--threads" ? parse_number(value, request.threads)
                                       : parse_number(value, request.min_time_s)))
      return bad_input(fmt::format("{}: \"{}\" is not a number >= 0", words[i], value));
  }
  if (words.size() % 2 == 0)
    return bad_input(fmt::format("{}: a value is missing\n{}", words.back(), kUsage));
  return request;
}

Result<void> run(const std::vector<std::string>& argv) {
  const std::vector<std::string> words(argv.begin() + 1, argv.end());
  if (words.size() == 1 && words[0] == "--list") {
    list_groups();
    return {};
  }
  if (words.size() == 2 && words[0] == "--request") {
    NB_TRY(const Json json, parse_json(words[1], "--request"));
    NB_TRY(MicrobenchRequest request, parse_struct<MicrobenchRequest>(json, "--request"));
    return run_microbench_program(request, argv.front().c_str());
  }
  if (words.empty() || words[0].starts_with("-")) return bad_input(kUsage);
  NB_TRY(const MicrobenchRequest request, parse_words(words));
  NB_TRY(const std::vector<Measurement> measurements, run_microbench_child(request));
  fmt::print("{}", measurement_text(measurements));
  return {};
}

}  // namespace
}  // namespace nb

int main(int argc, char** argv) { return nb::program_main(argc, argv, nb::run); }
