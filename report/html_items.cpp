#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "harness/base/json_io.hpp"
#include "report/html.hpp"
#include "report/markup.hpp"

namespace nb {
namespace {

// Without the script; and what the data may take of a page that stays below 2 MB.
constexpr std::size_t kRows = 60;
constexpr std::size_t kMaxBytes = 500'000;

const char* kind_key(FlipKind kind) {
  switch (kind) {
    case FlipKind::kNearTie:
      return "near";
    case FlipKind::kHard:
      return "hard";
    case FlipKind::kText:
      break;
  }
  return "text";
}

Json number(const std::optional<double>& value) {
  return value ? Json(std::stod(fmt::format("{:.4f}", *value))) : Json();
}
Json numbers(const std::vector<float>& values) {
  Json list = Json::array();
  for (const float value : values) list.push_back(number(value));
  return list;
}

Json group_json(const FlipGroup& group) {
  return {{"sides", group.label_a + " | " + group.label_b},
          {"a", group.pair_a},
          {"b", group.pair_b},
          {"task", group.task},
          {"same", group.same_weights},
          {"limit", number(group.limit)},
          {"folderA", group.folder_a},
          {"folderB", group.folder_b}};
}

Json flip_json(const Flip& f) {
  Json json = {{"g", f.group},          {"i", f.id},      {"r", f.row}, {"lost", f.lost},
               {"k", kind_key(f.kind)}, {"gold", f.gold}, {"a", f.a},   {"b", f.b}};
  if (f.margin_a) json["ma"] = number(f.margin_a);
  if (f.margin_b) json["mb"] = number(f.margin_b);
  if (!f.log_probs_a.empty()) json["la"] = numbers(f.log_probs_a);
  if (!f.log_probs_b.empty()) json["lb"] = numbers(f.log_probs_b);
  if (!f.reason_a.empty()) json["ra"] = f.reason_a;
  if (!f.reason_b.empty()) json["rb"] = f.reason_b;
  if (!f.text_a.empty()) json["ta"] = f.text_a;
  if (!f.text_b.empty()) json["tb"] = f.text_b;
  return json;
}

Json words_json(const Words& say) {
  return {{"task", say("task")},
          {"node", say("node")},
          {"sides", say("sides_short")},
          {"weights", say("weights")},
          {"same", say("same_weights")},
          {"other", say("other_weights")},
          {"kind", say("kind_of_flip")},
          {"near", say("near_tie")},
          {"hard", say("hard")},
          {"text", say("by_text")},
          {"direction", say("direction")},
          {"lost", say("lost")},
          {"won", say("won")},
          {"search", say("search")},
          {"all", say("all")},
          {"more", say("more")},
          {"found", say("found", "{}")},
          {"gold", say("gold")},
          {"a", say("answer_a")},
          {"b", say("answer_b")},
          {"ma", say("margin_a")},
          {"mb", say("margin_b")},
          {"logProbs", say("log_probs")},
          {"open", say("open_item")},
          {"item", say("item")}};
}

// JSON inside a script element: "</script" and "<!--" must not occur.
std::string script_safe(const std::string& json) {
  std::string safe;
  for (const char c : json) {
    if (c == '<')
      safe += "\\u003c";
    else
      safe += c;
  }
  return safe;
}

std::string margin_text(const std::optional<double>& value) {
  return value ? fmt::format("{:+.3f}", *value) : "—";
}

}  // namespace

TextTable flip_table(const ItemList& list, const Words& say, std::size_t most) {
  TextTable table{{say("item"), say("node"), say("task"), say("direction"), say("kind_of_flip"),
                   say("gold"), "A", "B", say("margin_a"), say("margin_b")},
                  {}};
  for (std::size_t i = 0; i < std::min(most, list.flips.size()); ++i) {
    const Flip& f = list.flips[i];
    const FlipGroup& group = list.groups[f.group];
    table.rows.push_back({f.id, group.pair_a, group.task,
                          say(f.lost ? Phrase("lost") : Phrase("won")),
                          f.kind == FlipKind::kNearTie ? say("near_tie")
                          : f.kind == FlipKind::kHard  ? say("hard")
                                                       : say("by_text"),
                          f.gold, f.a, f.b, margin_text(f.margin_a), margin_text(f.margin_b)});
  }
  return table;
}

std::string html_items(const ItemList& list, const Words& say, std::size_t index,
                       std::string& phone_rules) {
  std::string flips;
  std::size_t held = 0;
  for (const Flip& flip : list.flips) {
    const std::string one = flip_json(flip).dump(-1, ' ', false, Json::error_handler_t::replace);
    if (flips.size() + one.size() > kMaxBytes) break;
    flips += (held++ == 0 ? "" : ",\n") + one;
  }
  Json groups = Json::array();
  for (const FlipGroup& group : list.groups) groups.push_back(group_json(group));
  const auto dump = [](const Json& json) {
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
  };
  std::string out = "<div id=items>\n";
  if (held < list.flips.size())
    out += "<p>" + markup_escaped(say("flips_left_out", held, list.flips.size())) + "</p>\n";
  out += "<div id=items-table>\n" +
         html_table(flip_table(list, say, kRows), say("flip_items"), index, phone_rules);
  if (list.flips.size() > kRows)
    out += "<p>" + markup_escaped(say("flips_rows_only", kRows, list.flips.size())) + "</p>\n";
  out += "</div></div>\n<script type=\"application/json\" id=items-data>{\"words\":" +
         script_safe(dump(words_json(say))) + ",\n\"groups\":" + script_safe(dump(groups)) +
         ",\n\"flips\":[" + script_safe(flips) + "]}</script>\n<script>" +
         std::string(html_script()) + "</script>\n";
  return out;
}

}  // namespace nb
