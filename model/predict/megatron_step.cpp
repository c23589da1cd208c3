#include "model/predict/megatron_step.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "model/collectives/cost.hpp"
#include "model/device/cost_model.hpp"

namespace nb {
namespace {

constexpr double kHalf = 2;  // bytes of bf16 or fp16
constexpr double kFp32 = 4;  // of fp32

// Time of a list of kernels and collectives for one micro-batch on one card.
struct Cost {
  double product = 0, attention = 0, vector = 0, link = 0;
  double launches = 0;

  double device_ns() const { return product + attention + vector + link; }
  Cost& operator+=(const Cost& other) {
    product += other.product;
    attention += other.attention;
    vector += other.vector;
    link += other.link;
    launches += other.launches;
    return *this;
  }
  Cost times(double n) const {
    return {product * n, attention * n, vector * n, link * n, launches * n};
  }
};

class Pricer {
 public:
  Pricer(const MegatronJob& job, const MegatronMachine& machine, int cards_per_node)
      : job_(job),
        machine_(machine),
        links_(link_model(machine.links, machine.between_nodes)),
        cards_per_node_(cards_per_node),
        rows_(static_cast<double>(job.run.micro_batch * job.run.sequence_len / job.run.cp)),
        dtype_(job.run.is_fp16 ? DType::kFp16 : DType::kBf16) {}

  // One layer, forward and backward.
  Cost layer() const {
    Cost cost = layer_forward();
    cost += layer_backward();
    const double again = job_.run.recomputed_share(job_.model.layers);
    if (again > 0) cost += layer_forward().times(again);
    return cost;
  }

  // Token embedding: a lookup, its dense gradient; with sequence parallelism a scatter of rows.
  Cost embedding() const {
    Cost cost;
    const double n = rows_ * width();
    vector(cost, n * (kHalf * 2 + kHalf * 2), 2);
    vector(cost, n * (kHalf + 2 * kFp32), 2);
    if (job_.run.tp > 1) cost.link += tensor_parallel(OpKind::kReduceScatter);
    return cost;
  }

  // Last norm, head, loss. The parallel cross-entropy of Megatron-LM (core/tensor_parallel/
  // cross_entropy.py) on fp32 logits: convert (6 bytes each), maximum (4), subtract (8), exp (8),
  // sum (4), divide (8); backward: scale (8), convert (6).
  Cost head() const {
    Cost cost;
    norm(cost, 3);
    const std::int64_t vocab = (job_.model.vocab + job_.run.tp - 1) / job_.run.tp;
    forward_product(cost, vocab, job_.model.width);
    backward_products(cost, vocab, job_.model.width);
    vector(cost, rows_ * static_cast<double>(vocab) * 52, 8);
    if (job_.run.tp > 1 && job_.run.sequence_parallel)
      cost.link +=
          2 * tensor_parallel(OpKind::kAllGather) + tensor_parallel(OpKind::kReduceScatter);
    return cost;
  }

  // Activations to the next stage and their gradient back, once a chunk of layers.
  double send_and_receive() const {
    const MegatronRun& r = job_.run;
    if (r.pp == 1) return 0;
    const double bytes = rows_ * width() * kHalf / sequence_parts();
    const bool leaves_node = r.tp * r.cp * r.dp() >= cards_per_node_;
    const double latency =
        leaves_node ? machine_.between_nodes->latency.value : machine_.links.latency.value;
    const double rate =
        leaves_node ? machine_.between_nodes->bandwidth.value : machine_.links.bandwidth.value;
    return static_cast<double>(r.vpp) * 2 * (latency + bytes / rate);
  }

  // Gradients of `weights` fp32 on the card reduced over dp × cp; with a distributed optimizer
  // scattered, and 16-bit parameters gathered.
  double data_parallel(double weights) const {
    const MegatronRun& r = job_.run;
    const std::int64_t group = r.dp() * r.cp;
    if (group == 1) return 0;
    const std::int64_t per_node = std::max<std::int64_t>(
        1, std::min<std::int64_t>(group, static_cast<std::int64_t>(cards_per_node_) / r.tp));
    const RankLayout layout{static_cast<int>(group / per_node), static_cast<int>(per_node)};
    const auto time = [&](OpKind kind, double bytes) {
      return static_cast<double>(
          collective_time_ns(kind, links_, static_cast<std::uint64_t>(bytes), layout));
    };
    const double exchanged = r.distributed_optimizer
                                 ? time(OpKind::kReduceScatter, weights * kFp32) +
                                       time(OpKind::kAllGather, weights * kHalf)
                                 : time(OpKind::kAllReduce, weights * kFp32);
    return exchanged * (r.overlap_grad_reduce ? 1 - machine_.hidden_share : 1);
  }

