#include <gtest/gtest.h>

#include "harness/http/client.hpp"

namespace nb::test {
namespace {

TEST(HttpUrl, HasHostPortAndPath) {
  const auto url = parse_http_url("http://gpu:8000/v1/");
  ASSERT_TRUE(url.has_value());
  EXPECT_EQ(url->origin(), "http://gpu:8000");
  EXPECT_EQ(url->path, "/v1");
  EXPECT_EQ(parse_http_url("https://h")->origin(), "https://h:443");
  EXPECT_EQ(parse_http_url("http://[::1]:9/v1")->authority(), "[::1]:9");
  EXPECT_EQ(parse_http_url("http://[::1]:9/v1")->host, "::1");
}

// A key may stand in any of these: none is quoted.
TEST(HttpUrl, WhatMayHoldAKeyIsRefusedWithoutQuotingIt) {
  for (const char* text : {"http://me:hidden@gpu/v1", "http://gpu/v1?key=hidden",
                           "http://gpu/v1#hidden", "ftp://hidden/", "hidden", "http://",
                           "http:///v1", "http://gpu:hidden", "http://gpu:0", "http://gpu:70000",
                           "http://g pu", "http://[::1/v1", "http://gpu:", "http://gpu/\r\nX: y"}) {
    const auto url = parse_http_url(text);
    ASSERT_FALSE(url.has_value()) << text;
    EXPECT_EQ(url.error().message.find("hidden"), std::string::npos) << url.error().message;
  }
}

}  // namespace
}  // namespace nb::test
