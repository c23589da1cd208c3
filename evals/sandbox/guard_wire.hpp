// What npubench and its guard say to each other, over a socket that keeps messages apart. Both are
// the same program, so numbers travel as they lie in memory.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "evals/sandbox/launch.hpp"

namespace nb::sandbox {

// npubench → guard. A request to start a process brings descriptors along: first where the guard
// writes the process's News, then `status` of start_child, then those of the process, in order.
struct StartRequest {
  LaunchPlan plan;
  std::array<bool, std::tuple_size_v<ChildDescriptors>> has_descriptor{};
};
// To kill `target`: the started process itself, or a child of it.
struct KillRequest {
  pid_t started = 0;
  pid_t target = 0;
};

// Guard → npubench: first how the start went, then, once, how the process ended.
struct News {
  std::int32_t pid = 0;        // of the start; negative errno value: there is no process
  std::int32_t exit_code = 0;  // of the end: 128 + signal when killed
  std::int64_t cpu_ms = 0;     // of the end: of all its threads and children
};

std::string packed(const StartRequest& request);
std::string packed(const KillRequest& request);
struct Request {
  std::optional<StartRequest> start;
  std::optional<KillRequest> kill;
};
Request unpacked(std::string_view message);

// Zero, or the errno value.
int send_message(int socket, std::string_view message, const std::vector<int>& descriptors);
struct Message {
  std::string text;
  std::vector<Descriptor> descriptors;
};
// Nothing: the other end is closed.
std::optional<Message> receive_message(int socket);

}  // namespace nb::sandbox
