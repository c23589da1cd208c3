#include "model/device/numerics_file.hpp"

#include <memory>
#include <nlohmann/json.hpp>

#include "harness/base/table.hpp"

namespace nb {
namespace {

// In enumerator order (dtype.hpp, policy.hpp, numerics.hpp).
const std::vector<std::string> kDTypes{"fp32", "bf16", "fp16", "tf32", "hf32"};
const std::vector<std::string> kAccumulations{"chain", "block16", "split_k", "host_blas"};
const std::vector<std::string> kPointwise{"eager", "fused"};

// An entry that may be absent, and knows its names when it is not.
ObjectRef optional_choice(std::optional<Sourced<DType>>* member) {
  auto fresh = std::make_shared<Sourced<DType>>(kDTypes);
  return {[member, fresh] { return member->has_value() ? (*member)->fields() : fresh->fields(); },
          [member] { return member->has_value(); }, [member] { member->emplace(kDTypes); }};
}

}  // namespace

NumericsFile::NumericsFile()
    : storage(kDTypes),
      matmul_inputs(kDTypes),
      matmul_output(kDTypes),
      accumulation(kAccumulations),
      pointwise(kPointwise),
      score_pointwise(kPointwise),
      generate_pointwise(kPointwise),
      tune_pointwise(kPointwise),
      weight_gradient(kDTypes),
      embedding_weight(kDTypes),
      adam_moments(kDTypes),
      muon_momentum(kDTypes),
      muon_matmul(kDTypes),
      fp16_overflow({"inf_nan", "saturate"}),
      loss_scaling({"none", "static", "dynamic"}),
      vector_functions({"precise", "approximate_rsqrt"}),
      collective(kDTypes),
      reduction_order({"ring", "mesh", "unordered"}) {
  split_k.value = 1;
}

NumericsFile::NumericsFile(const NumericsPolicy& p) : NumericsFile() {
  storage.value = p.storage;
  matmul_inputs.value = p.matmul_inputs;
  if (p.linear_inputs) {
    linear_inputs.emplace(kDTypes);
    linear_inputs->value = *p.linear_inputs;
  }
  matmul_output.value = p.matmul_output;
  accumulation.value = p.accumulation;
  split_k.value = p.split_k;
  pointwise.value = p.pointwise;
  score_pointwise.value = p.score_pointwise;
  generate_pointwise.value = p.generate_pointwise;
  tune_pointwise.value = p.tune_pointwise;
  weight_gradient.value = p.weight_gradient;
  embedding_weight.value = p.embedding_weight;
  adam_moments.value = p.adam_moments;
  muon_momentum.value = p.muon_momentum;
  muon_matmul.value = p.muon_matmul;
  fp16_overflow.value = p.fp16_overflow;
  loss_scaling.value = p.loss_scaling;
  vector_functions.value = p.vector_functions;
  collective.value = p.collective;
  reduction_order.value = p.reduction_order;
}

NumericsPolicy NumericsFile::policy() const {
  NumericsPolicy p;
  p.storage = storage.value;
  p.matmul_inputs = matmul_inputs.value;
  if (linear_inputs) p.linear_inputs = linear_inputs->value;
  p.matmul_output = matmul_output.value;
  p.accumulation = accumulation.value;
  p.split_k = static_cast<int>(split_k.value);
  p.pointwise = pointwise.value;
  p.score_pointwise = score_pointwise.value;
  p.generate_pointwise = generate_pointwise.value;
  p.tune_pointwise = tune_pointwise.value;
  p.weight_gradient = weight_gradient.value;
  p.embedding_weight = embedding_weight.value;
  p.adam_moments = adam_moments.value;
  p.muon_momentum = muon_momentum.value;
  p.muon_matmul = muon_matmul.value;
  p.fp16_overflow = fp16_overflow.value;
  p.loss_scaling = loss_scaling.value;
  p.vector_functions = vector_functions.value;
  p.collective = collective.value;
  p.reduction_order = reduction_order.value;
  return p;
}

FieldList NumericsFile::fields() {
  const FieldRules required{.required = true};
  return {
      {"storage", "activations and the residual stream", object(&storage), required},
      {"matmul_inputs", "rounding of both operands", object(&matmul_inputs), required},
      {"linear_inputs", "the same of products with a weight; absent: as matmul_inputs",
       optional_choice(&linear_inputs)},
      {"matmul_output", "rounding of the product", object(&matmul_output), required},
      {"accumulation", "order of a product's sum", object(&accumulation), required},
      {"split_k", "parts of K for split_k", object(&split_k), required},
      {"pointwise", "rounding of pointwise chains in training", object(&pointwise), required},
      {"score_pointwise", "the same where texts are scored", object(&score_pointwise), required},
      {"generate_pointwise", "the same where texts are generated", object(&generate_pointwise),
       required},
      {"tune_pointwise", "the same where SFT and RL train", object(&tune_pointwise), required},
      {"weight_gradient", "rounding of dW before the fp32 sum", object(&weight_gradient), required},
      {"embedding_weight", "wte, its gradient and moments", object(&embedding_weight), required},
      {"adam_moments", "moments of the other AdamW parameters", object(&adam_moments), required},
      {"muon_momentum", "Muon's momentum buffer", object(&muon_momentum), required},
      {"muon_matmul", "products of Newton-Schulz", object(&muon_matmul), required},
      {"fp16_overflow", "what fp16 does above 65504", object(&fp16_overflow), required},
      {"loss_scaling", "of fp16 training", object(&loss_scaling), required},
      {"vector_functions", "the norms' reciprocal square root", object(&vector_functions),
       required},
      {"collective", "gradients on the links", object(&collective), required},
      {"reduction_order", "order of a collective's sum", object(&reduction_order), required},
  };
}

std::vector<PolicyEntry> NumericsFile::card() {
  const Json json = print_fields(fields());
  std::vector<PolicyEntry> entries;
  for (const Field& field : fields()) {
    if (!json.contains(field.name) || json.at(field.name).is_null()) continue;  // absent
    const Json& entry = json.at(field.name);
    const Json& value = entry.at("value");
    entries.push_back(
        {field.name,
         value.is_string() ? value.get<std::string>() : number_text(value.get<double>()),
         entry.at("source").get<std::string>()});
  }
  return entries;
}

}  // namespace nb
