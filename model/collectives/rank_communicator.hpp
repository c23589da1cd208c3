// One rank's end of a group of a World: what it does with the values when all have met. Not for
// other folders. A communicator belongs to one rank's thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "model/collectives/communicator.hpp"
#include "model/collectives/meeting.hpp"
#include "model/collectives/ring_order.hpp"

namespace nb {

// What the ranks of one run share.
struct WorldShared {
  Meeting meeting;
  std::uint64_t seed;
  double link_slowdown;
};

// Lets a rank's device take the time of a collective that began at start_ns; count: of the whole
// vector. One rank: none.
void charge_collective(Device& device, int ranks, double link_slowdown, OpKind kind,
                       std::int64_t count, DType dtype, std::string_view label,
                       std::int64_t start_ns);

// place.pieces[r], and of an all-reduce piece r of its values, is written by member r between two
// rendezvous and read by the others after the second.
class RankCommunicator : public Communicator {
 public:
  // parent: whose group it is; null: of all ranks.
  RankCommunicator(Device* device, int member, WorldShared* shared, Meeting::Place* place,
                   const Communicator* parent = nullptr);

  void all_reduce(CollectiveBuffer x, Reduce op, std::string_view label) override;
  void reduce_scatter(CollectiveBuffer input, CollectiveBuffer output, Reduce op,
                      std::string_view label) override;
  void all_gather(CollectiveBuffer input, CollectiveBuffer output, std::string_view label) override;
  void broadcast(CollectiveBuffer x, int root, std::string_view label) override;
  void all_to_all(CollectiveBuffer input, CollectiveBuffer output, std::string_view label) override;
  void barrier(std::string_view label) override;
  void transfer(std::span<const Transfer> transfers, std::string_view label) override;
  std::unique_ptr<Communicator> split(std::span<const std::vector<int>> groups,
                                      std::string_view name) override;

 protected:
  // The rank's clock, which is elsewhere where the rank is (remote_ranks.cpp).
  virtual std::int64_t ready_ns() const { return device().collective_ready_ns(); }
  virtual void charge(OpKind kind, std::int64_t count, DType dtype, std::string_view label,
                      std::int64_t start_ns);
  virtual std::unique_ptr<Communicator> group(int member, Meeting::Place& place);
  WorldShared& shared() const { return *shared_; }

 private:
  std::vector<float>& pieces(int member) {
    return place_->pieces[static_cast<std::size_t>(member)];
  }
  void wait_all() { shared_->meeting.wait_all(*place_, rank()); }
  void hand_out(const CollectiveCall& call);
  CollectiveCall begin(OpKind kind, const CollectiveBuffer& input, const CollectiveBuffer& output,
                       std::int64_t count, Reduce op, int root, std::string_view label);
  void reduce_piece(const CollectiveCall& call, const Piece& piece, std::span<float> sum);
  void end(const CollectiveCall& call);

  WorldShared* shared_;
  Meeting::Place* place_;
};

}  // namespace nb
