// A small model behind the service, in this process: bytes as tokens, answers that depend on every
// weight (bits show), or that recite a text (texts show).
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "harness/http/server.hpp"
#include "harness/serve/service.hpp"
#include "model/engine/decoder_language_model.hpp"
#include "model/engine/incremental_language_model.hpp"
#include "tests/harness/http/raw_client.hpp"
#include "tests/model/engine/scripted_model.hpp"
#include "tests/model/engine/small_decoder.hpp"

namespace nb::test {

// A client that never hangs up.
struct Present : HttpPeer {
  bool is_gone() const override { return false; }
};

class ServedModel {
 public:
  // Owns what the model stands on.
  ServedModel(std::shared_ptr<void> parts, std::unique_ptr<LanguageModel> model,
              std::function<std::int64_t()> clock, ServiceOptions options = {},
              HttpServerOptions http = {})
      : parts_(std::move(parts)), model_(std::move(model)) {
    EngineOptions engine;
    engine.device_time_ns = std::move(clock);
    engine_ = std::make_unique<Engine>(*model_, std::move(engine));
    options.version = "0";
    service_ = std::make_unique<Service>(
        std::vector<Served>{{"tiny", "ascend_910b3", model_.get(), engine_.get(), 1}},
        std::move(options));
    auto server = HttpServer::start(
        http,
        [this](const HttpRequest& request, const HttpPeer& peer) {
          return service_->handle(request, peer);
        },
        [this](int status, std::string_view message, std::string_view path) {
          return service_->refuse(status, message, path);
        });
    EXPECT_TRUE(server.has_value());
    server_ = std::move(*server);
    service_->watch(server_.get());
  }

  int port() const { return server_->port(); }
  LanguageModel& model() { return *model_; }
  Engine& engine() { return *engine_; }
  HttpServer& server() { return *server_; }

  // Over HTTP.
  std::string post(std::string_view path, std::string_view body) const {
    return ask(port(), post_bytes(path, body));
  }
  Json posted(std::string_view path, const Json& body, int status = 200) const {
    const std::string response = post(path, body.dump());
    EXPECT_EQ(status_of(response), status) << response;
    return Json::parse(body_of(response), nullptr, false);
  }
  Json complete(const Json& body, int status = 200) const {
    return posted("/v1/completions", body, status);
  }
  std::string get(const std::string& path, const std::string& more = "") const {
    return ask(port(), "GET " + path + " HTTP/1.1\r\nHost: x\r\n" + more + "\r\n");
  }
  // Without a connection: for thousands of bodies.
  HttpResponse direct(std::string path, std::string body) const {
    HttpRequest request;
    request.method = "POST";
    request.path = std::move(path);
    request.body = std::move(body);
    static const Present present;  // lives until the response is written
    return service_->handle(request, present);
  }

 private:
  std::shared_ptr<void> parts_;
  std::unique_ptr<LanguageModel> model_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Service> service_;
  std::unique_ptr<HttpServer> server_;
};

inline std::unique_ptr<ServedModel> small_decoder(ServiceOptions options = {},
                                                  HttpServerOptions http = {}) {
  auto parts = std::make_shared<SmallDecoder>("ascend_910b3");
  auto model = std::make_unique<DecoderLanguageModel>(*parts->decoder, byte_tokenizer());
  auto clock = [device = &parts->device] { return device->time_ns(); };
  return std::make_unique<ServedModel>(parts, std::move(model), clock, std::move(options), http);
}

// Says `text` behind any prompt, then <|assistant_end|>; `delay`: of a token.
inline std::unique_ptr<ServedModel> reciter(const std::string& text, std::size_t prompt_size,
                                            std::chrono::milliseconds delay = {},
                                            ServiceOptions options = {},
                                            HttpServerOptions http = {}) {
  const int end = byte_tokenizer().special("<|assistant_end|>");
  auto parts =
      std::make_shared<ScriptedModel>(kByteVocab, 4000, [=](const std::vector<int>& sequence) {
        if (delay.count() > 0) std::this_thread::sleep_for(delay);
        const std::size_t said = sequence.size() - std::min(prompt_size, sequence.size());
        return said < text.size() ? static_cast<unsigned char>(text[said]) : end;
      });
  auto model = std::make_unique<IncrementalLanguageModel>(*parts, byte_tokenizer());
  return std::make_unique<ServedModel>(parts, std::move(model), nullptr, std::move(options), http);
}

// The JSON objects of a stream of server-sent events.
inline std::vector<Json> events_of(std::string_view response) {
  std::vector<Json> events;
  std::string text;  // chunks put together
  std::string_view rest = response.substr(response.find("\r\n\r\n") + 4);
  while (!rest.empty()) {
    const std::size_t line = rest.find("\r\n");
    if (line == std::string_view::npos) break;
    const std::size_t size = std::stoul(std::string(rest.substr(0, line)), nullptr, 16);
    text += rest.substr(line + 2, size);
    if (size == 0 || line + 4 + size > rest.size()) break;
    rest.remove_prefix(line + 4 + size);
  }
  for (std::size_t at = 0; (at = text.find("data: ", at)) != std::string::npos;) {
    const std::size_t end = text.find("\n\n", at);
    const std::string event = text.substr(at + 6, end - at - 6);
    events.push_back(event == "[DONE]" ? Json(event) : Json::parse(event));
    at = end;
  }
  return events;
}

}  // namespace nb::test
