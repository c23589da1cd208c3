#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/base/json_io.hpp"
#include "harness/base/subprocess.hpp"
#include "results/compare/flips.hpp"
#include "results/text/narrow_text.hpp"

namespace nb {
namespace {

constexpr std::size_t kIndent = 6;
constexpr std::size_t kShownAnswer = 120;  // bytes of an answer that is a whole text

std::string signed_nat(double value) {
  return fmt::format("{}{:.3f}", value < 0 ? "−" : "+", std::abs(value));
}

// One line, and short: answers may be whole texts.
std::string answer_text(const std::string& answer, const std::string& reason) {
  std::string text = answer.substr(0, kShownAnswer);
  while (!text.empty() && text.size() < answer.size() &&
         (static_cast<unsigned char>(answer[text.size()]) & 0xC0U) == 0x80U)
    text.pop_back();
  if (text.size() < answer.size()) text += "…";
  std::replace_if(
      text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
  if (text.empty()) text = "—";
  return reason.empty() ? text : fmt::format("{} ({})", text, reason);
}

std::string group_text(const FlipGroup& group) {
  std::string text =
      wrapped(group.pair_a == group.pair_b ? fmt::format("{} on both sides", group.pair_a)
                                           : fmt::format("{} | {}", group.pair_a, group.pair_b));
  std::string counts =
      fmt::format("{}: {} lost, {} won of {}", group.task, group.lost, group.won, group.items);
  if (group.near_tie + group.hard > 0)
    counts += fmt::format("; {} near-tie, {} hard (a margin beyond {:.3f} nat)", group.near_tie,
                          group.hard, group.limit);
  if (group.same_weights) counts += "; the same weights";
  return text + wrapped(counts, 2);
}

std::string flip_text(const Flip& flip) {
  std::string line = fmt::format("item {} (row {})", flip.id, flip.row);
  if (flip.kind != FlipKind::kText) line += fmt::format(", {}", name(flip.kind));
  if (flip.margin_a && flip.margin_b)
    line +=
        fmt::format(", margin {} → {} nat", signed_nat(*flip.margin_a), signed_nat(*flip.margin_b));
  if (flip.value_a && flip.value_b)
    line += fmt::format(", score {:.4g} → {:.4g}", *flip.value_a, *flip.value_b);
  std::string text = wrapped(line, kIndent + 2, flip.lost ? "  lost  " : "  won   ");
  if (const std::string question = one_line(flip.text, 2 * (kTextWidth - kIndent - 2));
      !question.empty())
    text += wrapped(question, kIndent + 2, "        ");
  return text + wrapped(fmt::format("right {}; A {}; B {}", answer_text(flip.gold, ""),
                                    answer_text(flip.a, flip.reason_a),
                                    answer_text(flip.b, flip.reason_b)),
                        kIndent + 2, "        ");
}

Json side_json(const std::string& prediction, const std::optional<double>& value,
               const std::optional<double>& margin, const std::vector<float>& log_probs,
               const std::string& reason, const std::string& text) {
  return {{"prediction", prediction},
          {"mark", optional_json(value)},
          {"margin_nat", optional_json(margin)},
          {"log_probs", log_probs},
          {"reason", reason},
          {"text", text}};
}

std::optional<double> score_of(const Flip& flip, bool side_a) {
  if (flip.value_a) return side_a ? flip.value_a : flip.value_b;
  return flip.lost == side_a ? 1.0 : 0.0;
}

// The first sentence about texts that are not there.
std::string first_warning(const ItemList& list) {
  const auto at = std::find_if(list.flips.begin(), list.flips.end(),
                               [](const Flip& flip) { return !flip.text.warning.empty(); });
  return at == list.flips.end() ? "" : at->text.warning;
}

}  // namespace

std::string flips_text(const ItemList& list) {
  std::string text;
  for (const std::string& one : list.unreadable) text += wrapped(one, 2, "! ");
  std::size_t group = list.groups.size();
  for (std::size_t i = 0; i < list.flips.size(); ++i) {
    const Flip& flip = list.flips[i];
    if (flip.group != group) text += (i == 0 ? "" : "\n") + group_text(list.groups[flip.group]);
    group = flip.group;
    text += flip_text(flip);
  }
  if (list.flips.empty()) return text;
  text += "\n";
  if (std::ssize(list.flips) < list.count)
    text += fmt::format("{} more; --limit {} shows all\n", list.count - std::ssize(list.flips),
                        list.count);
  if (const std::string warning = first_warning(list); !warning.empty())
    text += wrapped("texts: " + warning, 2);
  const Flip& first = list.flips.front();
  return text + fmt::format("{} --item {}\n  shows one whole\n",
                            show_command(list.groups[first.group], /*side_a=*/true),
                            shell_text(first.id));
}

Json flips_json(const ItemList& list) {
  Json groups = Json::array(), items = Json::array();
  for (const FlipGroup& group : list.groups)
    groups.push_back({{"a", group.pair_a},
                      {"b", group.pair_b},
                      {"folder_a", group.folder_a},
                      {"folder_b", group.folder_b},
                      {"task", group.task},
                      {"same_weights", group.same_weights},
                      {"items", group.items},
                      {"lost", group.lost},
                      {"won", group.won},
                      {"near_tie", group.near_tie},
                      {"hard", group.hard},
                      {"near_tie_limit_nat", group.limit}});
  for (const Flip& flip : list.flips) {
    items.push_back({{"group", flip.group},
                     {"item", flip.id},
                     {"row", flip.row},
                     {"direction", flip.lost ? "lost" : "won"},
                     {"kind", name(flip.kind)},
                     {"question", flip.text.question},
                     {"warning", flip.text.warning},
                     {"gold", flip.gold},
                     {"a", side_json(flip.a, score_of(flip, true), flip.margin_a, flip.log_probs_a,
                                     flip.reason_a, flip.text_a)},
                     {"b", side_json(flip.b, score_of(flip, false), flip.margin_b, flip.log_probs_b,
                                     flip.reason_b, flip.text_b)}});
  }
  return {{"schema", kFlipsSchema}, {"flips", list.count}, {"shown", items.size()},
          {"groups", groups},       {"items", items},      {"unreadable", list.unreadable}};
}

}  // namespace nb
