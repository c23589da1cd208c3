// A communicator that is there before and after its ranks meet: what outlives a step (an optimizer)
// holds it, and a step lends it the one of its World. Its rank, size and device are fixed. Outside
// of a step every call is an error (NB_CHECK).
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "harness/base/check.hpp"
#include "model/collectives/communicator.hpp"

namespace nb {

class LentCommunicator final : public Communicator {
 public:
  LentCommunicator(Device& device, int rank, int size) : Communicator(&device, rank, size) {}

  // null: taken back. The same rank and size.
  void lend(Communicator* world) {
    NB_CHECK(world == nullptr || (world->rank() == rank() && world->size() == size()),
             "[lent] rank {} of {} gets that of another", rank(), size());
    world_ = world;
  }

  void all_reduce(CollectiveBuffer x, Reduce op, std::string_view label) override {
    world().all_reduce(x, op, label);
  }
  void reduce_scatter(CollectiveBuffer input, CollectiveBuffer output, Reduce op,
                      std::string_view label) override {
    world().reduce_scatter(input, output, op, label);
  }
  void all_gather(CollectiveBuffer input, CollectiveBuffer output,
                  std::string_view label) override {
    world().all_gather(input, output, label);
  }
  void broadcast(CollectiveBuffer x, int root, std::string_view label) override {
    world().broadcast(x, root, label);
  }
  void all_to_all(CollectiveBuffer input, CollectiveBuffer output,
                  std::string_view label) override {
    world().all_to_all(input, output, label);
  }
  void barrier(std::string_view label) override { world().barrier(label); }
  void transfer(std::span<const Transfer> transfers, std::string_view label) override {
    world().transfer(transfers, label);
  }
  std::unique_ptr<Communicator> split(std::span<const std::vector<int>> groups,
                                      std::string_view name) override {
    return world().split(groups, name);
  }

 private:
  Communicator& world() const {
    NB_CHECK(world_ != nullptr, "[lent] rank {} of {} is in no step", rank(), size());
    return *world_;
  }
  Communicator* world_ = nullptr;
};

}  // namespace nb
