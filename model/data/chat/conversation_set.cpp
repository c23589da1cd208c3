#include "model/data/chat/conversation_set.hpp"

#include <fmt/core.h>

#include "harness/base/hash.hpp"
#include "harness/base/parallel.hpp"

namespace nb {
namespace {

constexpr std::size_t kConversationsATask = 64;  // conversations a task

// Four bytes per token, the lowest first: the same on every host.
void update(Sha256& hash, const RenderedConversation& one) {
  std::string bytes;
  bytes.reserve(4 * one.ids.size());
  for (std::size_t i = 0; i < one.ids.size(); ++i) {
    const auto word = static_cast<std::uint32_t>(one.ids[i]) << 1 | one.mask[i];
    for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(word >> shift & 0xff);
  }
  hash.update(fmt::format("{}:", one.ids.size()));
  hash.update(bytes);
}

}  // namespace

std::string digest_of(std::span<const RenderedConversation> conversations) {
  Sha256 hash;
  for (const RenderedConversation& one : conversations) update(hash, one);
  return hash.hex();
}

Result<ConversationSet> render_conversations(const Tokenizer& tokenizer,
                                             std::span<const Conversation> conversations,
                                             std::size_t max_tokens, const std::string& where) {
  if (conversations.empty()) return bad_input(where + ": no conversation in it");
  std::vector<std::string> faults(conversations.size());
  ConversationSet set;
  set.rendered.resize(conversations.size());
  parallel_for(conversations.size(), kConversationsATask, [&](std::size_t i) {
    auto one = render_conversation(tokenizer, conversations[i], max_tokens);
    if (!one)
      faults[i] = one.error().message;
    else
      set.rendered[i] = std::move(*one);
  });
  for (std::size_t i = 0; i < conversations.size(); ++i) {
    if (!faults[i].empty())
      return bad_input(fmt::format("{}: conversation {}: {}", where, i + 1, faults[i]));
    set.tokens += set.rendered[i].ids.size();
  }
  set.sha256 = digest_of(set.rendered);
  return set;
}

}  // namespace nb
