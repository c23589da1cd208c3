#include "model/data/chat/loader_place.hpp"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "harness/base/fields.hpp"

namespace nb {
namespace {

struct Saved : LoaderPlace {
  FieldList fields() {
    return {{"data", "checksum of the conversations", &data, {.required = true}},
            {"rank", "of this loader", &rank, {.required = true}},
            {"world", "number of loaders", &world, {.required = true}},
            {"taken", "tokens or rows since the start", &taken, {.min = 0, .required = true}}};
  }
};

}  // namespace

Json to_json(const LoaderPlace& place) { return print_struct(Saved{place}); }

Result<std::int64_t> taken_of(const Json& json, const LoaderPlace& own) {
  NB_TRY(const Saved saved, parse_struct<Saved>(json, "loader state"));
  if (saved.data != own.data)
    return bad_input(
        "loader state: /data: other conversations; resume with those that it was saved with");
  if (saved.rank != own.rank || saved.world != own.world)
    return bad_input(fmt::format("loader state: saved by rank {} of {}, this is rank {} of {}",
                                 saved.rank, saved.world, own.rank, own.world));
  return saved.taken;
}

}  // namespace nb
