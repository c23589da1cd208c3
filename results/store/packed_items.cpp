// An item: a byte of flags, then its fields in the order of pack(). A number has 7 bits a byte, the
// lowest first. A text is its length and its bytes; digits of a hash are packed two per byte. Equal
// texts have equal bytes.
#include "results/store/packed_items.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string>

#include "harness/base/check.hpp"

namespace nb {
namespace {

constexpr std::size_t kBlockBytes = std::size_t{256} << 10;
constexpr std::size_t kUsualBytes = 256;
constexpr std::size_t kLeastDigits = 8;  // shorter texts are not worth it

enum Flag : unsigned char {
  kOk = 1,
  kHasLogProbs = 2,
  kHasReason = 4,
  kHasValue = 8,
  kHasSamples = 16,
  kHasMore = 32,  // cut tokens, texts or a loss: of items of ours alone
};

constexpr std::array<signed char, 256> kDigits = [] {
  std::array<signed char, 256> digits{};
  digits.fill(-1);
  for (int i = 0; i < 10; ++i)
    digits[static_cast<std::size_t>('0' + i)] = static_cast<signed char>(i);
  for (int i = 0; i < 6; ++i)
    digits[static_cast<std::size_t>('a' + i)] = static_cast<signed char>(10 + i);
  return digits;
}();
signed char digit_of(char c) { return kDigits[static_cast<unsigned char>(c)]; }

bool is_hash(std::string_view text) {
  return text.size() >= kLeastDigits && text.size() % 2 == 0 &&
         std::all_of(text.begin(), text.end(), [](char c) { return digit_of(c) >= 0; });
}

void put_number(std::string& to, std::uint64_t number) {
  for (; number >= 0x80; number >>= 7) to += static_cast<char>(0x80 | (number & 0x7F));
  to += static_cast<char>(number);
}

template <class T>
void put_raw(std::string& to, const T* values, std::size_t count) {
  to.append(reinterpret_cast<const char*>(values), count * sizeof(T));
}

void put_text(std::string& to, std::string_view text) {
  put_number(to, text.size());
  to += text;
}

// Twice the length, and one more where the digits are packed.
void put_hash(std::string& to, std::string_view text) {
  const bool packs = is_hash(text);
  put_number(to, 2 * text.size() + (packs ? 1 : 0));
  if (!packs) {
    to += text;
    return;
  }
  for (std::size_t i = 0; i < text.size(); i += 2)
    to += static_cast<char>(16 * digit_of(text[i]) + digit_of(text[i + 1]));
}

std::uint64_t get_number(const char*& at) {
  std::uint64_t number = 0;
  for (int shift = 0;; shift += 7) {
    const auto byte = static_cast<unsigned char>(*at++);
    number |= std::uint64_t{byte & 0x7Fu} << shift;
    if (byte < 0x80) return number;
  }
}

template <class T>
void get_raw(const char*& at, T* values, std::size_t count) {
  if (count > 0) std::memcpy(values, at, count * sizeof(T));
  at += count * sizeof(T);
}

std::string_view get_text(const char*& at) {
  const std::size_t size = get_number(at);
  at += size;
  return {at - size, size};
}

void get_hash(const char*& at, std::string& into) {
  const std::uint64_t head = get_number(at);
  const std::size_t size = head / 2;
  if (head % 2 == 0) {
    into.assign(at, size);
    at += size;
    return;
  }
  into.resize(size);
  for (std::size_t i = 0; i < size; i += 2) {
    const auto byte = static_cast<unsigned char>(*at++);
    into[i] = "0123456789abcdef"[byte / 16];
    into[i + 1] = "0123456789abcdef"[byte % 16];
  }
}

// The whole of a hash as it is packed; empty: it is an empty text.
std::string_view hash_key(const char*& at) {
  const char* begin = at;
  const std::uint64_t head = get_number(at);
  at += head % 2 == 0 ? head / 2 : head / 4;
  return head == 0 ? std::string_view()
                   : std::string_view(begin, static_cast<std::size_t>(at - begin));
}

std::string pack(const ItemRecord& item) {
  std::string to;
  to.reserve(kUsualBytes);
  const bool has_more = item.cut_tokens != 0 || !item.texts.empty() || item.loss;
  to += static_cast<char>((item.ok ? kOk : 0) | (item.log_probs.empty() ? 0 : kHasLogProbs) |
                          (item.reason.empty() ? 0 : kHasReason) | (item.value ? kHasValue : 0) |
                          (item.sample_ok.empty() ? 0 : kHasSamples) | (has_more ? kHasMore : 0));
  put_text(to, item.source_id);
  put_hash(to, item.id);
  put_hash(to, item.doc_hash);
  put_hash(to, item.prompt_hash);
  put_text(to, item.prediction);
  put_text(to, item.gold);
  if (!item.log_probs.empty()) {
    put_number(to, item.log_probs.size());
    put_raw(to, item.log_probs.data(), item.log_probs.size());
  }
  if (!item.reason.empty()) put_text(to, item.reason);
  if (item.value) put_raw(to, &*item.value, 1);
  if (!item.sample_ok.empty()) {
    put_number(to, item.sample_ok.size());
    for (const int ok : item.sample_ok) to += static_cast<char>(ok);
  }
  if (!has_more) return to;
  put_raw(to, &item.cut_tokens, 1);
  put_number(to, item.texts.size());
  for (const std::string& text : item.texts) put_text(to, text);
  put_number(to, item.loss ? 1 : 0);
  if (item.loss) {
    put_raw(to, &item.loss->nats, 1);
    put_raw(to, &item.loss->tokens, 1);
    put_raw(to, &item.loss->bytes, 1);
  }
  return to;
}

}  // namespace

PackedItems::PackedItems(const std::vector<ItemRecord>& items) {
  for (const ItemRecord& item : items) push_back(item);
}

void PackedItems::push_back(const ItemRecord& item) {
  const std::string packed = pack(item);
  // A block that a copy holds too is not written to any more: both would write to its end.
  if (blocks_.empty() || blocks_.back().size - blocks_.back().filled < packed.size() ||
      blocks_.back().bytes.use_count() > 1) {
    Block block;
    block.size = std::max(kBlockBytes, packed.size());
    block.bytes = std::shared_ptr<char[]>(new char[block.size]);
    blocks_.push_back(std::move(block));
  }
  Block& block = blocks_.back();
  char* place = block.bytes.get() + block.filled;
  std::memcpy(place, packed.data(), packed.size());
  block.filled += packed.size();
  items_.push_back(place);
}

ItemRecord PackedItems::operator[](std::size_t i) const {
  ItemRecord item;
  read(i, item);
  return item;
}

void PackedItems::read(std::size_t i, ItemRecord& into) const {
  NB_CHECK(i < items_.size(), "[items] item {} of {}", i, items_.size());
  const char* at = items_[i];
  const auto flags = static_cast<unsigned char>(*at++);
  into.ok = (flags & kOk) != 0;
  into.source_id.assign(get_text(at));
  get_hash(at, into.id);
  get_hash(at, into.doc_hash);
  get_hash(at, into.prompt_hash);
  into.prediction.assign(get_text(at));
  into.gold.assign(get_text(at));
  into.log_probs.resize((flags & kHasLogProbs) != 0 ? get_number(at) : 0);
  get_raw(at, into.log_probs.data(), into.log_probs.size());
  into.reason.assign((flags & kHasReason) != 0 ? get_text(at) : std::string_view());
  into.value.reset();
  if ((flags & kHasValue) != 0) get_raw(at, &into.value.emplace(), 1);
  into.sample_ok.resize((flags & kHasSamples) != 0 ? get_number(at) : 0);
  for (int& ok : into.sample_ok) ok = *at++;
  into.cut_tokens = 0;
  into.texts.clear();
  into.loss.reset();
  if ((flags & kHasMore) == 0) return;
  get_raw(at, &into.cut_tokens, 1);
  into.texts.resize(get_number(at));
  for (std::string& text : into.texts) text.assign(get_text(at));
  if (get_number(at) == 0) return;
  TextLoss& loss = into.loss.emplace();
  get_raw(at, &loss.nats, 1);
  get_raw(at, &loss.tokens, 1);
  get_raw(at, &loss.bytes, 1);
}

std::string_view PackedItems::source_id(std::size_t i) const {
  const char* at = items_[i] + 1;
  return get_text(at);
}

std::string_view PackedItems::id_key(std::size_t i) const {
  const char* at = items_[i] + 1;
  get_text(at);
  return hash_key(at);
}

std::string_view PackedItems::doc_key(std::size_t i) const {
  const char* at = items_[i] + 1;
  get_text(at);
  hash_key(at);
  return hash_key(at);
}

bool PackedItems::operator==(const PackedItems& other) const {
  if (size() != other.size()) return false;
  for (std::size_t i = 0; i < size(); ++i)
    if (!((*this)[i] == other[i])) return false;
  return true;
}

}  // namespace nb
