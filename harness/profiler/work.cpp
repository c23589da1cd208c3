#include "harness/profiler/work.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "harness/base/ascii.hpp"
#include "harness/profiler/time_text.hpp"
#include "model/device/traced_kernel.hpp"

namespace nb::profiler {
namespace {

struct TypeRow {
  std::string_view name;
  int bytes;
  std::optional<DType> dtype;  // of the matrix unit
};
// Names of data types in kernel_details.csv (CANN's ge::DataType without DT_, or with it), and in
// PyTorch's traces.
constexpr std::array kTypes = {
    TypeRow{"FLOAT", 4, DType::kFp32},
    TypeRow{"FLOAT16", 2, DType::kFp16},
    TypeRow{"DT_BF16", 2, DType::kBf16},
    TypeRow{"BF16", 2, DType::kBf16},
    TypeRow{"BFLOAT16", 2, DType::kBf16},
    TypeRow{"DOUBLE", 8, {}},
    TypeRow{"INT64", 8, {}},
    TypeRow{"UINT64", 8, {}},
    TypeRow{"INT32", 4, {}},
    TypeRow{"UINT32", 4, {}},
    TypeRow{"INT16", 2, {}},
    TypeRow{"UINT16", 2, {}},
    TypeRow{"INT8", 1, {}},
    TypeRow{"UINT8", 1, {}},
    TypeRow{"BOOL", 1, {}},
    TypeRow{"float", 4, DType::kFp32},
    TypeRow{"c10::Half", 2, DType::kFp16},
    TypeRow{"c10::BFloat16", 2, DType::kBf16},
    TypeRow{"double", 8, {}},
    TypeRow{"long int", 8, {}},
    TypeRow{"long", 8, {}},
    TypeRow{"int", 4, {}},
    TypeRow{"unsigned char", 1, {}},
    TypeRow{"bool", 1, {}},
};
const TypeRow* type_of(std::string_view name) {
  for (const TypeRow& row : kTypes)
    if (row.name == name) return &row;
  return nullptr;
}

std::vector<std::string_view> parts_of(std::string_view text, char between) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t at = text.find(between);
    parts.push_back(trimmed(text.substr(0, at)));
    if (at == text.npos) return parts;
    text.remove_prefix(at + 1);
  }
}

void add_product(const std::vector<Shape>& inputs, const std::vector<Shape>& outputs,
                 const TypeRow& type, Work& work) {
  if (inputs.size() < 2 || outputs.empty() || outputs[0].size() < 2 || inputs[0].size() < 2 ||
      inputs[1].size() < 2)
    return;
  const Shape& out = outputs[0];
  const std::int64_t m = out[out.size() - 2], n = out.back();
  if (m <= 0 || n <= 0) return;
  const double batch = elements_of(out) / (static_cast<double>(m) * static_cast<double>(n));
  const double k = elements_of(inputs[0]) / (batch * static_cast<double>(m));
  const double right = elements_of(inputs[1]);
  // One matrix for all of the batch, or one each; blocked formats fit neither.
  const double shared = k * static_cast<double>(n);
  if (k < 1 || k != std::floor(k) || (right != shared && right != shared * batch)) return;
  work.flop = 2 * batch * static_cast<double>(m) * static_cast<double>(n) * k;
  if (!type.dtype) return;
  nb::Kernel model;
  model.name = "mm";
  model.unit = KernelUnit::kMatrix;
  model.flops = work.flop;
  const bool is_shared = right == shared;
  model.batch = is_shared ? 1 : static_cast<std::int64_t>(batch);
  model.m = is_shared ? static_cast<std::int64_t>(batch) * m : m;
  model.n = n;
  model.k = static_cast<std::int64_t>(k);
  model.dtype = *type.dtype;
  work.model = model;
}

