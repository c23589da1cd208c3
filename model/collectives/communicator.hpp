// Communicator: what one rank sees of the others. Real sums in a fixed order with simulated time on
// the rank's device. Implementations: World's ranks (world.hpp) and the symmetric rank of a dry run
// below. A communicator belongs to one rank's thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "model/device/device.hpp"
#include "model/device/node_links.hpp"
#include "model/tensor/dtype.hpp"

namespace nb {

enum class Reduce : std::uint8_t { kSum, kAverage, kMax };

// Values that take part in a collective. In dry mode there are none, only their number.
struct CollectiveBuffer {
  CollectiveBuffer(std::span<float> v, DType d)
      : values(v), count(static_cast<std::int64_t>(v.size())), dtype(d) {}
  CollectiveBuffer(std::int64_t n, DType d) : count(n), dtype(d) {}
  explicit CollectiveBuffer(Tensor& tensor)
      : values(tensor.host()), count(tensor.count()), dtype(tensor.dtype()) {}
  std::span<float> values;
  std::int64_t count = 0;
  DType dtype = DType::kFp32;  // type on the wire: inputs and every partial sum are rounded to it
};

// One end of a transfer: the other rank has one with the other direction, and the same count, type
// and tag.
struct Transfer {
  bool sends = false;
  int peer = 0;  // in the communicator
  CollectiveBuffer buffer;
  int tag = 0;
};

// A collective that cannot finish, thrown on every rank: what() names the first failing rank.
class CollectiveFailure : public std::runtime_error {
 public:
  CollectiveFailure(int rank, const std::string& text) : std::runtime_error(text), rank_(rank) {}
  int rank() const { return rank_; }  // the first failing rank, not the one that throws

 private:
  int rank_;
};

// Bytes that a rank sends, by kind of collective ("all_gather"), as in cost.hpp.
using SentBytes = std::map<std::string, double>;

class Communicator {
 public:
  virtual ~Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  int rank() const { return rank_; }
  int size() const { return size_; }
  Device& device() const { return *device_; }

  // In place on every rank. The order of the sum is numerics().reduction_order (see README).
  virtual void all_reduce(CollectiveBuffer x, Reduce op, std::string_view label) = 0;
  // Rank r gets piece r of the reduction: output.count × size() = input.count, else NB_CHECK fails.
  virtual void reduce_scatter(CollectiveBuffer input, CollectiveBuffer output, Reduce op,
                              std::string_view label) = 0;
  // Piece r of every output is rank r's input: input.count × size() = output.count. input may be
  // that piece.
  virtual void all_gather(CollectiveBuffer input, CollectiveBuffer output,
                          std::string_view label) = 0;
  virtual void broadcast(CollectiveBuffer x, int root, std::string_view label) = 0;
  // Piece r of rank s's input becomes piece s of rank r's output: both have the same count, a
  // multiple of size(). Not in place.
  virtual void all_to_all(CollectiveBuffer input, CollectiveBuffer output,
                          std::string_view label) = 0;
  virtual void barrier(std::string_view label) = 0;

  // Transfers that are posted together, as batch_isend_irecv does: returns when each has met its
  // counterpart and its values are there. Nothing is buffered: two ranks that both send first wait
  // for each other, which is a failure that names both.
  virtual void transfer(std::span<const Transfer> transfers, std::string_view label) = 0;
  void send(CollectiveBuffer x, int to, std::string_view label, int tag = 0) {
    const Transfer one{true, to, x, tag};
    transfer({&one, 1}, label);
  }
  void receive(CollectiveBuffer x, int from, std::string_view label, int tag = 0) {
    const Transfer one{false, from, x, tag};
    transfer({&one, 1}, label);
  }

  // Communicators of groups of these ranks. Every rank calls it, with the same groups and name; no
  // rank is in two of them. Ranks of a group count from 0 in its order. Null where this rank is in
  // none.
  virtual std::unique_ptr<Communicator> split(std::span<const std::vector<int>> groups,
                                              std::string_view name) = 0;

  // While a BesideScope lives, collectives of a dry rank run beside compute: later ops wait for one
  // only through device().wait_for(last_end_ns() as it was behind it). Executing ranks wait at
  // once.
  bool runs_beside() const { return runs_beside_; }
  virtual std::int64_t last_end_ns() const { return 0; }

  // By this rank so far, in this communicator, what it is a group of, and its groups.
  const SentBytes& sent_bytes() const { return *sent_; }

 protected:
  Communicator(Device* device, int rank, int size)
      : device_(device), rank_(rank), size_(size), sent_(std::make_shared<SentBytes>()) {}
  void count_sent(OpKind kind, std::uint64_t size_bytes);  // one collective of so many bytes
  void count_with(const Communicator& parent) { sent_ = parent.sent_; }

 private:
  Device* device_;
  int rank_;
  int size_;
  bool runs_beside_ = false;
  std::shared_ptr<SentBytes> sent_;
  friend class BesideScope;
};

class BesideScope {
 public:
  explicit BesideScope(Communicator& communicator) : communicator_(communicator) {
    communicator_.runs_beside_ = !communicator_.device().executes();
  }
  ~BesideScope() { communicator_.runs_beside_ = false; }
  BesideScope(const BesideScope&) = delete;
  BesideScope& operator=(const BesideScope&) = delete;

 private:
  Communicator& communicator_;
};

// One rank that stands for `nodes` × size / nodes equal ones: time and memory without data. size >
// 1 needs a dry device, and nodes a divisor of size; several nodes need
// between_nodes (NB_CHECK). With size 1 it is the communicator
// of a single card: nothing moves and nothing costs.
std::unique_ptr<Communicator> symmetric_communicator(
    Device& device, int size, int nodes = 1,
    const std::optional<NodeLinkProfile>& between_nodes = {});

}  // namespace nb
