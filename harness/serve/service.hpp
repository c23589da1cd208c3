// Models behind one HTTP address: who may ask, which path is whose, what is said of what is not
// there. OpenAI's protocol is in openai.hpp, nanochat's page and its stream in chat_web.hpp.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "harness/http/server.hpp"
#include "harness/serve/completion.hpp"

namespace nb {

struct ServiceOptions {
  std::vector<std::string> keys;  // none: everybody may ask
  bool cors = false;              // pages of other origins may ask
  BosRule bos = BosRule::kAuto;
  std::string version;  // "0.1.0"
};

// Thread-safe.
class Service {
 public:
  // models: at least one; the first is asked where none is named, the second answers beside it on
  // the page. Their models and engines outlive this.
  Service(std::vector<Served> models, ServiceOptions options);

  HttpResponse handle(const HttpRequest& request, const HttpPeer& peer);
  // What the server itself refuses.
  HttpResponse refuse(int status, std::string_view message, std::string_view path) const;

  // For the routes.
  const std::vector<Served>& models() const { return models_; }
  const ServiceOptions& options() const { return options_; }
  ServedLimits limits_of(const Served& served) const;
  // By id; empty: the first. 404 lists what there is.
  tl::expected<const Served*, ApiError> find(const std::string& id) const;
  std::string next_id(std::string_view prefix);  // "cmpl-1f"
  // Of the server that this is behind; none: zeros.
  void watch(const HttpServer* server) { server_ = server; }
  HttpServer::Counts connections() const;

 private:
  bool may_ask(const HttpRequest& request) const;

  std::vector<Served> models_;
  ServiceOptions options_;
  std::atomic<std::uint64_t> answers_ = 0;
  std::atomic<const HttpServer*> server_ = nullptr;
};

// Takes as long whatever the texts have in common.
bool same_key(std::string_view given, std::string_view key);

}  // namespace nb
