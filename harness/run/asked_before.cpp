#include "harness/run/asked_before.hpp"

#include <nlohmann/json.hpp>
#include <string>

#include "harness/plan/work.hpp"

namespace nb {

Result<AskedBefore> asked_before(const StoredRecord& stored) {
  Json settings = *stored.record.settings;
  const std::string where = (stored.folder / "record.json").string() + ": /settings";
  if (settings.contains("evaluation")) {
    NB_TRY(const EvalWork work, parse_struct<EvalWork>(settings, where));
    return AskedBefore{work.evaluation.settings, work.microworld};
  }
  AskedBefore asked;
  if (settings.contains("microworld")) {
    NB_TRY(asked.microworld,
           parse_struct<MicroworldSettings>(settings["microworld"], where + "/microworld"));
    settings.erase("microworld");
  }
  settings.erase("faults");
  NB_TRY(asked.settings, parse_struct<EvalSettings>(settings, where));
  return asked;
}

}  // namespace nb
