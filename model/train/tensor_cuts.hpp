// How tensor-parallel ranks share the weights of a decoder (Megatron-LM, arXiv:1909.08053, 3): a
// table from names to cuts, and the sizes of a part. Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "harness/base/result.hpp"
#include "model/decoder/config.hpp"
#include "model/device/tensor.hpp"

namespace nb {

enum class WeightCut : std::uint8_t {
  kReplicated,  // every rank has all of it, and updates it alike
  kColumn,      // gives some columns of its product's result; its input is whole
  kRow,         // reads some columns of its input; its results are parts of a sum
  kVocabulary,  // has the rows of some tokens; those of the last rank may be padded
};
WeightCut weight_cut(std::string_view name);
// Which dimension of the weight is cut; none: it is replicated.
std::optional<std::size_t> cut_dimension(std::string_view name);

// With sequence parallelism: of a replicated weight, whether a rank reads it with its own rows
// alone, so that its gradient is a part of a sum. Positions and smear are read with all rows.
bool is_read_by_rows(std::string_view name);

// bad_input with the numbers: heads, key-value heads or the MLP's width do not divide, or a rank
// would have no token.
Result<void> check_parts(const DecoderConfig& config, std::int64_t parts);

// The decoder of part `part`, whose tables have equally many rows in every part: the vocabulary is
// padded to the parts.
DecoderConfig part_config(const DecoderConfig& whole, int part, int parts);

// Of a part of a weight of that shape.
Shape part_shape(std::string_view name, const Shape& whole, int parts);

// body(first element in the whole, first in the part, count) for the runs of which part `part` is
// made; padding is none of the whole.
void each_run(std::string_view name, const Shape& whole, const Shape& shape_of_part, int part,
              const std::function<void(std::size_t, std::size_t, std::size_t)>& body);

}  // namespace nb
