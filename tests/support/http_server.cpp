#include "tests/support/http_server.hpp"

#include <chrono>
#include <fstream>
#include <thread>

namespace nb::test {

HttpServer::HttpServer(const std::filesystem::path& folder, const std::filesystem::path& scratch)
    : log_(scratch / "log") {
  const std::filesystem::path port = scratch / "port";
  const std::string command = "exec python3 '" NB_SOURCE_DIR "/tests/support/http_server.py' '" +
                              folder.string() + "' '" + port.string() + "' '" + log_.string() + "'";
  stdin_ = ::popen(command.c_str(), "w");
  // Python needs a moment; on a loaded computer a long one.
  for (int i = 0; i < 600 && port_.empty(); ++i) {
    std::ifstream(port) >> port_;
    if (port_.empty()) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

HttpServer::~HttpServer() {
  if (stdin_ != nullptr) ::pclose(stdin_);
}

std::string HttpServer::url(const std::string& mode) const {
  return "http://127.0.0.1:" + port_ + "/" + mode;
}

std::vector<std::string> HttpServer::requests() const {
  std::vector<std::string> lines;
  std::ifstream log(log_);
  for (std::string line; std::getline(log, line);) lines.push_back(line);
  return lines;
}

}  // namespace nb::test