void add_attention(std::string_view name, const std::vector<Shape>& inputs, const TypeRow& type,
                   Work& work) {
  const bool is_backward = name.find("Grad") != name.npos;
  if (inputs.size() < 3) return;
  const Shape& query = inputs[0];
  double batch = 0, length = 0, width = 0;  // width: of all heads together
  std::int64_t masked = 0;
  for (std::size_t i = 3; i < inputs.size(); ++i)
    if (inputs[i].size() >= 2 && inputs[i].back() == inputs[i][inputs[i].size() - 2])
      masked = inputs[i].back();
  std::int64_t heads = 1;
  if (query.size() == 4 && inputs[1].size() == 4 && query[2] == inputs[1][2]) {  // B, N, S, D
    batch = static_cast<double>(query[0]);
    heads = query[1];
    length = static_cast<double>(query[2]);
    width = static_cast<double>(query[1] * query[3]);
  } else if (query.size() == 3 && masked > 0 && (query[0] == masked || query[1] == masked)) {
    const bool is_length_first = query[0] == masked;  // S, B, H or B, S, H
    batch = static_cast<double>(query[is_length_first ? 1 : 0]);
    length = static_cast<double>(masked);
    width = static_cast<double>(query[2]);
  } else {
    return;  // which number is the length is not known
  }
  const bool is_causal = masked > 0 && static_cast<double>(masked) == length;
  work.flop = 4 * batch * length * length * width * (is_causal ? 0.5 : 1) * (is_backward ? 2.5 : 1);
  if (!type.dtype || heads <= 1) return;
  nb::Kernel model;
  model.name = "attention";
  model.unit = KernelUnit::kAttention;
  model.flops = work.flop;
  model.batch = static_cast<std::int64_t>(batch) * heads;
  model.m = model.k = static_cast<std::int64_t>(length);
  model.n = static_cast<std::int64_t>(width) / heads;
  model.dtype = *type.dtype;
  model.backward = is_backward;
  model.is_causal_square = is_causal;
  work.model = model;
}

struct OpRow {
  std::string_view name;
  enum { kProduct, kElementwise, kCopy } kind;
  std::size_t first = 0;  // of a product: its left operand
};
constexpr std::array kOps = {
    OpRow{"aten::mm", OpRow::kProduct, 0},
    OpRow{"aten::addmm", OpRow::kProduct, 1},
    OpRow{"aten::bmm", OpRow::kProduct, 0},
    OpRow{"aten::baddbmm", OpRow::kProduct, 1},
    OpRow{"aten::copy_", OpRow::kCopy},
    OpRow{"aten::add", OpRow::kElementwise},
    OpRow{"aten::add_", OpRow::kElementwise},
    OpRow{"aten::sub", OpRow::kElementwise},
    OpRow{"aten::mul", OpRow::kElementwise},
    OpRow{"aten::mul_", OpRow::kElementwise},
    OpRow{"aten::div", OpRow::kElementwise},
    OpRow{"aten::div_", OpRow::kElementwise},
    OpRow{"aten::pow", OpRow::kElementwise},
    OpRow{"aten::relu", OpRow::kElementwise},
    OpRow{"aten::clamp_min", OpRow::kElementwise},
    OpRow{"aten::threshold_backward", OpRow::kElementwise},
    OpRow{"aten::gelu", OpRow::kElementwise},
    OpRow{"aten::gelu_backward", OpRow::kElementwise},
    OpRow{"aten::silu", OpRow::kElementwise},
    OpRow{"aten::silu_backward", OpRow::kElementwise},
    OpRow{"aten::tanh", OpRow::kElementwise},
    OpRow{"aten::sigmoid", OpRow::kElementwise},
    OpRow{"aten::exp", OpRow::kElementwise},
};
const OpRow* op_named(std::string_view name) {
  for (const OpRow& row : kOps)
    if (row.name == name) return &row;
  return nullptr;
}

// Of a product of two, or of as many as take part in one element; nullopt: they do not fit.
std::optional<Shape> result_shape(const OpRow& op, const std::vector<Shape>& inputs) {
  if (op.kind == OpRow::kProduct) {
    if (inputs.size() < op.first + 2) return std::nullopt;
    const Shape& left = inputs[op.first];
    const Shape& right = inputs[op.first + 1];
    if (left.size() < 2 || left.size() != right.size() || left.back() != right[right.size() - 2])
      return std::nullopt;
    Shape result = left;
    result.back() = right.back();
    return result;
  }
  Shape result;
  for (const Shape& one : inputs) {
    if (one.size() > result.size()) result.insert(result.begin(), one.size() - result.size(), 1);
    for (std::size_t i = 0; i < one.size(); ++i) {
      std::int64_t& side = result[result.size() - 1 - i];
      const std::int64_t other = one[one.size() - 1 - i];
      if (side != other && side != 1 && other != 1) return std::nullopt;
      side = side == 1 ? other : side;
    }
  }
  if (op.kind == OpRow::kCopy && !inputs.empty()) result = inputs[0];  // into the first
  return result;
}

// One operator may launch several kernels, a bias spread out before a product: what is not of its
// own class is not its work.
bool does_the_work(const OpRow& op, const Kernel& kernel, std::string_view name) {
  if (op.kind == OpRow::kProduct)
    return kernel.op_class == OpClass::kMatmul && name.find("splitKreduce") == name.npos;
  return kernel.op_class == OpClass::kElementwise || kernel.op_class == OpClass::kLayout;
}

