#include "harness/predict/own_constants.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "harness/base/json_io.hpp"
#include "harness/base/table.hpp"
#include "harness/profiler/fit.hpp"

namespace nb {
namespace {

Result<profiler::Calibration> read_constants(const std::string& file) {
  NB_TRY(const Json json, read_json(file));
  return profiler::parse_calibration(json, file);
}

}  // namespace

Result<void> put_own_constants(DeviceProfile& device, const std::string& file) {
  if (file.empty()) return {};
  NB_TRY(const profiler::Calibration calibration, read_constants(file));
  return profiler::apply_calibration(device, calibration, file);
}

Result<OwnConstants> own_constants(const std::string& file) {
  NB_TRY(const profiler::Calibration calibration, read_constants(file));
  NB_TRY_VOID(load_profile(calibration.device), file);
  return OwnConstants{calibration.device, [calibration, file](DeviceProfile& device) {
                        return profiler::apply_calibration(device, calibration, file);
                      }};
}

Result<std::string> own_constants_text(const std::string& file) {
  NB_TRY(const profiler::Calibration calibration, read_constants(file));
  std::string said;
  for (const profiler::FittedConstant& one : calibration.constants)
    said += fmt::format("{}{} {}", said.empty() ? "" : ", ", one.name, number_text(one.value));
  return file + ": " +
         (said.empty() ? "no constant was fitted; all are the shipped ones"
                       : said + " in place of the shipped ones");
}

}  // namespace nb
