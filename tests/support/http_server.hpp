// A local HTTP server that serves a folder with ranges, and fails on purpose (http_server.py says
// how), for tests of downloads. Ends with its object.
#pragma once

#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

namespace nb::test {

class HttpServer {
 public:
  // `scratch`: an empty folder for its port and log.
  HttpServer(const std::filesystem::path& folder, const std::filesystem::path& scratch);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  bool is_up() const { return !port_.empty(); }
  std::string url(const std::string& mode) const;  // "http://127.0.0.1:1234/cut"
  std::vector<std::string> requests() const;       // "cut a/b.txt bytes=5-"

 private:
  std::FILE* stdin_ = nullptr;
  std::string port_;
  std::filesystem::path log_;
};

}  // namespace nb::test
