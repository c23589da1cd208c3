// Checksums of inputs computed anew, so that what lies behind them is reached.
#pragma once

#include <string>

namespace nb::test {

// A safetensors file with its digest; as it is where it carries none.
std::string with_file_digest(std::string file);

}  // namespace nb::test