  // Adam on fp32 master, gradient and moments: reads 16 bytes, writes 12 and the 16-bit parameter.
  // Before it, of all gradients on the card: zeroing and the norm.
  double optimizer(double weights) const {
    const MegatronRun& r = job_.run;
    const double own =
        r.distributed_optimizer ? weights / static_cast<double>(r.dp() * r.cp) : weights;
    Cost cost;
    vector(cost, own * 30 + weights * 8, 60);
    return cost.device_ns();
  }

 private:
  double width() const { return static_cast<double>(job_.model.width); }
  double sequence_parts() const {
    return job_.run.sequence_parallel ? static_cast<double>(job_.run.tp) : 1.0;
  }

  void vector(Cost& cost, double bytes, double count) const {
    Kernel kernel;
    kernel.name = "vector";
    kernel.unit = KernelUnit::kVector;
    // Half read, half written, in equal kernels.
    kernel.read_bytes = static_cast<std::uint64_t>(bytes / count / 2);
    kernel.write_bytes = kernel.read_bytes;
    kernel.dtype = dtype_;
    cost.vector += count * machine_.kernel_ns(kernel);
    cost.launches += count;
  }

  void product(Cost& cost, std::int64_t m, std::int64_t n, std::int64_t k) const {
    Kernel kernel;
    kernel.name = "mm";
    kernel.unit = KernelUnit::kMatrix;
    kernel.batch = 1;
    kernel.m = m;
    kernel.n = n;
    kernel.k = k;
    kernel.dtype = dtype_;
    kernel.flops = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
    kernel.read_bytes = static_cast<std::uint64_t>(2 * (m * k + k * n));
    kernel.write_bytes = static_cast<std::uint64_t>(2 * m * n);
    cost.product += machine_.kernel_ns(kernel);
    cost.launches += 1;
  }
  std::int64_t rows() const { return static_cast<std::int64_t>(rows_); }
  void forward_product(Cost& cost, std::int64_t out, std::int64_t in) const {
    product(cost, rows(), out, in);
  }
  void backward_products(Cost& cost, std::int64_t out, std::int64_t in) const {
    product(cost, rows(), in, out);
    product(cost, out, in, rows());
    if (!job_.run.fused_gradient_accumulation)  // main_grad += grad: reads 2 + 4, writes 4
      vector(cost, static_cast<double>(out) * static_cast<double>(in) * 10, 1);
  }

  void attention(Cost& cost, bool backward) const {
    const MegatronModel& m = job_.model;
    const MegatronRun& r = job_.run;
    const std::int64_t heads = m.heads / r.tp;
    const std::int64_t head_dim = m.q_width() / m.heads;
    const double per_head = static_cast<double>(r.sequence_len) * m.visible_keys(r.sequence_len) /
                            static_cast<double>(r.cp);
    const double q = rows_ * static_cast<double>(m.q_width() / r.tp);
    const double kv = rows_ * static_cast<double>(std::max(m.kv_width() / r.tp, head_dim));
    Kernel kernel;
    kernel.name = backward ? "fused_attention_backward" : "fused_attention";
    kernel.unit = KernelUnit::kAttention;
    kernel.batch = r.micro_batch * heads;
    kernel.m = r.sequence_len / r.cp;
    kernel.n = head_dim;
    kernel.k = r.sequence_len;
    kernel.is_causal_square = r.cp == 1 && (m.window == 0 || m.window >= r.sequence_len);
    kernel.dtype = dtype_;
    kernel.backward = backward;
    kernel.flops = 4.0 * static_cast<double>(r.micro_batch * heads * head_dim) * per_head *
                   (backward ? 2.5 : 1.0);
    kernel.read_bytes = static_cast<std::uint64_t>(kHalf * (q + 2 * kv) * (backward ? 2 : 1));
    kernel.write_bytes = static_cast<std::uint64_t>(kHalf * (backward ? q + 2 * kv : q));
    cost.attention += machine_.kernel_ns(kernel);
    cost.launches += 1;
  }

  // RMSNorm of a rank's rows, `passes` times as many bytes as the forward's. Unfused, as PyTorch
  // writes it: to fp32, square, mean, add epsilon, rsqrt, multiply, to 16 bits, times the gain.
  void norm(Cost& cost, double passes) const {
    const double n = rows_ / sequence_parts() * width();
    if (job_.run.fused_norm) return vector(cost, n * 2 * kHalf * passes, passes);
    vector(cost, n * 34 * passes, 7 * passes);
  }

