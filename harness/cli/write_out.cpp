#include "harness/cli/write_out.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "harness/base/table.hpp"
#include "harness/base/visible_text.hpp"
#include "harness/cli/common.hpp"

namespace nb::cli {
namespace {

std::string request_line(const ShownRequest& request) {
  std::string line = request.is_gold ? "  * " : "    ";
  if (!request.context.empty()) line += quoted(request.context) + " then ";
  return line + fmt::format("{}  ({} scored, of {})\n", quoted(request.scored),
                            count_text(request.scored_tokens, "token"), request.tokens);
}

std::string item_text(const ShownPrompt& item, std::size_t number, const ShownTask& task) {
  std::string text = fmt::format("--- {}: item {} of {}, {} ({})\n", task.task, number, task.items,
                                 visible_line(item.public_id), item.id);
  text += fmt::format("prompt, {}{}:\n{}\n", count_text(item.prompt_tokens, "token"),
                      item.cut_tokens > 0
                          ? fmt::format(" ({} more were cut to fit the context)", item.cut_tokens)
                          : "",
                      item.prompt);
  if (!item.requests.empty()) text += "scored behind it (* is right):\n";
  for (const ShownRequest& request : item.requests) text += request_line(request);
  if (!item.answer.empty()) text += "a right answer:\n" + item.answer + "\n";
  return text;
}

}  // namespace

std::string write_out_text(std::span<const ShownTask> tasks) {
  std::string text;
  for (const ShownTask& task : tasks)
    for (std::size_t i = 0; i < task.shown.size(); ++i)
      text += item_text(task.shown[i], i + 1, task) + "\n";
  return text + "nothing was scored; leave out --write-out to evaluate\n";
}

Json write_out_json(std::span<const ShownTask> tasks) {
  Json list = Json::array();
  for (const ShownTask& task : tasks) {
    Json items = Json::array();
    for (const ShownPrompt& item : task.shown) {
      Json requests = Json::array();
      for (const ShownRequest& request : item.requests)
        requests.push_back({{"context", request.context},
                            {"scored", request.scored},
                            {"scored_tokens", request.scored_tokens},
                            {"tokens", request.tokens},
                            {"gold", request.is_gold}});
      Json entry{{"id", item.id},
                 {"public_id", item.public_id},
                 {"prompt", item.prompt},
                 {"prompt_tokens", item.prompt_tokens},
                 {"cut_tokens", item.cut_tokens}};
      if (!requests.empty()) entry["requests"] = std::move(requests);
      if (!item.answer.empty()) entry["answer"] = item.answer;
      items.push_back(std::move(entry));
    }
    list.push_back({{"task", task.task},
                    {"kind", task.kind},
                    {"items", task.items},
                    {"shown", std::move(items)}});
  }
  return list;
}

}  // namespace nb::cli
