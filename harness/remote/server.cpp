#include "harness/remote/server.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <utility>

#include "harness/base/fields.hpp"
#include "harness/base/fs.hpp"
#include "harness/remote/method.hpp"
#include "harness/remote/probes.hpp"

namespace nb {
namespace {

Result<std::string> key_of(const ServerChoice& choice) {
  if (choice.key_env.empty()) return std::string();
  const char* key = std::getenv(choice.key_env.c_str());
  if (key == nullptr || *key == '\0')
    return bad_input(
        fmt::format("--key-env {}: there is no such environment variable, or it is "
                    "empty; it holds the server's key",
                    choice.key_env));
  for (const char* c = key; *c != '\0'; ++c)
    if (static_cast<unsigned char>(*c) <= ' ' || static_cast<unsigned char>(*c) > 0x7e)
      return bad_input(
          fmt::format("--key-env {}: a key has no spaces, line breaks or letters beyond "
                      "ASCII",
                      choice.key_env));
  return std::string(key);
}

struct Address {
  HttpUrl url;
  ConnectionOptions options;
};

Result<Address> address_of(const ServerChoice& choice) {
  const auto url = parse_http_url(choice.url);
  if (!url) return bad_input("--server: " + url.error().message);  // not quoted: a key may be in it
  ConnectionOptions options;
  NB_TRY(options.key, key_of(choice));
  options.ca_file = choice.ca_file;
  if (!choice.ca_file.empty()) NB_TRY_VOID(read_file(choice.ca_file), "--ca-file");
  options.concurrency = choice.concurrency;
  options.tries = choice.tries;
  options.timeout_seconds = choice.timeout_seconds;
  return Address{*url, std::move(options)};
}

Result<void> check_method(const ServerChoice& choice) {
  const std::vector<std::string> methods = method_names();
  if (std::ranges::find(methods, choice.method) != methods.end()) return {};
  return bad_input(fmt::format("--method {}: there are {}{}", choice.method,
                               fmt::join(methods, ", "), did_you_mean(choice.method, methods)));
}

}  // namespace

std::string short_model_name(const std::string& id) {
  std::string name = id;
  while (name.ends_with('/')) name.pop_back();
  name = name.substr(name.rfind('/') + 1);
  // It becomes part of a folder's name.
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '-' && c != '_' && c != '.' &&
        c != '@')
      c = '_';
  return name.empty() || name.front() == '.' ? "model" : name.substr(0, 80);
}

Result<std::shared_ptr<const ServedTokenizer>> open_served_tokenizer(const ServerChoice& choice) {
  NB_TRY_VOID(check_method(choice));
  NB_TRY(const Address address, address_of(choice));
  return ServedTokenizer::open(address.url, address.options, choice.model);
}

Result<std::unique_ptr<RemoteServer>> open_server(const ServerChoice& choice,
                                                  const Tokenizer& tokenizer,
                                                  const ServedTokenizer* served) {
  NB_TRY_VOID(check_method(choice));
  NB_TRY(Address address, address_of(choice));
  auto server = std::unique_ptr<RemoteServer>(new RemoteServer{
      {address.url, std::move(address.options)}, {address.url, choice.model, true}, {}});
  NB_TRY(server->facts, probe_server(server->connection, server->wire, tokenizer, choice.model,
                                     choice.chat == "server", served));
  std::int64_t& context = server->facts.context_length;
  if (context > 0 && choice.context > context)
    return bad_input(fmt::format("--server-context {}: {} says its context is {} tokens",
                                 choice.context, server->facts.host, context));
  if (choice.context > 0) context = choice.context;
  if (context <= 1)
    return bad_input(
        fmt::format("--server: {} does not say how many tokens its context holds; give "
                    "--server-context N",
                    server->facts.host));
  return server;
}

}  // namespace nb
