#include "evals/base/eval_settings.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "harness/base/json_io.hpp"

namespace nb {
namespace {

TEST(EvalSettings, UnknownBaselinesAreRefused) {
  const auto settings =
      parse_struct<EvalSettings>(Json{{"tasks", {"mw"}}, {"baselines", "v3"}}, "s.json");
  ASSERT_FALSE(settings.has_value());
  EXPECT_NE(settings.error().message.find("/baselines"), std::string::npos)
      << settings.error().message;
}

}  // namespace
}  // namespace nb
