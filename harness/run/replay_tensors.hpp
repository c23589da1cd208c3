// The emulated side of a comparison tensor by tensor: the token batches of a captured file, once
// more through a decoder on an emulated device.
#pragma once

#include <filesystem>

#include "harness/base/result.hpp"
#include "model/decoder/decoder.hpp"

namespace nb {

// Reads every "<label>/tokens" (B,T) of `from` in its order, runs the decoder on it and writes what
// its ops give to `to`, in the form that tensor_comparison.hpp reads. bad_input: no such tokens,
// ids outside the vocabulary, sequences longer than the positions.
Result<void> replay_tensors(const std::filesystem::path& from, Decoder& decoder,
                            const std::filesystem::path& to);

}  // namespace nb
