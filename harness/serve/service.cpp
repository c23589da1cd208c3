#include "harness/serve/service.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "harness/base/hash.hpp"
#include "harness/serve/chat_web.hpp"
#include "harness/serve/openai.hpp"

namespace nb {
namespace {

using Route = HttpResponse (*)(Service&, const HttpRequest&, const HttpPeer&);

struct Row {
  std::string_view method, path;
  Route route;
  bool is_open = false;  // without a key
};
constexpr Row kRoutes[] = {
    {"GET", "/", serve_page, true},
    {"GET", "/logo.svg", serve_logo, true},
    {"GET", "/health", serve_health, true},
    {"GET", "/stats", serve_stats},
    {"POST", "/chat/completions", serve_chat_web},
    {"GET", "/v1/models", serve_models},
    {"GET", kModelPath, serve_model},
    {"POST", "/v1/completions", serve_completions},
    {"POST", "/v1/chat/completions", serve_chat_completions},
    {"POST", "/tokenize", serve_tokenize},
    {"POST", "/detokenize", serve_detokenize},
    {"GET", "/tokenizer_info", serve_tokenizer_info},
    {"GET", "/version", serve_version, true},
    {"GET", "/metrics", serve_metrics},
};

// A page of another origin that asks behind its visitor's back.
bool is_foreign(const HttpRequest& request) {
  const std::string_view origin = request.header("origin");
  if (origin.empty()) return false;
  const std::size_t host = origin.find("://");
  return host == std::string_view::npos || origin.substr(host + 3) != request.header("host");
}

ApiError plain(int status, std::string message, std::string code = "") {
  ApiError error;
  error.status = status;
  error.message = std::move(message);
  error.code = std::move(code);
  return error;
}

// nanochat's own path has FastAPI's errors.
HttpResponse refusal(const ApiError& error, std::string_view path) {
  if (path == "/chat/completions") return json_response({{"detail", error.message}}, error.status);
  return error_response(error);
}

}  // namespace

bool same_key(std::string_view given, std::string_view key) {
  const std::string a = sha256_hex(given), b = sha256_hex(key);
  unsigned difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    difference |= static_cast<unsigned>(a[i]) ^ static_cast<unsigned>(b[i]);
  return difference == 0;
}

Service::Service(std::vector<Served> models, ServiceOptions options)
    : models_(std::move(models)), options_(std::move(options)) {}

ServedLimits Service::limits_of(const Served& served) const {
  return {&served.model->tokenizer(), served.model->context_length(), options_.bos};
}

tl::expected<const Served*, ApiError> Service::find(const std::string& id) const {
  if (id.empty()) return &models_.front();
  std::vector<std::string> ids;
  for (const Served& served : models_) {
    if (served.id == id) return &served;
    ids.push_back(served.id);
  }
  ApiError error = plain(404, fmt::format("no such model; served are: {}", fmt::join(ids, ", ")),
                         "model_not_found");
  error.param = "model";
  return tl::unexpected<ApiError>(error);
}

std::string Service::next_id(std::string_view prefix) {
  return fmt::format("{}-{:x}-{:x}", prefix, models_.front().created, ++answers_);
}

HttpServer::Counts Service::connections() const {
  const HttpServer* server = server_;
  return server == nullptr ? HttpServer::Counts{} : server->counts();
}

bool Service::may_ask(const HttpRequest& request) const {
  if (options_.keys.empty()) return true;
  std::string_view given = request.header("x-api-key");
  if (const std::string_view header = request.header("authorization");
      header.starts_with("Bearer "))
    given = header.substr(7);
  bool is_known = false;
  for (const std::string& key : options_.keys) is_known |= same_key(given, key);
  return is_known;
}

HttpResponse Service::refuse(int status, std::string_view message, std::string_view path) const {
  ApiError error = plain(status, std::string(message));
  if (status == 503) error.type = "service_unavailable";
  if (status == 500) error.type = "server_error";
  return refusal(error, path);
}

HttpResponse Service::handle(const HttpRequest& request, const HttpPeer& peer) {
  const std::string method = request.method == "HEAD" ? "GET" : request.method;
  const auto answered = [&]() -> HttpResponse {
    if (options_.cors && method == "OPTIONS")
      return {204,
              "text/plain",
              {{"Access-Control-Allow-Methods", "GET, POST"},
               {"Access-Control-Allow-Headers", "authorization, content-type, x-api-key"}},
              ""};
    if (!options_.cors && is_foreign(request))
      return refusal(plain(403, "asked by a page of another origin; start with --cors to allow it"),
                     request.path);
    const Row* same_path = nullptr;
    for (const Row& row : kRoutes) {
      const bool is_prefix = row.path == kModelPath && request.path.size() > kModelPath.size();
      if (is_prefix ? !request.path.starts_with(row.path) : request.path != row.path) continue;
      same_path = &row;
      if (row.method != method) continue;
      if (!row.is_open && !may_ask(request)) {
        HttpResponse response = refusal(
            plain(401, "a key is needed: Authorization: Bearer KEY", "invalid_api_key"), row.path);
        response.headers.emplace_back("WWW-Authenticate", "Bearer");
        return response;
      }
      return row.route(*this, request, peer);
    }
    if (same_path != nullptr) {
      HttpResponse response = refusal(
          plain(405, fmt::format("{} takes {}", same_path->path, same_path->method)), request.path);
      response.headers.emplace_back("Allow", std::string(same_path->method));
      return response;
    }
    return refusal(plain(404, "no such path; OpenAI's protocol is under /v1, the page at /"),
                   request.path);
  };
  HttpResponse response = answered();
  response.headers.emplace_back("X-Content-Type-Options", "nosniff");
  if (options_.cors) response.headers.emplace_back("Access-Control-Allow-Origin", "*");
  return response;
}

}  // namespace nb
