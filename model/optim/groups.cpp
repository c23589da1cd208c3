#include "model/optim/groups.hpp"

#include "model/ops/optimizer_ops.hpp"
#include "model/optim/adamw.hpp"
#include "model/optim/muon.hpp"
#include "model/optim/schedules.hpp"

namespace nb {

std::vector<std::unique_ptr<Optimizer>> make_optimizers(Decoder& decoder,
                                                        const OptimizerRates& rates,
                                                        Communicator* communicator,
                                                        const OptimizerRules& chosen) {
  const double width = chosen.scales_with_width ? width_lr_scale(decoder.config().n_embd) : 1;
  std::vector<AdamWGroup> adamw, embeddings, value_embeddings, vectors;
  std::vector<Parameter*> matrices;
  for (Parameter* trained : decoder.trained_parameters()) {
    Parameter& p = *trained;
    switch (p.role) {
      case ParameterRole::kUnembedding:
        adamw.push_back({&p, rates.unembedding_lr * width});
        break;
      case ParameterRole::kEmbedding:
        embeddings.push_back({&p, rates.embedding_lr * width});
        break;
      case ParameterRole::kValueEmbedding:
        value_embeddings.push_back({&p, rates.embedding_lr * width / 2});
        break;
      case ParameterRole::kAdapter:
        vectors.push_back({&p, rates.adapter_lr.value_or(rates.unembedding_lr * width)});
        break;
      case ParameterRole::kVector:  // at the rate of lm_head, as they have none of their own
        vectors.push_back({&p, rates.unembedding_lr * width});
        break;
      case ParameterRole::kMatrix:
        if (chosen.uses_muon)
          matrices.push_back(&p);
        else
          vectors.push_back({&p, rates.unembedding_lr * width});
        break;
    }
  }
  for (const std::vector<AdamWGroup>& more : {embeddings, value_embeddings, vectors})
    adamw.insert(adamw.end(), more.begin(), more.end());
  AdamWRules rules = chosen.adamw;
  rules.weight_decay = rates.weight_decay;
  std::vector<std::unique_ptr<Optimizer>> optimizers;
  if (!adamw.empty())
    optimizers.push_back(
        std::make_unique<AdamW>(std::move(adamw), rules, decoder.device(), communicator));
  if (!matrices.empty())
    optimizers.push_back(std::make_unique<Muon>(std::move(matrices), rates.matrix_lr,
                                                decoder.device(), communicator));
  return optimizers;
}

namespace {

std::vector<Tensor*> gradients_of(Decoder& decoder) {
  std::vector<Tensor*> gradients;
  for (Parameter* p : decoder.trained_parameters())
    if (!p->grad.empty()) gradients.push_back(&p->grad);
  return gradients;
}

}  // namespace

double gradient_norm(Decoder& decoder) {
  return decoder.device().executes() ? ops::norm_of(gradients_of(decoder)) : 0;
}

void round_gradients(Decoder& decoder, DType dtype) {
  ops::grad_round(decoder.device(), gradients_of(decoder), dtype);
}

double clip_gradients(Decoder& decoder, double max_norm) {
  const std::vector<Tensor*> gradients = gradients_of(decoder);
  const double norm = ops::grad_norm(decoder.device(), gradients);
  if (max_norm > 0) {
    const double factor = max_norm / (norm + 1e-6);
    // !(factor < 1): a NaN norm scales nothing; the trainer stops at it.
    ops::grad_scale(decoder.device(), gradients, factor < 1 ? static_cast<float>(factor) : 1.0F);
  }
  return norm;
}

}  // namespace nb
