#include "model/decoder/architecture.hpp"

namespace nb {

FieldList Architecture::fields() {
  return {
      {"head_dim", "width of a head; 0: width / heads", &head_dim, {.min = 0}},
      {"hidden", "width of the MLP; 0: 4 × width", &hidden, {.min = 0}},
      {"norm", "RMS norm, the same with gain, or layer norm",
       enumerated(&norm, {"rms", "rms_gain", "layer"})},
      {"norm_epsilon", "added to the mean of squares", &norm_epsilon, {.min = 0}},
      {"embedding_norm", "a norm directly behind the embedding", &embedding_norm},
      {"positions", "rotary by minus the angle, by the angle, by pairs; or a learned table",
       enumerated(&positions, {"rotary_reversed", "rotary_halves", "rotary_pairs", "learned"})},
      {"rotary_base", "of the rotary frequencies", &rotary_base, {.min = 1}},
      {"position_factor",
       "positions of the rotary tables / sequence_len",
       &position_factor,
       {.min = 1}},
      {"qk_norm", "RMS norm of each head of q and k", &qk_norm},
      {"qk_scale", "factor of q and k behind it", &qk_scale},
      {"mlp", "relu², GELU or SwiGLU", enumerated(&mlp, {"relu_squared", "gelu", "swiglu"})},
      {"biases", "in every linear but the head", &biases},
      {"softcap", "of the logits; 0: none", &softcap, {.min = 0}},
      {"softcap_fp32", "logits become fp32 before the cap", &softcap_fp32},
      {"tied_head", "the head is the embedding table", &tied_head},
      {"windows",
       "keys before its own that a query sees, by layer, tiled; 0: all",
       &windows,
       {.min = 0}},
      {"value_embeddings", "tables of values in every other layer", &value_embeddings},
      {"value_gate_channels", "channels that their gates read", &value_gate_channels, {.min = 0}},
      {"value_gate_scale", "factor of their gates", &value_gate_scale},
      {"residual_lambdas", "scalars of the residual stream and of its start", &residual_lambdas},
      {"smear", "some of the token before is added", &smear},
      {"backout", "some of the middle layer is taken off at the end", &backout},
      {"vocab_multiple", "rows of the tables are a multiple of it", &vocab_multiple, {.min = 1}}};
}

}  // namespace nb
