// OpenAI's protocol as two harnesses and vLLM's users know it, and what watches a server.
#pragma once

#include <string_view>

#include "harness/http/server.hpp"

namespace nb {

class Service;

HttpResponse serve_models(Service& service, const HttpRequest& request, const HttpPeer& peer);
// One of them: its id stands behind kModelPath.
inline constexpr std::string_view kModelPath = "/v1/models/";
HttpResponse serve_model(Service& service, const HttpRequest& request, const HttpPeer& peer);
HttpResponse serve_completions(Service& service, const HttpRequest& request, const HttpPeer& peer);
HttpResponse serve_chat_completions(Service& service, const HttpRequest& request,
                                    const HttpPeer& peer);
// {"prompt" or "messages", "add_special_tokens"} -> {"tokens", "count", "max_model_len"}
HttpResponse serve_tokenize(Service& service, const HttpRequest& request, const HttpPeer& peer);
// {"tokens"} -> {"prompt"}
HttpResponse serve_detokenize(Service& service, const HttpRequest& request, const HttpPeer& peer);
// What lm-evaluation-harness asks of a remote tokenizer.
HttpResponse serve_tokenizer_info(Service& service, const HttpRequest& request,
                                  const HttpPeer& peer);
HttpResponse serve_version(Service& service, const HttpRequest& request, const HttpPeer& peer);
// Prometheus' text form.
HttpResponse serve_metrics(Service& service, const HttpRequest& request, const HttpPeer& peer);

}  // namespace nb
