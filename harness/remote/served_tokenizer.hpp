// A tokenizer that is the server's own: `--tokenizer server`. Texts are encoded by its POST
// /tokenize, each once, and ids decoded by its POST /detokenize. What both add by themselves is
// asked for before the first item, never assumed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "harness/base/result.hpp"
#include "harness/http/client.hpp"
#include "harness/remote/connection.hpp"
#include "harness/remote/wire.hpp"
#include "model/tokenizer/text_codec.hpp"

namespace nb {

class ServedTokenizer : public TextCodec {
 public:
  // model: its id; empty: the only one. Errors: find_model()'s; a server that lacks one of the two
  // paths, or answers with what is no token, in one sentence.
  static Result<std::shared_ptr<const ServedTokenizer>> open(const HttpUrl& base,
                                                             const ConnectionOptions& options,
                                                             const std::string& model);

  // Both throw ModelFailure.
  std::vector<std::vector<int>> encode(std::span<const std::string> texts) const override;
  std::string decode(std::span<const int> ids) const override;

  // hash: "server:" and a digest of the ids of the probes' texts and of <|bos|>. It is no digest of
  // a vocabulary, and equals none.
  const CodecFacts& facts() const { return facts_; }
  // Of the probes' texts but the last: how many are the same behind encode() and decode().
  int texts_that_come_back() const { return back_; }
  const std::vector<std::string>& notes() const { return notes_; }  // for people
  std::int64_t texts_asked() const;                                 // encoded by the server so far

  // Asks for a fixed text again. Error: it has other ids than at first.
  Result<void> check_same() const;

 private:
  ServedTokenizer(const HttpUrl& base, const ConnectionOptions& options);

  Result<void> look_at_encoding();
  Result<void> look_at_front(std::span<const std::vector<int>> encoded);
  Result<void> look_at_bos(const std::vector<int>& plain);
  Result<void> look_at_specials(const std::string& owner);
  Result<void> look_at_decoding();
  Result<Json> probed(RemoteCall call) const;

  Result<std::vector<int>> ids_in(const RemoteCall& call, const Json& answer,
                                  std::size_t text_bytes) const;
  Result<std::vector<int>> ask_ids(std::string_view text, bool marked, bool reads_names) const;
  Result<std::string> ask_text(std::span<const int> ids) const;
  const std::vector<int>& probe_ids(std::size_t text) const;
  std::vector<int> without_front(std::vector<int> ids) const;

  mutable Connection connection_;
  Wire wire_;
  CodecFacts facts_;
  int front_ = -1;  // the server's own, before every text although none is wanted; -1: none
  std::vector<int> anchor_;  // ids that stand before those to be decoded
  std::string anchor_text_;
  std::vector<int> canary_;
  int back_ = 0;
  std::vector<std::string> notes_;

  mutable std::mutex mutex_;  // of all below, and of the connection
  mutable std::unordered_map<std::string, std::vector<int>> ids_of_;  // by digest of the text
  mutable std::map<std::vector<int>, std::string> text_of_;
  mutable std::size_t kept_bytes_ = 0;
  mutable std::int64_t asked_ = 0;
};

}  // namespace nb
