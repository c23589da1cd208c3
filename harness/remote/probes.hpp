// Eight questions to a server before the first item, so that a number that is wrong for a reason of
// the protocol is never taken for one of the model. README.md tells what each finds.
#pragma once

#include <string>
#include <vector>

#include "harness/base/result.hpp"
#include "harness/remote/connection.hpp"
#include "harness/remote/served_tokenizer.hpp"
#include "harness/remote/server_facts.hpp"
#include "harness/remote/wire.hpp"
#include "model/tokenizer/tokenizer.hpp"

namespace nb {

// Errors end the evaluation before it began: no such model, another tokenizer, a second <|bos|>.
// What only takes a way of scoring away stands in the facts. wire.has_extras is set.
// model: its id; empty: the only one that the server has. by_chat: it is going to be asked by
// messages; probes of ids (P3, P4, P5, P7) are left out. served: what `tokenizer` stands on, where
// the server encodes; else null.
Result<ServerFacts> probe_server(Connection& connection, Wire& wire, const Tokenizer& tokenizer,
                                 const std::string& model, bool by_chat = false,
                                 const ServedTokenizer* served = nullptr);

// Scores of the tokens behind the first, by the facts' dialect.
Result<std::vector<TokenScore>> score_prompt(Connection& connection, const Wire& wire,
                                             Dialect dialect, std::span<const int> tokens,
                                             const Tokenizer& tokenizer, double temperature = 0);

// Asks the canary again. Error: another model answers now.
Result<void> check_canary(Connection& connection, const Wire& wire, const ServerFacts& facts,
                          const Tokenizer& tokenizer);

}  // namespace nb
