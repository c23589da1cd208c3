#include "model/decoder/trunk.hpp"

#include <utility>

#include "model/autograd/tape.hpp"
#include "model/ops/activations.hpp"
#include "model/ops/elementwise.hpp"
#include "model/ops/linear.hpp"
#include "model/ops/norms.hpp"
#include "model/ops/rows.hpp"

namespace nb {
namespace {

// x_t + λ σ(w · x_t[: 24]) x_{t−1}
Tensor smeared(const Tensor& x, const DecoderWeights& w, Pass& pass) {
  Tensor gate = ops::first_columns(x, kSmearChannels, "smear.gate");
  gate = ops::sigmoid(ops::linear(gate, *w.smear_gate), "smear.gate");
  gate = ops::scale(gate, *w.smear_lambda, "smear.lambda");
  return ops::add(x, ops::gate_heads(pass.previous(x), gate, "smear"), "smear");
}

// segment(x), a block, with its weights' hooks around it and around its backward.
template <class Segment>
Tensor hooked(Tensor x, std::int64_t layer, WeightHooks* hooks, const Segment& segment) {
  if (hooks == nullptr) return segment(x);
  if (Tape::wants_gradient(x))
    Tape::on_gradient(x, [hooks, layer] { hooks->after_block_backward(layer); });
  hooks->before_block(layer);
  Tensor y = segment(x);
  hooks->after_block(layer);
  if (Tape::wants_gradient(y)) Tape::on_gradient(y, [hooks, layer] { hooks->before_block(layer); });
  return y;
}

}  // namespace

Residuals embedded(const DecoderWeights& w, const DecoderConfig& config, Pass& pass) {
  const Architecture& a = config.architecture;
  Cuts* const cuts = cuts_of(w);
  const bool is_whole = w.wpe != nullptr || a.smear;  // what reads places and neighbours
  Tensor x = cuts == nullptr ? ops::embedding(*w.wte, pass.ids(), pass.rows())
                             : cuts->embedding(*w.wte, pass.ids(), pass.rows(), is_whole);
  pass.tell("transformer.wte", x);
  if (w.wpe != nullptr) {
    const std::vector<int> positions = pass.position_ids();
    x = ops::add(x, ops::embedding(*w.wpe, positions, pass.rows()), "positions");
  }
  if (a.embedding_norm) x = ops::rms_norm(x, config.n_embd, "norm");
  if (a.embedding_norm) pass.tell("norm", x);
  Residuals stream;
  stream.x = a.smear ? smeared(x, w, pass) : std::move(x);
  if (cuts != nullptr && is_whole) stream.x = cuts->own_rows(stream.x);
  if (w.x0_lambdas != nullptr) stream.x0 = stream.x;
  return stream;
}

void run_blocks(const DecoderWeights& w, const DecoderConfig& config,
                const ops::RotaryTables& tables, Pass& pass, bool recomputes, std::int64_t first,
                std::int64_t end, Residuals& stream) {
  Tensor& x = stream.x;
  for (std::int64_t layer = first; layer < end; ++layer) {
    if (w.x0_lambdas != nullptr)
      x = ops::add(ops::scale(x, *w.resid_lambdas, layer, "resid_lambda"),
                   ops::scale(stream.x0, *w.x0_lambdas, layer, "x0_lambda"), "x0.add");
    const auto here = [&w, &config, &tables, &pass, layer](const Tensor& in) {
      return block(in, w.blocks[static_cast<std::size_t>(layer)],
                   {config, tables, pass, layer, cuts_of(w)});
    };
    x = hooked(x, layer, w.hooks,
               [&](const Tensor& in) { return recomputes ? recomputed(in, here) : here(in); });
    if (w.backout_lambda != nullptr && layer == config.n_layer / 2) stream.middle = x;
  }
}

Tensor ended(const DecoderWeights& w, const DecoderConfig& config, Pass& pass, Residuals& stream) {
  Tensor &x = stream.x, &middle = stream.middle;
  x = pass.wanted(x);
  if (x.empty()) return x;
  if (!middle.empty()) {
    middle = ops::scale(pass.wanted(middle), *w.backout_lambda, "backout");
    x = ops::add(x, ops::scale(middle, -1, "backout"), "backout");
  }
  const Tensor out = norm(x, w.ln_f, config, "norm");
  pass.tell("norm1", out);
  return out;
}

Tensor trunk(const DecoderWeights& w, const DecoderConfig& config, const ops::RotaryTables& tables,
             Pass& pass, bool recomputes) {
  Residuals stream = embedded(w, config, pass);
  run_blocks(w, config, tables, pass, recomputes, 0, config.n_layer, stream);
  return ended(w, config, pass, stream);
}

}  // namespace nb
