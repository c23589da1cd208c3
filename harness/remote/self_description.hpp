// What a server says of itself beside its answers: how its engine computes, and what its chat
// template makes of messages. Nothing here ends an evaluation but a server that is gone.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>

#include "harness/base/result.hpp"
#include "harness/remote/connection.hpp"
#include "harness/remote/server_facts.hpp"
#include "harness/remote/wire.hpp"

namespace nb {

// "dtype" → "bfloat16": members of the document that an engine of this kind has of its settings;
// none: it has no such document.
Result<std::map<std::string, std::string>> ask_engine(Connection& connection,
                                                      const std::string& kind);

// The conversation that every server's template is asked about: three messages.
Json template_messages();
// By ids, else by the text, else by how many tokens an answer to it counts.
Result<ChatTemplate> ask_template(Connection& connection, const Wire& wire);

// The largest power of two, at least 2^-12, that all differences of two logits at one place of a
// prompt are multiples of, as those of bf16 and fp16 are; 0: there is none; nothing: too few to
// tell.
std::optional<double> logit_step(std::span<const TokenScore> scores);

}  // namespace nb
