#include "tests/serve/serve_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <thread>

namespace nb::test {

ServeProcess::ServeProcess(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {NB_BINARY_DIR "/npubench", "serve", "--json"});
  if (std::ranges::find(arguments, "--port") == arguments.end())
    arguments.insert(arguments.end(), {"--port", "0"});
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return;
  pid_ = ::fork();
  if (pid_ == 0) {
    ::dup2(ends[1], STDOUT_FILENO);
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  ::close(ends[1]);
  out_ = ends[0];
  for (char byte = 0; ::read(out_, &byte, 1) == 1 && byte != '\n';) first_line_ += byte;
  if (const std::size_t at = first_line_.find("\"port\":"); at != std::string::npos)
    port_ = std::atoi(first_line_.c_str() + at + 7);
}

ServeProcess::~ServeProcess() {
  if (pid_ > 0) {
    signal(SIGKILL);
    wait();
  }
  if (out_ >= 0) ::close(out_);
}

void ServeProcess::signal(int number) const {
  if (pid_ > 0) ::kill(pid_, number);
}

int ServeProcess::wait(std::chrono::milliseconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (pid_ > 0) {
    int status = 0;
    if (::waitpid(pid_, &status, WNOHANG) == pid_) {
      pid_ = -1;
      return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
    if (std::chrono::steady_clock::now() > end) return -1;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return -1;
}

}  // namespace nb::test
