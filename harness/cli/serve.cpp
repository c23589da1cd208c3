#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "evals/models/built_in_models.hpp"
#include "harness/base/fs.hpp"
#include "harness/base/parallel.hpp"
#include "harness/base/say.hpp"
#include "harness/cli/common.hpp"
#include "harness/cli/verb.hpp"
#include "harness/http/server.hpp"
#include "harness/http/socket.hpp"
#include "harness/run/environment.hpp"
#include "harness/run/open_model.hpp"
#include "harness/serve/service.hpp"
#include "model/decoder/decoder.hpp"
#include "model/device/numerics.hpp"
#include "model/engine/chat_session.hpp"

namespace nb::cli {
namespace {

struct ServeOptions {
  ModelChoice model;
  std::string beside;
  std::string name;
  std::string address = "127.0.0.1";
  int port = 8000;
  std::string bos = "auto";
  bool cors = false;
  std::string key_file;
  bool json = false;
};

// The write end of a pipe that says that a signal came.
volatile std::sig_atomic_t signal_pipe = -1;

extern "C" void on_end(int) {
  const int before = errno;
  (void)!::write(signal_pipe, "x", 1);
  errno = before;
}

// SIGTERM and SIGINT while it lives; a second one ends the process at once.
class EndSignals {
 public:
  EndSignals() {
    if (::pipe(ends_) != 0) return;
    signal_pipe = ends_[1];
    struct sigaction action {};
    action.sa_handler = on_end;
    action.sa_flags = static_cast<int>(SA_RESETHAND) | SA_RESTART;
    for (const int signal : {SIGTERM, SIGINT}) ::sigaction(signal, &action, nullptr);
  }
  void wait() const {
    char byte = 0;
    while (::read(ends_[0], &byte, 1) < 0 && errno == EINTR) continue;
    for (const int signal : {SIGTERM, SIGINT}) std::signal(signal, SIG_DFL);
  }

