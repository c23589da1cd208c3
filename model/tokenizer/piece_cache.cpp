#include "model/tokenizer/piece_cache.hpp"

namespace nb {
namespace {

constexpr std::size_t kCapacityBytes = std::size_t{1} << 20;
constexpr std::size_t kCapacityEntries = std::size_t{1} << 16;
constexpr std::size_t kLongestPiece = 64;

}  // namespace

PieceCache::PieceCache() { bytes_.reserve(kCapacityBytes); }

std::span<const int> PieceCache::find(std::string_view piece, std::uint64_t hash) const {
  const std::uint32_t index = map_.find(piece, hash);
  if (index == ByteMap::kNone) return {};
  const Entry& entry = entries_[index];
  return std::span(ids_).subspan(entry.begin, entry.count);
}

void PieceCache::insert(std::string_view piece, std::uint64_t hash, std::span<const int> ids) {
  if (piece.size() > kLongestPiece) return;
  if (bytes_.size() + piece.size() > kCapacityBytes || entries_.size() == kCapacityEntries) {
    map_.clear();
    bytes_.clear();
    ids_.clear();
    entries_.clear();
  }
  const std::size_t begin = bytes_.size();
  bytes_.insert(bytes_.end(), piece.begin(), piece.end());
  map_.insert({bytes_.data() + begin, piece.size()}, hash,
              static_cast<std::uint32_t>(entries_.size()));
  entries_.push_back(
      {static_cast<std::uint32_t>(ids_.size()), static_cast<std::uint32_t>(ids.size())});
  ids_.insert(ids_.end(), ids.begin(), ids.end());
}

}  // namespace nb
