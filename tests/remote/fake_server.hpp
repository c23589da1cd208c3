// A server that misbehaves as its persona says (fake_server.py). Ends with its object.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "tests/support/temp_dir.hpp"

namespace nb::test {

class FakeServer {
 public:
  // persona: "vllm", "dies_at_item:20". port: of a server that was there before; empty: any. tls:
  // PEM files of a certificate and its key.
  explicit FakeServer(const std::string& persona, const std::string& port = "",
                      const std::vector<std::string>& tls = {});
  ~FakeServer();
  FakeServer(const FakeServer&) = delete;
  FakeServer& operator=(const FakeServer&) = delete;

  std::string url() const;  // "http://127.0.0.1:1234/v1"
  const std::string& port() const { return port_; }
  std::string host() const { return "127.0.0.1:" + port_; }
  std::vector<std::string> requests() const;  // "POST /v1/completions 200"

 private:
  TempDir scratch_;
  bool is_tls_;
  std::FILE* stdin_ = nullptr;
  std::string port_;
};

}  // namespace nb::test
