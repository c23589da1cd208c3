#include "results/compare/served_causes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "results/messages/sentences.hpp"
#include "results/store/served.hpp"

namespace nb {
namespace {

constexpr const char* kNotTold = "(not told)";
// nat: 16-bit formats move single log-probabilities by less, other weights by more.
constexpr double kRoundingMoves = 0.5;

// A member of nested objects as a short text; empty: there is none.
std::string text_of_member(const Json& server, const char* pointer) {
  const Json::json_pointer at(pointer);
  if (!server.contains(at) || server.at(at).is_null()) return "";
  const Json& value = server.at(at);
  return value.is_string() ? value.get<std::string>() : value.dump();
}
double number_of_member(const Json& server, const char* pointer) {
  const Json::json_pointer at(pointer);
  return server.contains(at) && server.at(at).is_number() ? server.at(at).get<double>() : 0;
}

class Causes {
 public:
  Causes(std::vector<Confounder>& found, const Record& a, const Record& b)
      : found_(found), a_(server_of(a)), b_(server_of(b)) {}

  // Where the sides differ; a member that one side lacks is not told, and no difference unless
  // `with_absent`.
  void add(const char* category, const std::string& field, std::string a, std::string b,
           Sentence named = {}, bool with_absent = false) {
    if (a == b || (!with_absent && (a.empty() || b.empty()))) return;
    if (a.empty()) a = kNotTold;
    if (b.empty()) b = kNotTold;
    found_.push_back({category, field, std::move(a), std::move(b), {}, std::move(named)});
  }

  void add_told() {
    const Json none = Json::object();
    const Json &left = a_.contains("told") ? a_.at("told") : none,
               &right = b_.contains("told") ? b_.at("told") : none;
    for (const auto& [key, value] : left.items())
      if (right.contains(key))
        add(key == "device"       ? "device"
            : key == "build_info" ? "code"
                                  : "numerics",
            "/server/" + key, text_of_member(left, ("/" + key).c_str()),
            text_of_member(right, ("/" + key).c_str()));
  }

  void add_noise() {
    const auto noise = [](const Json& server) -> std::string {
      if (text_of_member(server, "/noise/batch_invariant") == "true") return "batch-invariant";
      const double moves = number_of_member(server, "/noise/max_abs_log_prob");
      if (moves > 0) return fmt::format("up to {:.2g} nat", moves);
      const std::string flips = text_of_member(server, "/noise/flips");
      return flips.empty() || flips == "0" ? "" : fmt::format("{} answers differ", flips);
    };
    const std::string left = noise(a_), right = noise(b_);
    add("numerics", "/server/noise", left, right, message("cause.noise", left, right));
  }

  // What both say of one fixed prompt.
  void add_canary() {
    const Json::json_pointer prompt("/canary/prompt"), scores("/canary/log_probs"),
        said("/canary/tokens");
    for (const Json* server : {&a_, &b_})
      if (!server->contains(prompt) || !server->contains(scores) || !server->contains(said)) return;
    if (a_.at(prompt) != b_.at(prompt)) return;  // another tokenizer, which is said elsewhere
    const std::vector<double> left = numbers(a_.at(scores)), right = numbers(b_.at(scores));
    if (left.empty() || left.size() != right.size()) {
      if (!left.empty() || !right.empty() || a_.at(said) == b_.at(said)) return;
      add("numerics", "/server/canary", "some tokens", "others", message("cause.greedy_canary"));
      return;
    }
    double most = 0, sum_a = 0, sum_b = 0;
    for (std::size_t i = 0; i < left.size(); ++i) {
      most = std::max(most, std::fabs(left[i] - right[i]));
      sum_a += left[i];
      sum_b += right[i];
    }
    const double noise = std::max(number_of_member(a_, "/noise/max_abs_log_prob"),
                                  number_of_member(b_, "/noise/max_abs_log_prob"));
    if (most <= 2 * noise) return;
    const auto n = static_cast<double>(left.size());
    const std::string by = fmt::format("{:.2g}", most);
    add("numerics", "/server/canary", fmt::format("{:.6g} nat a token", sum_a / n),
        fmt::format("{:.6g} nat a token", sum_b / n),
        most <= kRoundingMoves ? message("cause.canary_rounding", by)
                               : message("cause.canary_weights", by));
  }

  void add_logits() {
    const auto logits = [](const Json& server) -> std::string {
      if (text_of_member(server, "/logit_step").empty()) return "";
      const double step = number_of_member(server, "/logit_step");
      return step > 0 ? fmt::format("16 bits, steps of 2^{}", std::ilogb(step))
                      : "finer than 16 bits";
    };
    const std::string left = logits(a_), right = logits(b_);
    add("numerics", "/server/logits", left, right,
        left.empty() || right.empty() ? Sentence() : message("cause.logits", left, right));
  }

  void add_template(bool is_used) {
    const std::string by = text_of_member(a_, "/chat_template/by");
    if (by.empty() || by != text_of_member(b_, "/chat_template/by")) return;
    const bool has_digest = !text_of_member(a_, "/chat_template/digest").empty();
    const char* what = has_digest ? "/chat_template/digest" : "/chat_template/tokens";
    add(is_used ? "settings" : "server", "/server/chat_template",
        text_of_member(a_, what).substr(0, 12), text_of_member(b_, what).substr(0, 12),
        is_used ? message("cause.template") : message("cause.unused_template"));
  }

 private:
  static std::vector<double> numbers(const Json& list) {
    std::vector<double> all;
    if (list.is_array())
      for (const Json& value : list)
        if (value.is_number()) all.push_back(value.get<double>());
    return all;
  }

  std::vector<Confounder>& found_;
  const Json &a_, &b_;
};

}  // namespace

void add_served(std::vector<Confounder>& found, const Record& a, const Record& b) {
  if (!is_served(a) || !is_served(b)) return;
  const Json &left = server_of(a), &right = server_of(b);
  Causes causes(found, a, b);
  if (have_two_servers(a, b)) causes.add("server", "/server", server_text(a), server_text(b));
  causes.add("code", "/server/engine", engine_of(a), engine_of(b));
  causes.add("settings", "/server/max_model_len", text_of_member(left, "/max_model_len"),
             text_of_member(right, "/max_model_len"));
  causes.add_told();
  causes.add_logits();
  causes.add_canary();
  causes.add_noise();
  // Chats were rendered by the servers where a task says by which template.
  causes.add_template(std::ranges::any_of(
      a.comparability, [](const auto& entry) { return entry.first.ends_with("/template"); }));
  for (const char* way : {"prompt_log_probs", "letters", "returns_ids"}) {
    const std::string pointer = std::string("/") + way;
    causes.add("server", "/server" + pointer, text_of_member(left, pointer.c_str()),
               text_of_member(right, pointer.c_str()));
  }
}

std::vector<Sentence> unknown_of_served(const Record& a, const Record& b) {
  std::vector<Sentence> unknown;
  if (!have_two_servers(a, b)) return unknown;
  for (const auto& [record, side] : {std::pair{&a, "A"}, std::pair{&b, "B"}}) {
    const Json& server = server_of(*record);
    if (text_of_member(server, "/probes/P2/outcome") == "not asked")
      unknown.push_back(message("unknown.server_tokenizer", side));
  }
  if (text_of_member(server_of(a), "/tokenizes") == "there" &&
      text_of_member(server_of(b), "/tokenizes") == "there")
    unknown.push_back(message("unknown.served_encoding"));
  unknown.push_back(message("unknown.served_weights"));
  return unknown;
}

}  // namespace nb
