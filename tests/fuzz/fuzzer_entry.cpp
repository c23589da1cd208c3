// What libFuzzer, or loop.cpp where the compiler has none, calls. The target is $NB_FUZZ_TARGET:
//   NB_FUZZ_TARGET=record build/fuzz/nb_fuzz tests/fuzz/corpus/record/FILE    one input once more
//   NB_FUZZ_TARGET=list build/fuzz/nb_fuzz                                    names, one per line
//   NB_FUZZ_TARGET=record NB_FUZZ_SEEDS=FOLDER build/fuzz/nb_fuzz             writes its seeds
//   there
// With NB_FUZZ_GROW inputs are grown instead of changed (mutator.hpp).
#include <fmt/format.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "harness/base/fs.hpp"
#include "harness/plan/code_table.hpp"
#include "tests/fuzz/judge.hpp"
#include "tests/fuzz/mutator.hpp"

extern "C" {
int LLVMFuzzerInitialize(int* count, char*** words);
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most,
                                    unsigned seed);
std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);
const char* __asan_default_options();
}

namespace {

using namespace nb::test;

const FuzzTarget* target = nullptr;
bool grows = false;

std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

void write_seeds(const nb::fs::path& folder) {
  std::size_t number = 0;
  for (const std::string& seed : target->seeds()) {
    const auto written = nb::write_file(folder / fmt::format("seed{}", number++), seed);
    if (!written) {
      fmt::print(stderr, "{}\n", written.error().message);
      std::exit(1);
    }
  }
}

}  // namespace

// Programs bring it; no parser asks.
std::span<const nb::CodeDigest> nb::code_table() { return {}; }

// A request for more than any input needs is a finding, and so is all memory together.
const char* __asan_default_options() {
  return "max_allocation_size_mb=256:allocator_may_return_null=0:quarantine_size_mb=16:"
         "hard_rss_limit_mb=2048:detect_stack_use_after_return=0:handle_abort=1";
}

int LLVMFuzzerInitialize(int*, char***) {
  const char* name = std::getenv("NB_FUZZ_TARGET");
  if (name != nullptr && std::strcmp(name, "list") == 0) {
    for (const FuzzTarget& one : fuzz_targets()) fmt::print("{}\n", one.name);
    std::exit(0);
  }
  target = name == nullptr ? nullptr : find_fuzz_target(name);
  if (target == nullptr) {
    fmt::print(stderr, "NB_FUZZ_TARGET names no target; NB_FUZZ_TARGET=list {} lists them\n",
               program_invocation_name);
    std::exit(64);
  }
  if (const char* folder = std::getenv("NB_FUZZ_SEEDS")) {
    write_seeds(folder);
    std::exit(0);
  }
  grows = std::getenv("NB_FUZZ_GROW") != nullptr;
  return 0;
}

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Judged judged = judge(*target, text_of(data, size));
  if (!judged.finding.empty()) {
    fmt::print(stderr, "finding: {}\n", judged.finding);
    std::abort();
  }
  return 0;
}

// Every other input by libFuzzer's own changes, which know what the code compared with.
std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most,
                                    unsigned seed) {
  std::mt19937_64 random(seed);
  if (!grows && random() % 2 == 0) return LLVMFuzzerMutate(data, size, most);
  std::string bytes(text_of(data, size));
  bytes = grows ? grown(bytes, random, most) : mutated(std::move(bytes), random, most);
  bytes.resize(std::min(bytes.size(), most));
  std::memcpy(data, bytes.data(), bytes.size());
  return bytes.size();
}