  // What a layer does beside products and attention; the backward's bytes are twice the forward's.
  void pointwise(Cost& cost, double passes) const {
    const MegatronModel& m = job_.model;
    const MegatronRun& r = job_.run;
    const double tp = static_cast<double>(r.tp);
    norm(cost, 2 * passes);
    const double inner = rows_ * static_cast<double>(m.hidden) / tp;
    if (!m.is_gated)
      vector(cost, inner * 2 * kHalf * passes, passes);
    else if (r.fused_swiglu)
      vector(cost, inner * 3 * kHalf * passes, passes);
    else  // silu and product apart
      vector(cost, inner * 5 * kHalf * passes, 2 * passes);
    const double rotated = rows_ * static_cast<double>(m.q_width() + m.kv_width()) / tp;
    if (r.fused_rope)
      vector(cost, rotated * 2 * kHalf * passes, 2 * passes);
    else  // two products, negate, concatenate, add, for q and for k
      vector(cost, rotated * 11 * kHalf * passes, 8 * passes);
    const double heads = rows_ * static_cast<double>(m.q_width() + 2 * m.kv_width()) / tp;
    vector(cost, heads * 2 * kHalf * passes, 2 * passes);  // cut and transposed
    vector(cost, rows_ / sequence_parts() * width() * 6 * kHalf * passes, 2 * passes);  // residual
  }

  Cost layer_forward() const {
    const MegatronModel& m = job_.model;
    const std::int64_t tp = job_.run.tp, gates = m.is_gated ? 2 : 1;
    Cost cost;
    pointwise(cost, 1);
    forward_product(cost, (m.q_width() + 2 * m.kv_width()) / tp, m.width);
    forward_product(cost, m.width, m.q_width() / tp);
    forward_product(cost, gates * m.hidden / tp, m.width);
    forward_product(cost, m.width, m.hidden / tp);
    attention(cost, false);
    cost.link += layer_link(false) + context_parallel();
    return cost;
  }

  Cost layer_backward() const {
    const MegatronModel& m = job_.model;
    const std::int64_t tp = job_.run.tp, gates = m.is_gated ? 2 : 1;
    Cost cost;
    pointwise(cost, 2);
    backward_products(cost, (m.q_width() + 2 * m.kv_width()) / tp, m.width);
    backward_products(cost, m.width, m.q_width() / tp);
    backward_products(cost, gates * m.hidden / tp, m.width);
    backward_products(cost, m.width, m.hidden / tp);
    attention(cost, true);
    cost.link += layer_link(true) + 2 * context_parallel();
    return cost;
  }

  // Of rows × width in 16 bits over the tensor-parallel group.
  double tensor_parallel(OpKind kind) const {
    const double bytes = rows_ * width() * kHalf;
    return static_cast<double>(collective_time_ns(kind, links_, static_cast<std::uint64_t>(bytes),
                                                  static_cast<int>(job_.run.tp))) +
           buffer_copies(kind, bytes);
  }

  // Libraries that move data through buffers of their own copy the whole vector into them before a
  // reduction, and out of them after a gathering.
  double buffer_copies(OpKind kind, double bytes) const {
    if (!machine_.copies_through_buffers) return 0;
    Cost cost;
    const double passes = kind == OpKind::kAllReduce ? 2 : 1;
    vector(cost, passes * 2 * bytes, passes);
    return cost.vector;
  }

  // With sequence parallelism 2 gathers + 2 scatters forward, 4 + 2 backward; without, 2 + 2
  // reductions. mc2 hides a share of all of them.
  double layer_link(bool backward) const {
    const MegatronRun& r = job_.run;
    if (r.tp == 1) return 0;
    const double gather = tensor_parallel(OpKind::kAllGather);
    const double scatter = tensor_parallel(OpKind::kReduceScatter);
    double all = 2 * tensor_parallel(OpKind::kAllReduce), asynchronous = backward ? all : 0;
    if (r.sequence_parallel) {
      all = backward ? 4 * gather + 2 * scatter : 2 * gather + 2 * scatter;
      asynchronous = backward ? 2 * gather + 2 * scatter : 0;
    }
    const double may_hide = r.mc2 ? all : machine_.hides_backward ? asynchronous : 0;
    return all - machine_.hidden_share * may_hide;
  }

  // Keys and values go round the ring of cp cards, beside the attention of the part that came.
  double context_parallel() const {
    const MegatronRun& r = job_.run;
    if (r.cp == 1) return 0;
    const double bytes =
        rows_ * 2 * static_cast<double>(job_.model.kv_width()) / static_cast<double>(r.tp) * kHalf;
    const double step = machine_.links.latency.value + bytes / machine_.links.bandwidth.value;
    return static_cast<double>(r.cp - 1) * step * (1 - machine_.hidden_share);
  }

