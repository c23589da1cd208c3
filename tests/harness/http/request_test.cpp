#include "harness/http/request.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>

namespace nb::test {
namespace {

// A connection that carries `bytes` in pieces and then ends.
HttpRequestReader reader_of(std::string bytes, std::size_t piece,
                            const HttpRequestLimits& limits = {}) {
  return HttpRequestReader(
      [bytes = std::move(bytes), piece, at = std::size_t{0}](char* to, std::size_t size) mutable {
        const std::size_t count = std::min({size, piece, bytes.size() - at});
        std::memcpy(to, bytes.data() + at, count);
        at += count;
        return static_cast<long>(count);
      },
      limits);
}

int status_of_bytes(const std::string& bytes, const HttpRequestLimits& limits = {}) {
  auto reader = reader_of(bytes, 7, limits);
  const auto request = reader.next();
  return request ? 200 : request.error().status;
}

TEST(HttpRequestReader, PiecesOfAnySizeAreTheSameRequests) {
  const std::string bytes =
      "POST /v1/x?a=b HTTP/1.1\r\nHost: h\r\nX-Two: a\r\nx-two:  b \r\nContent-Length: "
      "5\r\n\r\nhello"
      "\r\nPOST /y HTTP/1.1\nhost: h\nTransfer-Encoding: chunked\n\n"
      "3;x=y\r\nabc\r\n0A\r\n0123456789\r\n0\r\nTrailer: t\r\n\r\n"
      "GET / HTTP/1.0\r\n\r\n";
  for (const std::size_t piece : {1, 2, 3, 5, 17, 4096}) {
    auto reader = reader_of(bytes, piece);
    const auto first = reader.next();
    ASSERT_TRUE(first) << first.error().message;
    EXPECT_EQ(first->path, "/v1/x");
    EXPECT_EQ(first->query, "a=b");
    EXPECT_EQ(first->header("x-two"), "a, b");
    EXPECT_EQ(first->body, "hello");
    EXPECT_TRUE(first->keeps_alive());
    const auto second = reader.next();
    ASSERT_TRUE(second) << second.error().message;
    EXPECT_EQ(second->body, "abc0123456789");
    const auto third = reader.next();
    ASSERT_TRUE(third) << third.error().message;
    EXPECT_EQ(third->path, "/");
    EXPECT_FALSE(third->keeps_alive());
    const auto end = reader.next();
    ASSERT_FALSE(end);
    EXPECT_EQ(end.error().status, 0);
  }
}

TEST(HttpRequestReader, WhatIsNoRequestIsRefusedWithAStatus) {
  const std::string get = "GET / HTTP/1.1\r\nHost: h\r\n";
  EXPECT_EQ(status_of_bytes(get + "\r\n"), 200);
  EXPECT_EQ(status_of_bytes("GET /\r\n\r\n"), 400);
  EXPECT_EQ(status_of_bytes("\x16\x03\x01 hello TLS\r\n\r\n"), 400);
  EXPECT_EQ(status_of_bytes("GET / HTTP/2.0\r\n\r\n"), 505);
  EXPECT_EQ(status_of_bytes("GET / HTTP/1.1\r\n\r\n"), 400);  // no Host
  EXPECT_EQ(status_of_bytes(get + "a b: c\r\n\r\n"), 400);
  EXPECT_EQ(status_of_bytes(get + " folded\r\n\r\n"), 400);
  EXPECT_EQ(status_of_bytes(get + "x: a\rb\r\n\r\n"), 400);
  EXPECT_EQ(status_of_bytes(get + "Content-Length: 1\r\nContent-Length: 2\r\n\r\nab"), 400);
  EXPECT_EQ(status_of_bytes(get + "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"), 400);
  EXPECT_EQ(status_of_bytes(get + "Content-Length: -1\r\n\r\n"), 400);
  EXPECT_EQ(status_of_bytes(get + "Content-Length: 1x\r\n\r\n"), 400);
  EXPECT_EQ(status_of_bytes(get + "Content-Length: 9\r\n\r\nshort"), 400);
  EXPECT_EQ(status_of_bytes(get + "Content-Length: 99999999999999999999\r\n\r\n"), 400);
  EXPECT_EQ(status_of_bytes(get + "Transfer-Encoding: gzip, chunked\r\n\r\n"), 501);
  EXPECT_EQ(status_of_bytes(get + "Content-Encoding: gzip\r\nContent-Length: 0\r\n\r\n"), 415);
  EXPECT_EQ(status_of_bytes(get + "Transfer-Encoding: chunked\r\n\r\n-1\r\n"), 400);
  EXPECT_EQ(status_of_bytes(get + "Transfer-Encoding: chunked\r\n\r\n2\r\nabc\r\n0\r\n\r\n"), 400);
}

TEST(HttpRequestReader, LimitsHold) {
  HttpRequestLimits limits;
  limits.max_body_bytes = 8;
  limits.max_head_bytes = 64;
  limits.max_headers = 3;
  const std::string post = "POST / HTTP/1.1\r\nHost: h\r\n";
  EXPECT_EQ(status_of_bytes(post + "Content-Length: 8\r\n\r\n12345678", limits), 200);
  EXPECT_EQ(status_of_bytes(post + "Content-Length: 9\r\n\r\n", limits), 413);
  const std::string chunked = post + "Transfer-Encoding: chunked\r\n\r\n";
  EXPECT_EQ(status_of_bytes(chunked + "8\r\n12345678\r\n0\r\n\r\n", limits), 200);
  EXPECT_EQ(status_of_bytes(chunked + "8\r\n12345678\r\n1\r\n9\r\n0\r\n\r\n", limits), 413);
  EXPECT_EQ(status_of_bytes(chunked + "ffffffffffffffff\r\n", limits), 413);
  EXPECT_EQ(status_of_bytes("GET /" + std::string(100, 'a') + " HTTP/1.1\r\n\r\n", limits), 431);
  EXPECT_EQ(status_of_bytes("GET / HTTP/1.1\r\nHost: h\r\na:b\r\na:b\r\na:b\r\n\r\n", limits), 431);
  EXPECT_EQ(status_of_bytes("GET /" + std::string(100, 'a'), limits), 431);
}

}  // namespace
}  // namespace nb::test
