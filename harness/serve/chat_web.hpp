// nanochat's chat web (scripts/chat_web.py): the page, its stream of tokens, its health and stats.
// The page is ours; the paths and bodies are those that its clients know.
#pragma once

#include "harness/http/server.hpp"

namespace nb {

class Service;

// One self-contained page.
HttpResponse serve_page(Service& service, const HttpRequest& request, const HttpPeer& peer);
HttpResponse serve_logo(Service& service, const HttpRequest& request, const HttpPeer& peer);
HttpResponse serve_health(Service& service, const HttpRequest& request, const HttpPeer& peer);
// Devices as nanochat's workers; what they did under "npubench".
HttpResponse serve_stats(Service& service, const HttpRequest& request, const HttpPeer& peer);
// Conversation in, server-sent events out: {"token": "Hi", "gpu": 0} for each piece of text, last
// {"done": true}. Limits as nanochat's, else 400 {"detail"}.
HttpResponse serve_chat_web(Service& service, const HttpRequest& request, const HttpPeer& peer);

}  // namespace nb
