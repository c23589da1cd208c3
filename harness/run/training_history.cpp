#include "harness/run/training_history.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "model/train/checkpoint.hpp"

namespace nb {

Result<Json> training_history(const SafetensorsFile& checkpoint, const Record* training) {
  NB_TRY(Json history, checkpoint_history(checkpoint));
  if (history.is_null()) return history;
  history["code"] = history["parents"] = nullptr;
  if (training == nullptr) return history;
  if (const auto code = training->subject.find("code"); code != training->subject.end())
    history["code"] = code->second;
  history["parents"] = training->parents;
  return history;
}

Result<std::string> checkpoint_file(const Record& training, std::optional<std::int64_t> step,
                                    const std::string& where) {
  std::vector<std::string> steps;
  for (const auto& [file, digest] : training.artifacts)
    if (file.starts_with("checkpoints/")) steps.push_back(file);
  if (step) {
    const std::string wanted = checkpoint_path("", *step).generic_string();
    if (training.artifacts.contains(wanted)) return wanted;
    return bad_input(fmt::format("{}: keeps no checkpoint of step {}; it has {}", where, *step,
                                 fmt::join(steps, ", ")));
  }
  const Json::json_pointer last("/effective/checkpoint");
  if (training.settings->contains(last) && training.settings->at(last).is_string())
    if (const auto file = training.settings->at(last).get<std::string>();
        training.artifacts.contains(file))
      return file;
  if (steps.empty()) return bad_input(where + ": lists no checkpoint");
  return steps.back();
}

}  // namespace nb