// Pooling reads its input several times, top-k sorts: the model knows neither.
bool is_modelled(std::string_view type) {
  return type.find("Pool") == type.npos && type.find("TopK") == type.npos;
}

bool is_streaming(OpClass one) {
  return one == OpClass::kElementwise || one == OpClass::kNorm || one == OpClass::kReduce ||
         one == OpClass::kSoftmaxLoss || one == OpClass::kOptimizer || one == OpClass::kLayout ||
         one == OpClass::kEmbedding;
}

}  // namespace

std::optional<std::vector<Shape>> shapes_of(std::string_view text) {
  std::vector<Shape> shapes;
  if (trimmed(text).empty()) return shapes;
  for (const std::string_view one : parts_of(text, ';')) {
    Shape shape;
    if (!one.empty())
      for (const std::string_view number : parts_of(one, ',')) {
        std::int64_t value = 0;
        const auto [end, error] =
            std::from_chars(number.data(), number.data() + number.size(), value);
        if (error != std::errc() || end != number.data() + number.size() || value < 0 ||
            value > (std::int64_t{1} << 40))
          return std::nullopt;
        shape.push_back(value);
      }
    if (elements_of(shape) > 1e15) return std::nullopt;
    shapes.push_back(std::move(shape));
  }
  return shapes;
}

double elements_of(const Shape& shape) {
  if (shape.empty()) return 0;
  double count = 1;
  for (const std::int64_t side : shape) count *= static_cast<double>(side);
  return count;
}

Work work_of(const Kernel& kernel, const Texts& texts) {
  Work work;
  if (kernel.label != 0) {  // ours: the label says what the device model was asked
    work.flop = kernel.flop;
    work.bytes = kernel.bytes;
    if (auto traced = kernel_of_label(texts[kernel.label])) {
      work.model = traced->kernel;
      work.model->name = texts[kernel.name];
      work.model->flops = kernel.flop;
      work.ranks = traced->ranks;
    }
    return work;
  }
  const auto inputs = shapes_of(texts[kernel.input_shapes]);
  auto outputs = shapes_of(texts[kernel.output_shapes]);
  const OpRow* op = kernel.op != 0 ? op_named(texts[kernel.op]) : nullptr;
  if (op != nullptr && inputs && does_the_work(*op, kernel, texts[kernel.name]))
    if (auto result = result_shape(*op, *inputs)) outputs = {{std::move(*result)}};
  if (!inputs || !outputs || inputs->empty() || outputs->empty()) return work;
  const std::vector<std::string_view> names = parts_of(texts[kernel.data_types], ';');
  const TypeRow* first = type_of(names[op != nullptr && op->first < names.size() ? op->first : 0]);
  if (first == nullptr) return work;
  double read = 0, written = 0;
  for (std::size_t i = 0; i < inputs->size(); ++i) {
    const TypeRow* type = i < names.size() ? type_of(names[i]) : first;
    const double elements = elements_of((*inputs)[i]);
    const bool is_written = op != nullptr && op->kind == OpRow::kCopy && i == 0;
    if (elements == 0 || is_written) continue;
    if (type == nullptr) return work;
    const double bytes = elements * type->bytes;
    read += bytes;
    work.largest_input_bytes = std::max(work.largest_input_bytes, bytes);
  }
  // Results have the type of the first operand, but for casts, whose bytes are then not known.
  for (const Shape& shape : *outputs) written += elements_of(shape) * first->bytes;
  const std::string& type = texts[kernel.type];
  if (type == "Cast") return work;
  work.bytes = read + written;
  if (kernel.op_class == OpClass::kMatmul) {
    const std::size_t left = op != nullptr ? op->first : 0;
    add_product({inputs->begin() + static_cast<std::ptrdiff_t>(left), inputs->end()}, *outputs,
                *first, work);
  } else if (kernel.op_class == OpClass::kAttention) {
    add_attention(type, *inputs, *first, work);
  } else if (is_streaming(kernel.op_class) && is_modelled(type)) {
    work.flop = 0;
    for (const Shape& shape : *outputs) work.flop += elements_of(shape);
    nb::Kernel model;
    model.name = "vector";
    model.flops = work.flop;
    work.model = model;
  }
  if (work.model) {
    work.model->read_bytes = static_cast<std::uint64_t>(read);
    work.model->write_bytes = static_cast<std::uint64_t>(written);
  }
  return work;
}

bool has_known_work(std::string_view op) { return op_named(op) != nullptr; }

}  // namespace nb::profiler
