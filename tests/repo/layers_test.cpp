// Includes point downwards in the layers of the README; some folders see less than their layer
// allows.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <sstream>
#include <string>
#include <vector>

#include "tests/repo/source_tree.hpp"

namespace nb::test {
namespace {

struct Component {
  std::string_view folder;
  int layer;
};
constexpr std::array kComponents = {
    Component{"harness/cli", 9},
    Component{"harness/run", 8},
    Component{"harness/mpi", 8},
    Component{"harness/nightly", 8},
    Component{"harness/plan", 8},
    Component{"harness/suite", 8},
    Component{"harness/doctor", 8},
    Component{"harness/profiler", 8},
    Component{"harness/faults", 8},
    Component{"harness/microbench", 8},
    Component{"harness/http", 8},
    Component{"harness/remote", 8},
    Component{"harness/serve", 8},
    Component{"harness/predict", 8},
    Component{"report", 7},
    Component{"evals", 6},
    Component{"model/predict", 5},
    Component{"model/train", 5},
    Component{"model/engine", 4},
    Component{"model/optim", 4},
    Component{"model/decoder", 3},
    Component{"model/tokenizer", 3},
    Component{"model/data", 3},
    Component{"model/ops", 2},
    Component{"model/collectives", 2},
    Component{"model/autograd", 2},
    Component{"model/host", 2},
    Component{"model/device", 1},
    Component{"model/kernels", 1},
    Component{"model/tensor", 1},
    Component{"results", 1},
    Component{"harness/base", 0},
};

// Folders that may not see others although these lie lower.
struct Wall {
  std::string_view from;
  std::string_view to;
  std::string_view why;
};
constexpr std::array kWalls = {
    Wall{"evals", "model/decoder", "an evaluator knows only LanguageModel and the tokenizer"},
    Wall{"evals", "model/train", "an evaluator knows only LanguageModel and the tokenizer"},
    Wall{"model/host", "model/autograd", "the host computes what is recorded, whoever records it"},
    Wall{"model/host", "model/ops", "the host computes what is recorded, whoever records it"},
    Wall{"model/autograd", "model/ops", "a tape knows no op"},
    Wall{"model/decoder", "model/host", "a model says what is computed, not how the host does it"},
    Wall{"model/decoder", "model/kernels",
         "a model says what is computed, not how the host does it"},
    Wall{"harness/http", "model", "bytes over HTTP know no model"},
    Wall{"harness/http", "evals", "bytes over HTTP know no task"},
    Wall{"report", "model", "a report reads results only"},
    Wall{"report", "evals", "a report reads results only"},
    Wall{"results", "model", "results know no model"},
    Wall{"model", "results", "the model is usable without the harness"},
};

// Rooms of one folder and their floors: a room sees itself and those on lower floors only. Files
// that lie in the folder itself are its top room.
struct Room {
  std::string_view folder;
  int floor;
};
constexpr std::array kRooms = {
    Room{"evals/core", 1},      Room{"evals/chat", 1},       Room{"evals/humaneval", 1},
    Room{"evals/models", 1},    Room{"evals/text", 1},       Room{"evals/base", 0},
    Room{"evals/data", 0},      Room{"evals/sandbox", 0},    Room{"evals/probes", 3},
    Room{"evals", 2},           Room{"results/messages", 0}, Room{"results/stats", 0},
    Room{"results/store", 1},   Room{"results/text", 2},     Room{"results/foreign", 2},
    Room{"results/compare", 3}, Room{"results/training", 3}, Room{"results/audit", 4},
    Room{"results/gate", 4},    Room{"results/import", 5},
};

bool is_under(std::string_view path, std::string_view folder) {
  return path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

const Component* component_of(std::string_view path) {
  for (const Component& component : kComponents)
    if (is_under(path, component.folder)) return &component;
  return nullptr;
}

const Room* room_of(std::string_view path) {
  for (const Room& room : kRooms)
    if (is_under(path, room.folder)) return &room;
  return nullptr;
}

std::string_view folder_of(std::string_view path) { return path.substr(0, path.rfind('/')); }

std::string top_of(std::string_view path) { return std::string(path.substr(0, path.find('/'))); }

std::string room_problem(std::string_view from_path, std::string_view to_path) {
  const Room* from = room_of(from_path);
  const Room* to = room_of(to_path);
  if (from == nullptr || to == nullptr || from == to || top_of(from_path) != top_of(to_path))
    return "";
  if (to->floor < from->floor) return "";
  return fmt::format("{} (floor {}) includes {} (floor {}): a room sees lower floors only",
                     from->folder, from->floor, to_path, to->floor);
}

std::vector<std::string> included_paths(const std::string& text, std::vector<int>& at_lines) {
  std::vector<std::string> paths;
  std::istringstream stream(text);
  int number = 0;
  for (std::string line; std::getline(stream, line);) {
    ++number;
    if (!line.starts_with("#include \"")) continue;
    paths.push_back(line.substr(10, line.find('"', 10) - 10));
    at_lines.push_back(number);
  }
  return paths;
}

std::vector<std::string> layer_problems(const std::vector<SourceFile>& files) {
  std::vector<std::string> problems;
  for (const SourceFile& file : files) {
    if (file.path.starts_with("tests/")) continue;
    const Component* from = component_of(file.path);
    if (from == nullptr) {
      problems.push_back(file.path +
                         ": its folder has no layer; give it one in tests/repo/layers_test.cpp");
      continue;
    }
    if (const Room* room = room_of(file.path);
        room != nullptr && room->folder != folder_of(file.path))
      problems.push_back(file.path + ": its folder is no room of " + std::string(room->folder) +
                         "; give it a floor in tests/repo/layers_test.cpp");
    std::vector<int> at_lines;
    const std::vector<std::string> includes = included_paths(file.text, at_lines);
    for (std::size_t i = 0; i < includes.size(); ++i) {
      const std::string where = file.path + ":" + std::to_string(at_lines[i]) + ": ";
      const Component* to = component_of(includes[i]);
      if (to == nullptr) {
        problems.push_back(where + "\"" + includes[i] + "\" is no path from the root into a layer");
      } else if (to->layer > from->layer) {
        problems.push_back(where + std::string(from->folder) + " (layer " +
                           std::to_string(from->layer) + ") includes " + includes[i] + " (layer " +
                           std::to_string(to->layer) + "): includes point downwards");
      }
      if (const std::string problem = room_problem(file.path, includes[i]); !problem.empty())
        problems.push_back(where + problem);
      for (const Wall& wall : kWalls)
        if (is_under(file.path, wall.from) && is_under(includes[i], wall.to))
          problems.push_back(where + "includes " + includes[i] + ", but " + std::string(wall.why));
    }
  }
  return problems;
}

TEST(Layers, EveryIncludePointsDownwards) {
  constexpr std::array<std::string_view, 2> kEndings = {".hpp", ".cpp"};
  const std::vector<SourceFile> files = source_files(kEndings);
  ASSERT_GT(files.size(), 40U);
  const std::vector<std::string> problems = layer_problems(files);
  EXPECT_TRUE(problems.empty()) << lines(problems);
}

TEST(Layers, AnIncludeThatPointsUpwardsIsNamed) {
  const auto problems = layer_problems(
      {{"model/tensor/x.hpp", "#pragma once\n#include \"model/decoder/decoder.hpp\"\n"},
       {"model/decoder/y.cpp",
        "#include \"model/tensor/x.hpp\"\n#include \"model/data/z.hpp\"\n"}});
  ASSERT_EQ(problems.size(), 1U) << lines(problems);
  EXPECT_EQ(
      problems[0],
      "model/tensor/x.hpp:2: model/tensor (layer 1) includes model/decoder/decoder.hpp (layer 3): "
      "includes point downwards");
}

TEST(Layers, AWallAndAFolderWithoutLayerAreNamed) {
  const auto problems = layer_problems({{"evals/x.cpp", "#include \"model/decoder/decoder.hpp\"\n"},
                                        {"model/magic/x.cpp", ""},
                                        {"report/x.cpp", "#include \"table.hpp\"\n"}});
  ASSERT_EQ(problems.size(), 3U) << lines(problems);
  EXPECT_NE(problems[0].find("an evaluator knows only LanguageModel"), std::string::npos);
  EXPECT_NE(problems[1].find("model/magic/x.cpp: its folder has no layer"), std::string::npos);
  EXPECT_NE(problems[2].find("\"table.hpp\" is no path from the root"), std::string::npos);
}

TEST(Layers, ARoomThatSeesANeighbourOrAHigherFloorIsNamed) {
  const auto problems = layer_problems(
      {{"evals/core/x.cpp", "#include \"evals/base/y.hpp\"\n#include \"evals/chat/z.hpp\"\n"},
       {"evals/base/y.cpp", "#include \"evals/base/y.hpp\"\n#include \"evals/evaluate.hpp\"\n"},
       {"evals/evaluate.cpp", "#include \"evals/chat/z.hpp\"\n"},
       {"evals/cellar/x.cpp", ""}});
  ASSERT_EQ(problems.size(), 3U) << lines(problems);
  EXPECT_EQ(problems[0],
            "evals/core/x.cpp:2: evals/core (floor 1) includes evals/chat/z.hpp (floor 1): a room "
            "sees lower floors only");
  EXPECT_EQ(problems[1],
            "evals/base/y.cpp:2: evals/base (floor 0) includes evals/evaluate.hpp (floor 2): a "
            "room sees lower floors only");
  EXPECT_EQ(problems[2],
            "evals/cellar/x.cpp: its folder is no room of evals; give it a floor in "
            "tests/repo/layers_test.cpp");
}

}  // namespace
}  // namespace nb::test
