// A parsed request for a completion, asked of an engine and written as OpenAI's answer: whole, or
// as a stream of server-sent events.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "harness/http/server.hpp"
#include "harness/serve/completion_request.hpp"
#include "harness/serve/engine.hpp"

namespace nb {

// A model that is served.
struct Served {
  std::string id;      // what clients call it
  std::string device;  // profile of the emulated device; empty: none
  LanguageModel* model = nullptr;
  Engine* engine = nullptr;
  std::int64_t created = 0;  // seconds since 1970
  // How the device computes: "matmul inputs" → "bf16, round to nearest even".
  std::map<std::string, std::string> numerics = {};
};

// The response to a request that was parsed; `id` names the answer.
HttpResponse complete(CompletionRequest request, const Served& served, const HttpPeer& peer,
                      const std::string& id);

HttpResponse json_response(const Json& json, int status = 200);
HttpResponse error_response(const ApiError& error);
// What an engine could not do.
ApiError server_error(const Error& error);

}  // namespace nb
