// Where numbers stopped being finite, for the sentence that ends a training. Looks only once that
// has happened, so that a healthy step pays nothing.
#pragma once

#include <string>

#include "model/data/loader.hpp"
#include "model/decoder/decoder.hpp"

namespace nb {

// The first op, in the model's order, of which a forward pass over the batch has an output that is
// NaN or infinite: "transformer.h.1.mlp.c_fc". Empty: none, so the loss itself is it. The weights
// must still be those that the loss was computed with.
std::string first_op_not_finite(Decoder& decoder, const Batch& batch);
// Sets `found` to that where `loss` is not finite and nothing was found before.
void note_not_finite(std::string& found, double loss, Decoder& decoder, const Batch& batch);

// Trained parameters whose gradients are not finite: "transformer.h.1.mlp.c_fc.weight", with "and
// 12 more"; the last in the model's order is named, since backward passes NaN on to what is before
// it. Empty: none.
std::string gradients_not_finite(Decoder& decoder);

}  // namespace nb
