#include "model/optim/groups.hpp"

#include "model/ops/optimizer_ops.hpp"
#include "model/optim/adamw.hpp"
#include "model/optim/muon.hpp"
#include "model/optim/schedules.hpp"

namespace nb {

std::vector<std::unique_ptr<Optimizer>> make_optimizers(Decoder& decoder,
                                                        const OptimizerRates& rates,
                                                        Communicator* communicator) {
  const double width = width_lr_scale(decoder.config().n_embd);
  std::vector<AdamWGroup> adamw(2);
  std::vector<Parameter*> matrices;
  for (Parameter& p : decoder.parameters()) {
    switch (p.role) {
      case ParameterRole::kUnembedding:
        adamw[0] = {&p, rates.unembedding_lr * width};
        break;
      case ParameterRole::kEmbedding:
        adamw[1] = {&p, rates.embedding_lr * width};
        break;
      case ParameterRole::kMatrix:
        matrices.push_back(&p);
        break;
    }
  }
  const AdamWRules rules = {.weight_decay = rates.weight_decay};
  std::vector<std::unique_ptr<Optimizer>> optimizers;
  optimizers.push_back(
      std::make_unique<AdamW>(std::move(adamw), rules, decoder.device(), communicator));
  optimizers.push_back(
      std::make_unique<Muon>(std::move(matrices), rates.matrix_lr, decoder.device(), communicator));
  return optimizers;
}

double clip_gradients(Decoder& decoder, double max_norm) {
  std::vector<Tensor*> gradients;
  for (Parameter& p : decoder.parameters()) {
    if (!p.grad.empty()) gradients.push_back(&p.grad);
  }
  const double norm = ops::grad_norm(decoder.device(), gradients);
  if (max_norm > 0) {
    const double factor = max_norm / (norm + 1e-6);
    // !(factor < 1): a NaN norm scales nothing; the trainer stops at it.
    ops::grad_scale(decoder.device(), gradients, factor < 1 ? static_cast<float>(factor) : 1.0F);
  }
  return norm;
}

}  // namespace nb
