#include "tests/remote/fake_server.hpp"

#include <chrono>
#include <fstream>
#include <thread>

namespace nb::test {

FakeServer::FakeServer(const std::string& persona, const std::string& wanted,
                       const std::vector<std::string>& tls)
    : is_tls_(!tls.empty()) {
  const std::filesystem::path port = scratch_ / "port";
  std::string command = "exec python3 '" NB_SOURCE_DIR "/tests/remote/fake_server.py' '" + persona +
                        "' '" + port.string() + "' '" + (scratch_ / "log").string() + "' " +
                        (wanted.empty() ? "0" : wanted);
  for (const std::string& file : tls) command += " '" + file + "'";
  stdin_ = ::popen(command.c_str(), "w");
  // Python needs a moment; on a loaded computer a long one.
  for (int i = 0; i < 600 && port_.empty(); ++i) {
    std::ifstream(port) >> port_;
    if (port_.empty()) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

FakeServer::~FakeServer() {
  if (stdin_ != nullptr) ::pclose(stdin_);
}

std::string FakeServer::url() const {
  return (is_tls_ ? "https://127.0.0.1:" : "http://127.0.0.1:") + port_ + "/v1";
}

std::vector<std::string> FakeServer::requests() const {
  std::vector<std::string> lines;
  std::ifstream log(scratch_ / "log");
  for (std::string line; std::getline(log, line);) lines.push_back(line);
  return lines;
}

}  // namespace nb::test
