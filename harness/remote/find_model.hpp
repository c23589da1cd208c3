// P1: the model that a server is asked for, of those that it has.
#pragma once

#include <map>
#include <string>

#include "harness/base/result.hpp"
#include "harness/remote/answers.hpp"
#include "harness/remote/connection.hpp"
#include "harness/remote/wire.hpp"

namespace nb {

struct FoundModel {
  ServedModel model;
  std::map<std::string, std::string> headers;  // of the answer
};
// GET /v1/models. wanted: an id; empty: the only one. Errors: no such path, no such model, several.
Result<FoundModel> find_model(Connection& connection, const Wire& wire, const std::string& wanted);

}  // namespace nb
