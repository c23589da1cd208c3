// Which conversations a chat stage gets from one's own files, and in which order.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "harness/base/fs.hpp"
#include "harness/base/hash.hpp"
#include "harness/run/stages.hpp"
#include "model/data/tasks/conversation_json.hpp"
#include "model/data/tasks/task_view.hpp"
#include "tests/support/temp_dir.hpp"

namespace nb {
namespace {

constexpr std::size_t kCount = 12;

// Questions "0" to "11" of a file, as the stage writes them.
std::vector<std::string> order_of(const std::string& task) {
  const test::TempDir folder;
  const fs::path file = folder / "own.jsonl";
  std::string lines;
  for (std::size_t i = 0; i < kCount; ++i)
    lines +=
        conversation_json({{user_says(std::to_string(i)), assistant_says("yes")}}).dump() + "\n";
  EXPECT_TRUE(write_file(file, lines));
  MixtureTask asked;
  asked.task = task;
  asked.file = file.string();
  ConversationsWork work;
  work.stage = "sft";
  work.mixture = {{asked}, {asked}};
  work.file_digests[asked.file] = sha256_file(file).value();
  const Node node;
  const auto quiet = [](const std::string&) {};
  const StageContext context{node, folder.path(), {}, folder.path(), quiet, quiet};
  Record record;
  const auto done = run_conversations(work, context, record);
  EXPECT_TRUE(done) << done.error().message;
  std::vector<std::string> questions;
  const std::vector<Conversation> written = read_conversations(folder / "train.jsonl").value();
  for (const Conversation& one : written) questions.push_back(all_text(one.messages.front()));
  return questions;
}

// The mixture shuffles places of a task; which row stands at a place is the task's.
std::vector<std::string> mixed(const std::vector<std::size_t>& rows) {
  const std::size_t sizes[] = {rows.size()};
  std::vector<std::string> questions;
  for (const MixtureEntry& entry : task_mixture(sizes))
    questions.push_back(std::to_string(rows[entry.index]));
  return questions;
}

// nanochat's CustomJSON (tasks/customjson.py @ fe5aed9) takes the rows as they come.
TEST(ConversationsStage, IdentityKeepsTheOrderOfItsFile) {
  EXPECT_EQ(order_of("identity"), mixed(slice_view(kCount, {}).value()));
}

TEST(ConversationsStage, OtherConversationsAreShuffledFirst) {
  EXPECT_EQ(order_of("conversations"), mixed(task_view(kCount).value()));
  EXPECT_NE(order_of("conversations"), order_of("identity"));
}

}  // namespace
}  // namespace nb
