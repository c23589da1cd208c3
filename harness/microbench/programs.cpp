#include "harness/microbench/programs.hpp"

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <array>
#include <iostream>
#include <nlohmann/json.hpp>

#include "harness/base/own_files.hpp"
#include "harness/base/parallel.hpp"
#include "harness/base/subprocess.hpp"
#include "harness/microbench/measurement.hpp"
#include "harness/suite/device_entry.hpp"
#include "harness/suite/microbenchmarks.hpp"
#include "model/host/plan.hpp"
#include "model/kernels/simd_level.hpp"

namespace nb {
namespace {

struct Program {
  std::string_view group;
  void (*add)(const MicrobenchRequest&, const DeviceProfile&);
};
constexpr std::array kPrograms = {
    Program{"matmul", register_matmul},       Program{"attention", register_attention},
    Program{"norm", register_norm},           Program{"loss", register_loss},
    Program{"optimizer", register_optimizer}, Program{"all_reduce", register_all_reduce},
    Program{"step", register_step},           Program{"engine", register_engine},
    Program{"tokenizer", register_tokenizer}, Program{"oracle", register_oracle},
    Program{"predict", register_predict},
};

Result<void> set_pattern_off(const std::string& name) {
  if (name.empty()) return {};
  std::vector<std::string> names;
  for (const host::Pattern& pattern : host::patterns()) {
    names.emplace_back(pattern.name);
    if (pattern.name != name) continue;
    host::set_pattern_off(pattern.name);
    return {};
  }
  return bad_input(fmt::format("no pattern \"{}\"{}", name, did_you_mean(name, names)));
}

}  // namespace

Result<void> run_microbench_program(const MicrobenchRequest& request, const char* program) {
  NB_TRY(const ResolvedDevice device, resolve_device(request.device, "device"));
  NB_TRY([[maybe_unused]] const SimdLevel level, select_simd_level());
  set_threads(request.threads);
  NB_TRY_VOID(set_pattern_off(request.pattern_off));
  const Program* chosen = nullptr;
  std::vector<std::string> groups;
  for (const Program& candidate : kPrograms) {
    groups.emplace_back(candidate.group);
    if (candidate.group == request.group) chosen = &candidate;
  }
  if (chosen == nullptr)
    return bad_input(fmt::format("no microbenchmark \"{}\"{}", request.group,
                                 did_you_mean(request.group, groups)));
  chosen->add(request, device.profile);
  std::vector<std::string> words = {program, "--benchmark_color=false"};
  std::vector<char*> argv;
  argv.reserve(words.size());
  for (std::string& word : words) argv.push_back(word.data());
  int argc = static_cast<int>(argv.size());
  benchmark::Initialize(&argc, argv.data());
  benchmark::AddCustomContext("nb_simd_level", std::string(name(simd_level())));
  benchmark::AddCustomContext("nb_device", std::string(device.profile.name()));
  benchmark::JSONReporter reporter;
  reporter.SetOutputStream(&std::cout);
  reporter.SetErrorStream(&std::cerr);
  benchmark::RunSpecifiedBenchmarks(&reporter);
  benchmark::Shutdown();
  std::cout.flush();
  return {};
}

Result<std::vector<Measurement>> run_microbench_child(const MicrobenchRequest& request) {
  const auto self = own_program();
  if (self.empty()) return run_error("microbench: cannot find the own executable");
  const std::string program = (self.parent_path() / "npubench_microbench").string();
  NB_TRY(const std::string text, dump_json(print_struct(request), /*indent=*/-1));
  NB_TRY(const SubprocessResult child, run_subprocess({program, "--request", text}), "microbench");
  if (child.timed_out) return run_error(program + ": ran out of time");
  if (child.exit_code != 0)
    return run_error(fmt::format("{} exited {}: {}", program, child.exit_code, child.err));
  return parse_measurements(child.out, program);
}

}  // namespace nb
