#include "harness/run/training_history.hpp"

#include <nlohmann/json.hpp>

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

}  // namespace nb
