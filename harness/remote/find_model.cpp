#include "harness/remote/find_model.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "harness/base/fields.hpp"

namespace nb {
namespace {

Result<ServedModel> model_of(const std::vector<ServedModel>& models, const std::string& wanted,
                             const std::string& who) {
  std::vector<std::string> ids;
  for (const ServedModel& model : models) {
    if (model.id == wanted) return model;
    ids.push_back(model.id);
  }
  if (wanted.empty() && models.size() == 1) return models.front();
  if (wanted.empty())
    return bad_input(fmt::format("--server: {} serves {} models; choose one by --server-model: {}",
                                 who, models.size(), fmt::join(ids, ", ")));
  return bad_input(fmt::format("--server-model {}: {} does not serve it{}; it has {} (P1)", wanted,
                               who, did_you_mean(wanted, ids),
                               ids.empty() ? "none" : fmt::format("{}", fmt::join(ids, ", "))));
}

}  // namespace

Result<FoundModel> find_model(Connection& connection, const Wire& wire, const std::string& wanted) {
  const RemoteCall call = wire.models();
  const std::string who = connection.name();
  NB_TRY(RemoteAnswer answer, connection.call(call));
  if (answer.status == 404)
    return bad_input(
        fmt::format("--server {}{}: {} has no {}/models; give the URL with its path, for example "
                    "{}/v1",
                    wire.base.origin(), wire.base.path, who, wire.base.path, wire.base.origin()));
  NB_TRY(const Json json, connection.json_of(call, answer));
  const auto models = parse_models(json);
  if (!models)
    return run_error(
        fmt::format("{} answers GET {} with {}", who, call.path, models.error().message));
  NB_TRY(ServedModel model, model_of(*models, wanted, who));
  return FoundModel{std::move(model), std::move(answer.headers)};
}

}  // namespace nb
