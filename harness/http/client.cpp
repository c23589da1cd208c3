#include "harness/http/client.hpp"

#include <fmt/format.h>
#include <httplib.h>
#include <openssl/x509_vfy.h>
#include <pthread.h>

#include <charconv>
#include <chrono>
#include <csignal>
#include <ctime>
#include <utility>

#include "harness/base/ascii.hpp"

namespace nb {
namespace {

constexpr int kHighestPort = 65535;

// A server that goes away while we write must not end the process: the signal is kept from this
// thread, and taken if it came.
class NoBrokenPipe {
 public:
  NoBrokenPipe() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~NoBrokenPipe() {
    if (sigismember(&before_, SIGPIPE) == 0) {
      const timespec now{0, 0};
      sigtimedwait(&pipe_, nullptr, &now);
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoBrokenPipe(const NoBrokenPipe&) = delete;
  NoBrokenPipe& operator=(const NoBrokenPipe&) = delete;

 private:
  sigset_t pipe_{}, before_{};
};

}  // namespace

std::string HttpUrl::authority() const {
  const bool is_v6 = host.find(':') != std::string::npos;
  return fmt::format("{}{}{}:{}", is_v6 ? "[" : "", host, is_v6 ? "]" : "", port);
}

std::string HttpUrl::origin() const {
  return fmt::format("{}://{}", is_tls ? "https" : "http", authority());
}

Result<HttpUrl> parse_http_url(std::string_view text) {
  HttpUrl url;
  std::string_view rest = text;
  if (rest.starts_with("https://")) {
    url.is_tls = true;
    url.port = 443;
    rest.remove_prefix(8);
  } else if (rest.starts_with("http://")) {
    rest.remove_prefix(7);
  } else {
    return bad_input(
        "a server's URL begins with http:// or https://, for example "
        "http://127.0.0.1:8000/v1");
  }
  for (const char c : rest)
    if (static_cast<unsigned char>(c) <= ' ' || c == 0x7f)
      return bad_input("a URL holds no spaces or control characters");
  const std::string_view host_part = rest.substr(0, rest.find_first_of("/?#"));
  if (host_part.find('@') != std::string_view::npos)
    return bad_input(
        "no user and password in the URL; name an environment variable with the key "
        "by --key-env");
  if (rest.find_first_of("?#") != std::string_view::npos)
    return bad_input("no query in the URL; name an environment variable with the key by --key-env");
  std::string_view port;
  if (host_part.starts_with('[')) {
    const std::size_t end = host_part.find(']');
    if (end == std::string_view::npos) return bad_input("the host's [ has no ]");
    url.host = host_part.substr(1, end - 1);
    port = host_part.substr(end + 1);
  } else {
    const std::size_t colon = host_part.find(':');
    url.host = host_part.substr(0, colon);
    if (colon != std::string_view::npos) port = host_part.substr(colon);
  }
  if (url.host.empty()) return bad_input("a URL without a host");
  if (!port.empty()) {
    const char* end = port.data() + port.size();
    const auto [at, error] = std::from_chars(port.data() + 1, end, url.port);
    if (port[0] != ':' || port.size() < 2 || error != std::errc() || at != end || url.port < 1 ||
        url.port > kHighestPort)
      return bad_input("the URL's port is no number from 1 to 65535");
  }
  rest.remove_prefix(host_part.size());
  while (rest.ends_with('/')) rest.remove_suffix(1);
  url.path = rest;
  return url;
}

std::string_view text(HttpTrouble trouble) {
  switch (trouble) {
    case HttpTrouble::kConnect:
      return "does not answer";
    case HttpTrouble::kTimeout:
      return "gives no answer in time";
    case HttpTrouble::kBroken:
      return "ends the connection before its answer is whole";
    case HttpTrouble::kTooLarge:
      return "sends an answer that is too large";
    case HttpTrouble::kUntrusted:
      return "shows a certificate of an authority that is not trusted here";
    case HttpTrouble::kWrongName:
      return "shows a certificate for another host";
    case HttpTrouble::kTls:
      return "makes no TLS connection";
  }
  return "";
}

struct HttpClient::State {
  httplib::Client client;
  HttpOptions options;

  State(const HttpUrl& url, HttpOptions given) : client(url.origin()), options(std::move(given)) {
    client.set_keep_alive(true);
    client.set_tcp_nodelay(true);
    client.set_follow_location(false);
    client.set_connection_timeout(std::chrono::duration<double>(options.connect_seconds));
    client.set_write_timeout(std::chrono::duration<double>(30));
    if (!options.ca_file.empty()) client.set_ca_cert_path(options.ca_file);
  }

  // seconds: what the caller allowed, took: how long it was.
  HttpTrouble trouble_of(httplib::Error error, bool is_too_large, double seconds, double took) {
    using httplib::Error;
    if (is_too_large) return HttpTrouble::kTooLarge;
    switch (error) {
      case Error::Connection:
      case Error::ConnectionTimeout:
      case Error::BindIPAddress:
        return HttpTrouble::kConnect;
      case Error::SSLServerVerification:
        return client.get_openssl_verify_result() == X509_V_OK ? HttpTrouble::kWrongName
                                                               : HttpTrouble::kUntrusted;
      case Error::SSLConnection:
      case Error::SSLLoadingCerts:
        return HttpTrouble::kTls;
      default:
        return took >= seconds ? HttpTrouble::kTimeout : HttpTrouble::kBroken;
    }
  }

  Answer send(httplib::Request request, double seconds) {
    HttpAnswer answer;
    bool is_too_large = false;
    const std::size_t limit = options.max_body_bytes;
    request.content_receiver = [&](const char* data, std::size_t size, std::uint64_t,
                                   std::uint64_t) {
      is_too_large = answer.body.size() + size > limit;
      if (!is_too_large) answer.body.append(data, size);
      return !is_too_large;
    };
    if (!options.bearer_key.empty())
      request.headers.emplace("Authorization", "Bearer " + options.bearer_key);
    client.set_read_timeout(std::chrono::duration<double>(seconds));
    const NoBrokenPipe guard;
    const auto begin = std::chrono::steady_clock::now();
    const httplib::Result result = client.send(request);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    if (!result)
      return tl::unexpected(trouble_of(result.error(), is_too_large, seconds, took.count()));
    answer.status = result->status;
    for (const auto& [name, value] : result->headers) answer.headers[lowered(name)] = value;
    return answer;
  }
};

HttpClient::HttpClient(HttpUrl url, HttpOptions options)
    : state_(std::make_unique<State>(url, std::move(options))) {}
HttpClient::~HttpClient() = default;

HttpClient::Answer HttpClient::get(const std::string& path, double timeout_seconds) {
  httplib::Request request;
  request.method = "GET";
  request.path = path;
  return state_->send(std::move(request), timeout_seconds);
}

HttpClient::Answer HttpClient::post_json(const std::string& path, const std::string& body,
                                         double timeout_seconds) {
  httplib::Request request;
  request.method = "POST";
  request.path = path;
  request.headers.emplace("Content-Type", "application/json");
  request.body = body;
  return state_->send(std::move(request), timeout_seconds);
}

}  // namespace nb
