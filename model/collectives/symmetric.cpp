#include <algorithm>

#include "harness/base/check.hpp"
#include "model/collectives/communicator.hpp"
#include "model/collectives/cost.hpp"

namespace nb {
namespace {

// Every rank would be ready at the same simulated time, so the own clock is all that is needed.
class SymmetricCommunicator final : public Communicator {
 public:
  // parent: whose group it is; null: of all ranks.
  SymmetricCommunicator(Device& device, int size, int nodes,
                        const std::optional<NodeLinkProfile>& between_nodes,
                        const Communicator* parent = nullptr)
      : Communicator(&device, 0, size),
        layout_{nodes, size / nodes},
        model_(link_model(device.profile().links, between_nodes)) {
    if (parent != nullptr) count_with(*parent);
  }

  void all_reduce(CollectiveBuffer x, Reduce, std::string_view label) override {
    charge(OpKind::kAllReduce, x.count, x.dtype, label);
  }
  void reduce_scatter(CollectiveBuffer input, CollectiveBuffer output, Reduce,
                      std::string_view label) override {
    NB_CHECK(output.count * size() == input.count && input.dtype == output.dtype,
             "[reduce_scatter] {}: {} of {} elements on {} ranks", label, output.count, input.count,
             size());
    copy(input, output);
    charge(OpKind::kReduceScatter, input.count, input.dtype, label);
  }
  void all_gather(CollectiveBuffer input, CollectiveBuffer output,
                  std::string_view label) override {
    NB_CHECK(input.count * size() == output.count && input.dtype == output.dtype,
             "[all_gather] {}: {} into {} elements on {} ranks", label, input.count, output.count,
             size());
    copy(input, output);
    charge(OpKind::kAllGather, output.count, output.dtype, label);
  }
  void broadcast(CollectiveBuffer x, int root, std::string_view label) override {
    NB_CHECK(root >= 0 && root < size(), "[broadcast] {}: root {} of {} ranks", label, root,
             size());
    charge(OpKind::kBroadcast, x.count, x.dtype, label);
  }
  void all_to_all(CollectiveBuffer input, CollectiveBuffer output,
                  std::string_view label) override {
    NB_CHECK(
        input.count == output.count && input.count % size() == 0 && input.dtype == output.dtype,
        "[all_to_all] {}: {} into {} elements on {} ranks", label, input.count, output.count,
        size());
    copy(input, output);
    charge(OpKind::kAllToAll, input.count, input.dtype, label);
  }
  void transfer(std::span<const Transfer> transfers, std::string_view label) override {
    for (const Transfer& one : transfers) {
      NB_CHECK(one.peer >= 0 && one.peer < size(), "[transfer] {}: rank {} of {}", label, one.peer,
               size());
      charge(OpKind::kSendReceive, one.buffer.count, one.buffer.dtype, label, one.sends);
    }
  }
  // Of groups of one size this rank is in the first; its card stands in one node with the others.
  std::unique_ptr<Communicator> split(std::span<const std::vector<int>> groups,
                                      std::string_view name) override {
    NB_CHECK(!groups.empty() && layout_.nodes == 1, "[split] {}: {} groups on {} nodes", name,
             groups.size(), layout_.nodes);
    for (const std::vector<int>& group : groups)
      NB_CHECK(group.size() == groups.front().size(),
               "[split] {}: groups of {} and {} ranks are not alike", name, group.size(),
               groups.front().size());
    return std::make_unique<SymmetricCommunicator>(
        device(), static_cast<int>(groups.front().size()), 1, std::nullopt, this);
  }
  void barrier(std::string_view label) override {
    charge(OpKind::kBarrier, 0, DType::kFp32, label);
  }

 private:
  // One rank only: what is scattered or gathered is the whole.
  static void copy(const CollectiveBuffer& input, const CollectiveBuffer& output) {
    if (input.values.empty() || input.values.data() == output.values.data()) return;
    std::copy(input.values.begin(), input.values.end(), output.values.begin());
  }

  void charge(OpKind kind, std::int64_t count, DType dtype, std::string_view label,
              bool sends = true) {
    if (size() == 1) return;
    const std::uint64_t size_bytes = static_cast<std::uint64_t>(count) * storage_bytes(dtype);
    if (sends) count_sent(kind, size_bytes);
    const std::int64_t time_ns = collective_time_ns(kind, model_, size_bytes, layout_);
    OpDesc desc;
    desc.kind = kind;
    desc.label = label;
    desc.count = count;
    desc.dtype = dtype;
    if (runs_beside()) {
      end_ns_ = device().run_collective_beside(desc, time_ns, size_bytes);
      return;
    }
    device().run_collective(desc, device().collective_ready_ns(), time_ns, size_bytes);
  }

  std::int64_t last_end_ns() const override { return end_ns_; }

  std::int64_t end_ns_ = 0;
  RankLayout layout_;
  LinkModel model_;
};

}  // namespace

void Communicator::count_sent(OpKind kind, std::uint64_t size_bytes) {
  if (const double sent = sent_bytes_of(kind, size_bytes, size_); sent > 0)
    (*sent_)[std::string(name(kind))] += sent;
}

std::unique_ptr<Communicator> symmetric_communicator(
    Device& device, int size, int nodes, const std::optional<NodeLinkProfile>& between_nodes) {
  NB_CHECK(size >= 1 && nodes >= 1 && size % nodes == 0, "[collectives] {} ranks on {} nodes", size,
           nodes);
  NB_CHECK(size == 1 || !device.executes(),
           "[collectives] one rank cannot stand for {} on a device that executes", size);
  return std::make_unique<SymmetricCommunicator>(device, size, nodes, between_nodes);
}

}  // namespace nb
