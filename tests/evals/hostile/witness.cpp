#include "tests/evals/hostile/witness.hpp"

#include <arpa/inet.h>
#include <fmt/core.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "harness/base/check.hpp"
#include "harness/base/fs.hpp"

extern char** environ;

namespace nb::test {

namespace {

template <class Address>
int listening(int family, int type, const Address& address, socklen_t size) {
  const int number = ::socket(family, type | SOCK_CLOEXEC, 0);
  ::bind(number, reinterpret_cast<const sockaddr*>(&address), size);
  if (type == SOCK_STREAM) ::listen(number, 8);
  return number;
}

int local_socket(const std::string& name, int type = SOCK_STREAM) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  name.copy(address.sun_path, sizeof(address.sun_path) - 1);
  return listening(AF_UNIX, type, address,
                   static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size()));
}

bool has_news(int number) {
  pollfd polled{number, POLLIN, 0};
  return ::poll(&polled, 1, 0) > 0;
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != text.npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

}  // namespace

Witness::Witness() : secret_(fmt::format("secret-{}", ::getpid())) {
  ::setenv("NPUBENCH_TEST_SECRET", secret_.c_str(), 1);
  for (const auto& path : {folder_ / "file", folder_ / "inner" / "file"})
    NB_CHECK(write_file(path, "untouched"), "[witness] cannot write {}", path.string());
  // Everybody may do everything here, so that rights alone protect nothing.
  for (const auto& path : {folder_.path(), folder_ / "inner"}) ::chmod(path.c_str(), 0777);
  for (const auto& path : {folder_ / "file", folder_ / "inner" / "file"})
    ::chmod(path.c_str(), 0666);

  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  tcp_ = listening(AF_INET, SOCK_STREAM, address, sizeof(address));
  socklen_t size = sizeof(address);
  ::getsockname(tcp_, reinterpret_cast<sockaddr*>(&address), &size);
  port_ = ntohs(address.sin_port);
  udp_ = listening(AF_INET, SOCK_DGRAM, address, sizeof(address));
  local_ = local_socket(folder_ / "socket");
  datagrams_ = local_socket(folder_ / "datagrams", SOCK_DGRAM);
  for (const char* name : {"socket", "datagrams"}) ::chmod((folder_ / name).c_str(), 0777);
  abstract_ = local_socket(std::string(1, '\0') + secret_);

  std::array<char*, 3> argv = {const_cast<char*>("sleep"), const_cast<char*>("1000"), nullptr};
  ::posix_spawnp(&process_, "sleep", nullptr, nullptr, argv.data(), environ);
  files_before_ = files();
  for (int tries = 0; tries < 100 && process_before_.find("sleep S") == std::string::npos;
       ++tries) {
    ::usleep(10'000);
    process_before_ = state_of_process();
  }
}

Witness::~Witness() {
  ::kill(process_, SIGKILL);
  ::waitpid(process_, nullptr, 0);
  for (const int number : {tcp_, udp_, local_, datagrams_, abstract_}) ::close(number);
}

std::string Witness::aimed(std::string program) const {
  replace_all(program, "{FOLDER}", folder_.path().string());
  replace_all(program, "{PROCESS}", std::to_string(process_));
  replace_all(program, "{PORT}", std::to_string(port_));
  replace_all(program, "{ABSTRACT}", secret_);
  replace_all(program, "{SECRET}", secret_);
  replace_all(program, "{NULL}", std::string_view("\0", 1));
  return program;
}

std::vector<std::string> Witness::damage() const {
  std::vector<std::string> list;
  const auto now = files();
  for (const auto& [path, what] : now)
    if (!files_before_.contains(path)) list.push_back(path + " is new");
  for (const auto& [path, what] : files_before_) {
    const auto found = now.find(path);
    if (found == now.end())
      list.push_back(path + " is gone");
    else if (found->second != what)
      list.push_back(fmt::format("{} was {}, is {}", path, what, found->second));
  }
  if (const std::string state = state_of_process(); state != process_before_)
    list.push_back(fmt::format("the process was {}, is {}", process_before_, state));
  for (const auto& [number, what] :
       {std::pair(tcp_, "TCP"), std::pair(udp_, "UDP"), std::pair(local_, "local"),
        std::pair(datagrams_, "datagram"), std::pair(abstract_, "abstract")})
    if (has_news(number)) list.push_back(fmt::format("somebody talked to the {} socket", what));
  return list;
}

namespace {

struct Process {
  std::string name;
  pid_t parent = 0;
};

// Nothing: it has ended.
std::optional<Process> process_of(pid_t pid) {
  const auto stat = read_file(fmt::format("/proc/{}/stat", pid));
  if (!stat) return std::nullopt;
  const std::size_t open = stat->find('('), close = stat->rfind(')');
  if (open == stat->npos || close == stat->npos) return std::nullopt;
  // "pid (name) state parent …"
  return Process{stat->substr(open + 1, close - open - 1), std::atoi(stat->c_str() + close + 4)};
}

// A sandbox that another npubench on this computer is using. What this process left behind has it,
// or init, as its parent.
bool belongs_to_another(pid_t pid) {
  for (auto process = process_of(pid); process && process->parent > 1;) {
    pid = process->parent;
    if (pid == ::getpid()) return false;
    process = process_of(pid);
    if (process && (process->name == "npubench" || process->name.starts_with("nb_test_")))
      return true;
  }
  return false;
}

}  // namespace

std::vector<std::string> Witness::stray_processes() {
  std::vector<std::string> list;
  std::error_code gone;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", gone)) {
    const auto command = read_file(entry.path() / "cmdline");
    const auto environment = read_file(entry.path() / "environ");
    if (command && environment && command->find("# How the two processes talk") != command->npos &&
        environment->find("PYTHONSAFEPATH") != environment->npos &&
        !belongs_to_another(std::atoi(entry.path().filename().c_str())))
      list.push_back(command->substr(0, 40));
  }
  return list;
}

std::map<std::string, std::string> Witness::files() const {
  std::map<std::string, std::string> found;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_.path())) {
    struct stat about {};
    ::lstat(entry.path().c_str(), &about);
    found[entry.path()] =
        fmt::format("mode {:o}, owner {}, {} links, time {}, {} bytes of attributes, \"{}\"",
                    about.st_mode, about.st_uid, about.st_nlink, about.st_mtim.tv_sec,
                    ::llistxattr(entry.path().c_str(), nullptr, 0),
                    entry.is_regular_file() ? read_file(entry.path()).value_or("unreadable") : "");
  }
  return found;
}

std::string Witness::state_of_process() const {
  const auto stat = read_file(fmt::format("/proc/{}/stat", process_));
  if (!stat || stat->find(')') == stat->npos) return "gone";
  rlimit limit{};
  ::prlimit(process_, RLIMIT_NOFILE, nullptr, &limit);
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  ::sched_getaffinity(process_, sizeof(cpus), &cpus);
  return fmt::format("sleep {}, nice {}, {} files, {} CPUs", stat->substr(stat->find(')') + 2, 1),
                     ::getpriority(PRIO_PROCESS, static_cast<id_t>(process_)), limit.rlim_cur,
                     CPU_COUNT(&cpus));
}

}  // namespace nb::test
