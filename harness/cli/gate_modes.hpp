// What `npubench gate` does besides judging: accept a run, write a noise profile. For gate.cpp.
#pragma once

#include <span>
#include <string>

#include "results/store/store.hpp"

namespace nb::cli {

struct GateModes {
  bool accepts = false, is_control = false, calibrates = false;
  std::string why, who;
  std::string out;   // of the noise profile; empty: stdout
  std::string home;  // folder of accepted/ and gates.jsonl; empty: the nearest above the run
  bool json = false;
};

// Both print what they wrote and return the exit code.
int accept(const GateModes& modes, const RunRecords& run);
int write_noise_profile(const GateModes& modes, std::span<const RunRecords> runs);

}  // namespace nb::cli
