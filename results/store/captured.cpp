#include "results/store/captured.hpp"

#include <nlohmann/json.hpp>

namespace nb {

bool is_captured(const Record& record) {
  return record.environment->is_object() &&
         record.environment->value("program", Json()) == "nanochat_capture";
}

}  // namespace nb
