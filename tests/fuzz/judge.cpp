#include "tests/fuzz/judge.hpp"

#include <fmt/format.h>

#include <ctime>
#include <exception>
#include <typeinfo>

namespace nb::test {
namespace {

double cpu_seconds() {
  timespec now = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

}  // namespace

Judged judge(const FuzzTarget& target, std::string_view bytes) {
  Judged judged;
  const double begin = cpu_seconds();
  try {
    const Result<void> read = target.fuzz_one(bytes);
    judged.is_taken = read.has_value();
    if (!read) {
      judged.refusal = read.error().message;
      if (judged.refusal.empty()) judged.finding = "refused without a sentence";
    }
  } catch (const std::exception& error) {
    judged.finding = fmt::format("threw {}: {}", typeid(error).name(), error.what());
  } catch (...) {
    judged.finding = "threw something that is no exception";
  }
  if (const double took = cpu_seconds() - begin; judged.finding.empty() && took > kInputCpuSeconds)
    judged.finding = fmt::format("took {:.1f} s of CPU time for {} bytes", took, bytes.size());
  if (!judged.finding.empty()) judged.finding = target.name + ": " + judged.finding;
  return judged;
}

}  // namespace nb::test
