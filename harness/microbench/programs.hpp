// The benchmark programs, one for each group of harness/suite/microbenchmarks. Each verifies what
// it times.
#pragma once

#include "harness/base/result.hpp"
#include "harness/microbench/request.hpp"
#include "model/device/profile.hpp"

namespace nb {

// Each registers its benchmarks with Google Benchmark; `profile` must outlive the run.
void register_matmul(const MicrobenchRequest& request, const DeviceProfile& profile);
void register_attention(const MicrobenchRequest& request, const DeviceProfile& profile);
void register_cached_attention(const MicrobenchRequest& request,
                               const DeviceProfile& profile);  // part of attention
void register_norm(const MicrobenchRequest& request, const DeviceProfile& profile);
void register_loss(const MicrobenchRequest& request, const DeviceProfile& profile);
void register_optimizer(const MicrobenchRequest& request, const DeviceProfile& profile);
void register_all_reduce(const MicrobenchRequest& request, const DeviceProfile& profile);
void register_engine(const MicrobenchRequest& request, const DeviceProfile& profile);
void register_step(const MicrobenchRequest& request, const DeviceProfile& profile);
void register_oracle(const MicrobenchRequest& request, const DeviceProfile& profile);
void register_predict(const MicrobenchRequest& request, const DeviceProfile& profile);
void register_tokenizer(const MicrobenchRequest& request, const DeviceProfile& profile);

// Runs the request's group in this process and writes Google Benchmark's JSON to stdout. Once in a
// process: Google Benchmark's flags are global. An unknown group or device is an error.
Result<void> run_microbench_program(const MicrobenchRequest& request, const char* program);

// The same in a child process, the program npubench_microbench beside this executable.
struct Measurement;
Result<std::vector<Measurement>> run_microbench_child(const MicrobenchRequest& request);

}  // namespace nb
