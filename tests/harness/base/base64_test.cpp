#include "harness/base/base64.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace nb {
namespace {

TEST(Base64, FollowsRfc4648) {
  const std::vector<std::pair<std::string, std::string>> vectors = {{"", ""},
                                                                    {"f", "Zg=="},
                                                                    {"fo", "Zm8="},
                                                                    {"foo", "Zm9v"},
                                                                    {"foob", "Zm9vYg=="},
                                                                    {"fooba", "Zm9vYmE="},
                                                                    {"foobar", "Zm9vYmFy"},
                                                                    {"\xFB\xFF", "+/8="}};
  for (const auto& [bytes, text] : vectors) {
    EXPECT_EQ(base64_encode(bytes), text);
    EXPECT_EQ(base64_decode(text), bytes);
  }
  for (const char* bad :
       {"Z", "Zg=", "Zg", "Zh==", "Zm9=", "====", "Zg==Zg==", "Z===", "Zm 8", "=m8=", "Zm9v    ",
        "    Zm9v", "Zm9v\n\n\n\n", "\tg==", "Zm8=\r\n\r\n", "Zm9-", "Zm9_", "Zm9\xfc"})
    EXPECT_EQ(base64_decode(bad), std::nullopt) << bad;
}

}  // namespace
}  // namespace nb