 private:
  int ends_[2] = {-1, -1};
};

// A key a line; empty lines and those that begin with # count nothing.
Result<std::vector<std::string>> read_keys(const std::string& file) {
  std::vector<std::string> keys;
  if (file.empty()) return keys;
  NB_TRY(const std::string text, read_file(file), "--api-key-file");
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
    if (line.empty() || line.front() == '#') continue;
    for (const char c : line)
      if (static_cast<unsigned char>(c) <= ' ' || static_cast<unsigned char>(c) > 0x7e)
        return bad_input(fmt::format(
            "--api-key-file {}: a key has no spaces and no letters beyond ASCII; one per line",
            file));
    keys.push_back(std::move(line));
  }
  if (keys.empty())
    return bad_input(fmt::format("--api-key-file {}: there is no key in it; one per line", file));
  return keys;
}

// A model that is opened, and who asks it.
struct Opened {
  OpenedModel model;
  std::unique_ptr<Engine> engine;
};

Result<Opened> open_one(const ModelChoice& choice) {
  if (find_built_in_model(choice.model) != nullptr)
    return bad_input(fmt::format(
        "--model {}: it only answers evaluation items; serve needs a trained model", choice.model));
  NB_TRY(OpenedModel model, open_model(choice));
  EngineOptions engine;
  if (model.decoder != nullptr)
    engine.device_time_ns = [&device = model.decoder->device()] { return device.time_ns(); };
  Opened opened{std::move(model), nullptr};
  opened.engine = std::make_unique<Engine>(*opened.model.model, std::move(engine));
  return opened;
}

Result<std::vector<Opened>> open_models(const ServeOptions& options) {
  std::vector<Opened> opened;
  NB_TRY(Opened first, open_one(options.model));
  opened.push_back(std::move(first));
  if (options.beside.empty()) return opened;
  ModelChoice other = options.model;
  other.device = options.beside;
  NB_TRY(Opened second, open_one(other), "--beside");
  opened.push_back(std::move(second));
  return opened;
}

std::map<std::string, std::string> numerics_of(const OpenedModel& model) {
  constexpr Use kServed[] = {Use::kScore, Use::kGenerate};
  std::map<std::string, std::string> numerics;
  if (!model.resolved) return numerics;
  const DeviceProfile& profile = model.resolved->profile;
  for (const PolicyEntry& entry :
       entries_in(profile.numerics_card, profile.numerics, kServed, /*cards=*/1))
    numerics[entry.name] = entry.value;
  return numerics;
}

std::vector<Served> served_of(std::vector<Opened>& opened, const std::string& name) {
  std::vector<Served> models;
  for (Opened& one : opened) {
    std::string id = name.empty() ? one.model.label : name;
    if (!models.empty() || opened.size() > 1) id += "@" + one.model.device;
    models.push_back({id, one.model.device, one.model.model.get(), one.engine.get(),
                      static_cast<std::int64_t>(std::time(nullptr)), numerics_of(one.model)});
  }
  return models;
}

void tell_start(const Service& service, const HttpServer& server, const ServeOptions& options) {
  const bool is_v6 = options.address.find(':') != std::string::npos;
  const std::string host = is_v6 ? "[" + options.address + "]" : options.address;
  const std::string url = fmt::format("http://{}:{}", host, server.port());
  if (options.json) {
    Json models = Json::array();
    for (const Served& served : service.models())
      models.push_back({{"id", served.id},
                        {"device", served.device},
                        {"context", served.model->context_length()},
                        {"chats", has_chat_tokens(served.model->tokenizer())}});
    const Json line{{"url", url},
                    {"port", server.port()},
                    {"api", url + "/v1"},
                    {"bos", options.bos},
                    {"models", std::move(models)}};
    say_json(line.dump());
  } else {
    for (const Served& served : service.models())
      say_line("serving {}{}{}, context {} tokens", served.id, served.device.empty() ? "" : " on ",
               served.device, served.model->context_length());
    say_line("page      {}/", url);
    say_line("OpenAI    {}/v1", url);
    if (service.options().bos == BosRule::kAlways)
      say_line("every prompt gets a <|bos|> in front, which an echo hides (--bos always)");
    if (!has_chat_tokens(service.models().front().model->tokenizer()))
      say_line("it has no chat tokens: /v1/completions alone answers");
    say_line("Ctrl+C ends it; what is under way is finished");
  }
  std::fflush(stdout);
}

int serve(const ServeOptions& options) {
  const auto keys = read_keys(options.key_file);
  if (!keys) return fail(keys.error());
  if (keys->empty() && !is_loopback(options.address))
    return fail({ErrorCode::kBadInput,
                 fmt::format("--address {}: others reach it there; give --api-key-file FILE with "
                             "a key a line",
                             options.address)});
  auto opened = open_models(options);
  if (!opened) return fail(opened.error());
  ServiceOptions how;
  how.keys = *keys;
  how.cors = options.cors;
  how.bos = options.bos == "always"  ? BosRule::kAlways
            : options.bos == "never" ? BosRule::kNever
                                     : BosRule::kAuto;
  how.version = program_version().substr(program_version().rfind(' ') + 1);
  Service service(served_of(*opened, options.name), std::move(how));
  HttpServerOptions http;
  http.address = options.address;
  http.port = options.port;
  const EndSignals signals;
  const auto server = HttpServer::start(
      http,
      [&](const HttpRequest& request, const HttpPeer& peer) {
        return service.handle(request, peer);
      },
      [&](int status, std::string_view message, std::string_view path) {
        return service.refuse(status, message, path);
      });
  if (!server) return fail(server.error());
  service.watch(server->get());
  tell_start(service, **server, options);
  signals.wait();
  const bool is_whole = (*server)->stop();
  service.watch(nullptr);
  if (!is_whole)
    return fail({ErrorCode::kRun, "requests that took longer than 30 s were cut at the end"});
  return kExitOk;
}

}  // namespace

Action add_serve(CLI::App& app) {
  auto options = std::make_shared<ServeOptions>();
  app.add_option("--model", options->model.model, "a training's folder, or a checkpoint")
      ->required();
  app.add_option("--device", options->model.device,
                 "profile to run on (default: the one that trained the model)");
  app.add_option("--beside", options->beside,
                 "a second profile: on the page both answer side by side");
  app.add_option("--tokenizer", options->model.tokenizer,
                 "tokenizer file (default: the run's, or the one beside the checkpoint)");
  app.add_option("--name", options->name, "what clients call the model (default: its label)");
  app.add_option("--address", options->address,
                 "where to listen; others than this host's own "
                 "need --api-key-file")
      ->capture_default_str();
  app.add_option("--port", options->port, "0: any that is free")
      ->capture_default_str()
      ->check(whole(0, 65535));
  app.add_option("--bos", options->bos,
                 "<|bos|> in front of prompts. auto: of texts, unless add_special_tokens is "
                 "false; always: of ids, too, and an echo hides it; never")
      ->capture_default_str()
      ->check(CLI::IsMember({"auto", "always", "never"}));
  app.add_flag("--cors", options->cors, "pages of other origins may ask");
  app.add_option("--api-key-file", options->key_file,
                 "keys, one per line: who asks sends one (Authorization: Bearer KEY)");
  add_compute_options(app);
  app.add_flag("--json", options->json, "the line at the start as JSON");
  app.footer(
      "SIGTERM and Ctrl+C end it: what is under way is finished, at most 30 s.\n"
      "Exit codes: 0 ended, 4 the port is taken or the host failed, 64 bad usage or input.");
  return [options] { return serve(*options); };
}

}  // namespace nb::cli
