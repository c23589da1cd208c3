// A server as `npubench eval --server` names it, asked who it is and ready to be asked for items.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "harness/base/result.hpp"
#include "harness/remote/connection.hpp"
#include "harness/remote/remote_language_model.hpp"
#include "harness/remote/served_tokenizer.hpp"
#include "harness/remote/server_facts.hpp"
#include "harness/remote/wire.hpp"
#include "model/tokenizer/tokenizer.hpp"

namespace nb {

struct ServerChoice {
  std::string url;      // "http://gpu:8000/v1"; empty: none
  std::string model;    // its id; empty: the only one
  std::string key_env;  // environment variable that holds the key; empty: no key
  std::string ca_file;  // authorities for TLS; empty: the system's
  std::string method = "auto";
  std::string chat = "here";  // or "server": whose template makes prompts of conversations
  int concurrency = 16;
  int tries = 6;
  double timeout_seconds = 60;
  std::int64_t context = 0;  // where the server does not say its own; 0: it must
  std::string world;         // folder of the training whose generated world is asked about
};

// The server's own tokenizer: `--tokenizer server`. Errors as ServedTokenizer::open()'s, and what
// is wrong with the choice.
Result<std::shared_ptr<const ServedTokenizer>> open_served_tokenizer(const ServerChoice& choice);

struct RemoteServer {
  Connection connection;
  Wire wire;
  ServerFacts facts;
};

// Asks the probes. Errors as probe_server()'s, and what is wrong with the choice. served: what
// `tokenizer` stands on, where the server encodes.
Result<std::unique_ptr<RemoteServer>> open_server(const ServerChoice& choice,
                                                  const Tokenizer& tokenizer,
                                                  const ServedTokenizer* served = nullptr);

// "Qwen2-7B" of "Qwen/Qwen2-7B" and "/models/Qwen2-7B/": what two servers of one model agree on.
std::string short_model_name(const std::string& id);

}  // namespace nb
