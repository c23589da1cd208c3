// `npubench runs reindex` and `runs gc`: care for a folder of runs. For data.cpp.
#pragma once

#include <cstdint>
#include <string>

#include "harness/cli/options.hpp"

namespace nb::cli {

struct StoreOptions {
  std::string folder;           // of runs; empty: where npubench run keeps them
  std::int64_t keep_last = 30;  // gc: nights of every sequence, as npubench nightly
  bool is_meant = false;        // gc: --yes
};
void add_reindex_options(CLI::App& command, StoreOptions& options);
void add_gc_options(CLI::App& command, StoreOptions& options);

// Both print what they did and return the exit code.
int reindex(const StoreOptions& options, bool json);
int collect_garbage(const StoreOptions& options, bool json);

}  // namespace nb::cli
