#include "harness/run/replay_tensors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "harness/run/tensor_comparison.hpp"
#include "model/train/safetensors.hpp"

namespace nb {
namespace {

class Outputs {
 public:
  // A second output of that name is "name#2", as in a captured file.
  void add(const std::string& label, const std::string& op, DType dtype,
           std::vector<std::int64_t> shape, std::vector<float> values) {
    writer_.add(named(label, op), dtype, std::move(shape), values_.emplace_back(std::move(values)));
  }
  void add_tokens(const std::string& name, std::vector<std::int64_t> shape,
                  std::vector<std::int64_t> ids) {
    writer_.add(name, std::move(shape), tokens_.emplace_back(std::move(ids)));
    order_.push_back(name);
  }
  Result<void> write(const std::filesystem::path& path) {
    writer_.add_text("order", Json(order_).dump());
    return writer_.write(path);
  }

 private:
  std::string named(const std::string& label, const std::string& op) {
    std::string name = label + "/" + op;
    if (const int times = ++times_[name]; times > 1) name += fmt::format("#{}", times);
    order_.push_back(name);
    return name;
  }

  SafetensorsWriter writer_;  // views of the two below
  std::deque<std::vector<float>> values_;
  std::deque<std::vector<std::int64_t>> tokens_;
  std::vector<std::string> order_;
  std::map<std::string, int> times_;
};

Result<void> check_batch(const std::string& where, const std::vector<std::int64_t>& shape,
                         const std::vector<std::int64_t>& ids, const DecoderConfig& config) {
  if (shape.size() != 2 || ids.empty()) return bad_input(where + ": not a batch (B,T) of tokens");
  if (shape[1] > config.max_positions())
    return bad_input(fmt::format("{}: sequences of {}, but the model has {} positions", where,
                                 shape[1], config.max_positions()));
  const auto outside =
      std::ranges::find_if(ids, [&](std::int64_t id) { return id < 0 || id >= config.vocab_size; });
  if (outside == ids.end()) return {};
  return bad_input(
      fmt::format("{}: token {}, but the model has a vocabulary of {}; is it the "
                  "model that was captured?",
                  where, *outside, config.vocab_size));
}

void run_batch(const std::string& label, const std::vector<std::int64_t>& shape,
               const std::vector<std::int64_t>& ids, Decoder& decoder, Outputs& outputs) {
  const auto listener = [&](const std::string& op, const Tensor& output) {
    const std::span<const float> values = output.host();
    outputs.add(label, op, output.dtype(), {output.shape().leading(), output.shape().last()},
                {values.begin(), values.end()});
  };
  std::vector<float> logits;
  std::int64_t width = 0;
  const std::vector<int> tokens(ids.begin(), ids.end());
  const auto sink = [&](std::int64_t, ConstMatrix rows) {
    width = rows.cols;
    for (std::int64_t i = 0; i < rows.rows; ++i)
      logits.insert(logits.end(), rows.row(i), rows.row(i) + rows.cols);
  };
  decoder.forward_logits(tokens, shape[0], shape[1], {}, sink, listener);
  outputs.add(label, "output", DType::kFp32, {shape[0] * shape[1], width}, std::move(logits));
}

}  // namespace

Result<void> replay_tensors(const std::filesystem::path& from, Decoder& decoder,
                            const std::filesystem::path& to) {
  NB_TRY(const SafetensorsFile file, SafetensorsFile::open(from));
  NB_TRY(const std::vector<std::string> order, tensor_order(file));
  const UseScope scope(decoder.device(), Use::kScore);
  Outputs outputs;
  bool any = false;
  for (const std::string& name : order) {
    const TensorName parts = tensor_name(name);
    if (!parts.op.starts_with("tokens")) continue;
    NB_TRY(const std::vector<std::int64_t> ids, file.read_integers(name));
    const std::vector<std::int64_t>& shape = file.entries().at(name).shape;
    NB_TRY_VOID(check_batch(from.string() + ": " + name, shape, ids, decoder.config()));
    outputs.add_tokens(name, shape, ids);
    run_batch(parts.label, shape, ids, decoder, outputs);
    any = true;
  }
  if (!any) return bad_input(from.string() + ": holds no tokens to run the model on");
  return outputs.write(to);
}

}  // namespace nb