  const MegatronJob& job_;
  const MegatronMachine& machine_;
  LinkModel links_;
  int cards_per_node_;
  double rows_;  // of one micro-batch on a card
  DType dtype_;
};

// Weights of the fullest stage that one card holds.
double weights_on_card(const MegatronJob& job) {
  const MegatronModel& m = job.model;
  const double layers = static_cast<double>(m.layers / job.run.pp * m.layer_weights());
  const double tables =
      static_cast<double>(m.vocab * m.width) * (job.run.pp == 1 && !m.is_tied ? 2 : 1);
  return (layers + tables) / static_cast<double>(job.run.tp);
}

Result<int> cards_per_node(const MegatronJob& job, const MegatronMachine& machine) {
  const MegatronRun& r = job.run;
  const std::int64_t most = machine.links.devices.whole();
  const std::int64_t nodes = r.nodes.value_or((r.ranks + most - 1) / most);
  if (nodes < 1 || r.ranks % nodes != 0 || r.ranks / nodes > most)
    return bad_input(
        fmt::format("{} ranks do not fill {} nodes of up to {} evenly", r.ranks, nodes, most));
  if (nodes > 1 && !machine.between_nodes)
    return bad_input(
        fmt::format("{} ranks need {} nodes, but the device has no network between "
                    "nodes; ask for at most {} ranks",
                    r.ranks, nodes, most));
  if (r.ranks / nodes % r.tp != 0)
    return bad_input(
        fmt::format("tp {} does not divide the {} cards of a node", r.tp, r.ranks / nodes));
  return static_cast<int>(r.ranks / nodes);
}

}  // namespace

MegatronMachine megatron_machine(const DeviceProfile& profile,
                                 const std::optional<NodeLinkProfile>& between_nodes) {
  MegatronMachine machine;
  machine.kernel_ns = [&profile](const Kernel& kernel) {
    return static_cast<double>(kernel_cost(kernel, profile).time_ns);
  };
  machine.links = profile.links;
  machine.between_nodes = between_nodes;
  machine.host_dispatch_ns = profile.launch.host_dispatch.value;
  machine.hidden_share = profile.links.hidden_share ? profile.links.hidden_share->value : 0;
  machine.hides_backward = profile.identity.kind == "gpu";
  machine.copies_through_buffers = profile.links.library.value == "hccl";
  return machine;
}

Result<MegatronStep> megatron_step(const MegatronJob& job, const MegatronMachine& machine) {
  NB_TRY_VOID(check_job(job));
  NB_TRY(const int per_node, cards_per_node(job, machine));
  const MegatronRun& r = job.run;
  const Pricer pricer(job, machine, per_node);
  const Cost layers = pricer.layer().times(static_cast<double>(job.model.layers / r.pp));
  std::vector<Cost> stages(static_cast<std::size_t>(r.pp), layers);
  stages.front() += pricer.embedding();
  stages.back() += pricer.head();
  const double copies = pricer.send_and_receive();
  MegatronStep step;
  for (const Cost& cost : stages) {
    const double device_ns = cost.device_ns() + copies;
    const double host_ns = std::max(0.0, cost.launches * machine.host_dispatch_ns - device_ns);
    step.stages.push_back({cost.product, cost.attention, cost.vector, cost.link + copies, host_ns});
  }
  double sum_ns = 0;
  for (const MegatronStage& stage : step.stages) sum_ns += stage.total_ns();
  const MegatronStage& slowest =
      *std::ranges::max_element(step.stages, {}, &MegatronStage::total_ns);
  const double slowest_ns = slowest.total_ns();
  const auto m = static_cast<double>(r.micro_batches());
  step.bubble_ns = (sum_ns - slowest_ns) / static_cast<double>(r.vpp);
  step.product_ns = m * slowest.product_ns;
  step.attention_ns = m * slowest.attention_ns;
  step.vector_ns = m * slowest.vector_ns;
  step.communication_ns = m * slowest.communication_ns;
  step.host_ns = m * slowest.host_ns;
  const double weights = weights_on_card(job);
  step.data_parallel_ns = pricer.data_parallel(weights);
  step.optimizer_ns = pricer.optimizer(weights);
  step.step_ns = m * slowest_ns + step.bubble_ns + step.data_parallel_ns + step.optimizer_ns;
  step.rate_tok_s_card = job.tokens_per_step() / static_cast<double>(r.ranks) / step.step_ns * 1e9;
  return step;
}

}  // namespace nb
