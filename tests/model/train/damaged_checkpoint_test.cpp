// A checkpoint that is damaged in any bit, or is not of this run, never changes a result: an older
// one takes its place, or the stage begins again, and one sentence says so.
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "harness/base/fs.hpp"
#include "harness/base/hash.hpp"
#include "harness/base/progress.hpp"
#include "model/train/checkpoint.hpp"
#include "tests/model/train/tiny_run.hpp"
#include "tests/support/temp_dir.hpp"

namespace nb {
namespace {

using test::Killed;
using test::TempDir;

std::string flipped(std::string bytes, std::size_t bit) {
  bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
  return bytes;
}

// Thousands of times: write_file() waits for the disk.
void put(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

// Bytes of the header and of the length before it.
std::size_t head_bytes(const std::string& file) {
  std::uint64_t length = 0;
  std::memcpy(&length, file.data(), sizeof length);
  return sizeof length + length;
}

// One of a few hundred bytes, with what a resume asks it for.
TEST(DamagedCheckpoint, EveryFlippedBitIsSeen) {
  const TempDir folder;
  const std::vector<float> weights = {1.5F, -2.0F, 0.25F};
  const Json identity = {{"settings", {{"seed", 7}}}};
  SafetensorsWriter writer;
  writer.add("w", DType::kBf16, {3}, weights);
  writer.add_text("identity", identity.dump());
  writer.add_text("progress", R"({"step":4,"train_time_ns":123456,"is_finished":false})");
  const std::filesystem::path path = checkpoint_path(folder.path(), 4);
  ASSERT_TRUE(writer.write(path));
  const std::string whole = *read_file(path);
  ASSERT_TRUE(open_checkpoint_of(identity, path));
  for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    put(path, flipped(whole, bit));
    const auto opened = open_checkpoint_of(identity, path);
    ASSERT_FALSE(opened) << "bit " << bit % 8 << " of byte " << bit / 8;
    ASSERT_NE(opened.error().message.find(path.string()), std::string::npos);
    // Nobody reads it as a file of another program either, but where the digest lost its name.
    const auto plain = SafetensorsFile::open(path);
    ASSERT_FALSE(plain && plain->is_sealed()) << "bit " << bit;
  }
}

class DamagedRun : public testing::Test {
 protected:
  static void SetUpTestSuite() { set_progress_mode(ProgressMode::kQuiet); }
  void SetUp() override {
    const auto undisturbed = test::run_tiny(data_, settings_, whole_.path());
    ASSERT_TRUE(undisturbed) << undisturbed.error().message;
    expected_ = *sha256_file(undisturbed->checkpoint);
    train_time_ns_ = undisturbed->train_time_ns;
    interrupt(killed_.path());
    newest_ = *read_file(checkpoint_path(killed_.path(), 4));
    older_ = *read_file(checkpoint_path(killed_.path(), 2));
  }
  // Leaves checkpoints of the steps 2 and 4.
  void interrupt(const std::filesystem::path& folder) {
    TrainHooks hooks;
    hooks.on_step = [](const StepRow& row) {
      if (row.step == 5) throw Killed{};
    };
    EXPECT_THROW((void)test::run_tiny(data_, settings_, folder, hooks), Killed);
  }
  // With these bytes in place of those two checkpoints the run goes on from `step` and ends as an
  // undisturbed one. Returns what was said, without the folder.
  std::vector<std::string> resumed(const std::string& older, const std::string& newest,
                                   std::int64_t step) {
    const TempDir folder;
    EXPECT_TRUE(write_file(checkpoint_path(folder.path(), 2), older));
    EXPECT_TRUE(write_file(checkpoint_path(folder.path(), 4), newest));
    return resumed_in(folder.path(), step);
  }
  std::vector<std::string> resumed_in(const std::filesystem::path& folder, std::int64_t step) {
    std::vector<std::string> said;
    TrainHooks hooks;
    hooks.on_damage = [&](std::string sentence) {
      const std::string from = (folder / "checkpoints").string() + "/";
      for (std::size_t at; (at = sentence.find(from)) != sentence.npos;)
        sentence.erase(at, from.size());
      said.push_back(sentence);
    };
    const auto result = test::run_tiny(data_, settings_, folder, hooks);
    EXPECT_TRUE(result) << result.error().message;
    if (!result) return said;
    EXPECT_EQ(result->resumed_from_step, step);
    EXPECT_EQ(*sha256_file(result->checkpoint), expected_);
    EXPECT_EQ(result->train_time_ns, train_time_ns_);
    return said;
  }
  using Said = std::vector<std::string>;

  const test::TinyData data_ = test::tiny_data();
  TrainSettings settings_ = test::tiny_settings();
  const TempDir whole_, killed_;
  std::string expected_, newest_, older_;
  double train_time_ns_ = 0;
};

constexpr const char* kNot = "step_000004.safetensors: not a complete safetensors file: ";
constexpr const char* kOlder = "; the training goes on from step 2";

// One bit of train_time_ns changed the record's simulated time, with exit 0.
TEST_F(DamagedRun, AFlippedBitOfTheSimulatedTimeIsNoResult) {
  std::string wrong = newest_;
  const std::string key = R"(train_time_ns\":)";
  const std::size_t at = wrong.find(key);
  ASSERT_NE(at, std::string::npos);
  wrong[at + key.size() + 1] ^= 4;
  EXPECT_EQ(resumed(older_, wrong, 2),
            Said{std::string(kNot) + "it does not have the SHA-256 that it records" + kOlder});
}

TEST_F(DamagedRun, DrawnBitsOfHeaderAndDataAreSeen) {
  std::mt19937 draw(20240823);
  const TempDir folder;
  const std::filesystem::path path = checkpoint_path(folder.path(), 4);
  const auto file = SafetensorsFile::open(checkpoint_path(killed_.path(), 4));
  const Json identity = Json::parse(*file->text("identity"));
  ASSERT_TRUE(write_file(path, newest_));
  ASSERT_TRUE(open_checkpoint_of(identity, path));
  const std::size_t head = 8 * head_bytes(newest_), all = 8 * newest_.size();
  for (int i = 0; i < 192; ++i) {
    const std::size_t bit = i % 3 == 2 ? head + draw() % (all - head) : draw() % head;
    put(path, flipped(newest_, bit));
    ASSERT_FALSE(open_checkpoint_of(identity, path)) << "bit " << bit;
  }
  for (const std::size_t bit : {std::size_t{3}, head / 2, head - 1, all - 1})
    EXPECT_EQ(resumed(older_, flipped(newest_, bit), 2).size(), 1U) << "bit " << bit;
}

TEST_F(DamagedRun, ShortEmptyAndZeroedFilesGiveWayToTheOlderOne) {
  EXPECT_EQ(resumed(older_, newest_, 4), Said{});
  EXPECT_EQ(resumed(older_, "", 2),
            Said{std::string(kNot) + "0 bytes, the header length alone takes 8" + kOlder});
  for (const std::size_t size : {std::size_t{100}, newest_.size() / 2, newest_.size() - 5})
    EXPECT_EQ(resumed(older_, newest_.substr(0, size), 2).size(), 1U) << size;
  EXPECT_EQ(resumed(older_, std::string(newest_.size(), '\0'), 2).size(), 1U);
  std::string hole = newest_;
  hole.replace(hole.size() / 2, 512, 512, '\0');
  EXPECT_EQ(resumed(older_, hole, 2).size(), 1U);
}

TEST_F(DamagedRun, WithoutAWholeOneTheTrainingBeginsAgain) {
  const Said said = resumed(flipped(older_, 1000), newest_.substr(0, 7), 0);
  ASSERT_EQ(said.size(), 2U);
  EXPECT_EQ(said[0], std::string(kNot) +
                         "7 bytes, the header length alone takes 8; the training "
                         "begins again");
  EXPECT_TRUE(said[1].starts_with("step_000002.safetensors: not a complete")) << said[1];
  EXPECT_TRUE(said[1].ends_with("; the training begins again")) << said[1];
}

// It was refused with exit 64, and would have been gone on from where only the device differed.
TEST_F(DamagedRun, ACheckpointOfAnotherRunGivesWay) {
  const auto of_other = [&](const std::string& profile, double matrix_lr, std::int64_t step) {
    const TempDir other;
    TrainSettings settings = settings_;
    settings.matrix_lr = matrix_lr;
    TrainHooks hooks;
    hooks.on_step = [](const StepRow& row) {
      if (row.step == 5) throw Killed{};
    };
    EXPECT_THROW((void)test::run_tiny(data_, settings, other.path(), hooks, profile), Killed);
    return *read_file(checkpoint_path(other.path(), step));
  };
  EXPECT_EQ(resumed(older_, of_other("ascend_910b3", 0.05, 4), 2),
            Said{std::string("step_000004.safetensors: a checkpoint of another run: "
                             "/settings/matrix_lr is 0.05 there, but 0.02 here") +
                 kOlder});
  const Said device = resumed(older_, of_other("h100_sxm", 0.02, 4), 2);
  ASSERT_EQ(device.size(), 1U);
  EXPECT_NE(device[0].find("a checkpoint of another run: /device is"), std::string::npos);
  // The right run, another step.
  EXPECT_EQ(
      resumed(older_, older_, 2),
      Said{std::string("step_000004.safetensors: holds step 2, not that of its name") + kOlder});
  // Later than the run is long: it would have stayed as the newest one.
  const TempDir folder;
  ASSERT_TRUE(write_file(checkpoint_path(folder.path(), 2), older_));
  ASSERT_TRUE(write_file(checkpoint_path(folder.path(), 900), newest_));
  EXPECT_EQ(resumed_in(folder.path(), 2).size(), 1U);
  EXPECT_FALSE(std::filesystem::exists(checkpoint_path(folder.path(), 900)));
}

// Equal in everything but a number of the machine's: another clock.
TEST_F(DamagedRun, ACheckpointOfAnotherMachineOfThatNameGivesWay) {
  const auto on = [&](double factor, const std::filesystem::path& folder, const TrainHooks& hooks) {
    auto train_loader = TokenLoader::create(data_.train);
    auto validation_loader = TokenLoader::create(data_.validation);
    DeviceProfile profile = load_profile("ascend_910b3").value();
    profile.launch.host_dispatch.value *= factor;
    Device device(std::move(profile), ExecutionMode::kExecute);
    return train(settings_, device, {*train_loader, *validation_loader, data_.tokenizer}, folder,
                 hooks);
  };
  const TempDir other;
  TrainHooks hooks;
  hooks.on_step = [](const StepRow& row) {
    if (row.step == 5) throw Killed{};
  };
  EXPECT_THROW((void)on(2, other.path(), hooks), Killed);
  const Said said = resumed(older_, *read_file(checkpoint_path(other.path(), 4)), 2);
  ASSERT_EQ(said.size(), 1U);
  EXPECT_NE(said[0].find("a checkpoint of another run: /machine is"), std::string::npos) << said[0];
}

// Without a digest of the header nobody knows whether its clock is right.
TEST_F(DamagedRun, ACheckpointOfAnOlderVersionIsNotGoneOnFrom) {
  const std::size_t head = head_bytes(newest_);
  Json header = Json::parse(newest_.substr(8, head - 8));
  header["__metadata__"].erase("file_sha256");
  header["__metadata__"]["data_sha256"] = sha256_hex(newest_.substr(head));
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');
  const std::uint64_t length = text.size();
  std::string old(8, '\0');
  std::memcpy(old.data(), &length, 8);
  old += text + newest_.substr(head);
  EXPECT_EQ(resumed(older_, old, 2),
            Said{std::string("step_000004.safetensors: has no SHA-256 of the whole file: of an "
                             "older version of npubench, or damaged") +
                 kOlder});
}

// The run would have ended with an error, or with a file that the record vouches for wrongly.
TEST_F(DamagedRun, AStepThatIsToBeKeptIsMadeAgain) {
  settings_.keep_steps = {0, 3};
  const TempDir whole;
  ASSERT_TRUE(test::run_tiny(data_, settings_, whole.path()));
  const auto kept_bytes = [](const TempDir& folder, std::int64_t step) {
    return read_file(checkpoint_path(folder.path(), step)).value_or("missing");
  };
  for (const std::string& bad :
       {std::string("missing"), flipped(kept_bytes(whole, 3), 5000), kept_bytes(whole, 0)}) {
    const TempDir folder;
    interrupt(folder.path());
    const std::filesystem::path path = checkpoint_path(folder.path(), 3);
    if (bad == "missing")
      std::filesystem::remove(path);
    else
      ASSERT_TRUE(write_file(path, bad));
    // Of the two newest, 3 and 4, the later one has step 3 behind it.
    const Said said = resumed_in(folder.path(), 0);
    ASSERT_EQ(said.size(), 1U);
    EXPECT_NE(said[0].find("step_000003.safetensors"), std::string::npos) << said[0];
    EXPECT_TRUE(said[0].ends_with("; the training goes on from step 0")) << said[0];
    for (const std::int64_t step : {0, 3})
      EXPECT_EQ(kept_bytes(folder, step), kept_bytes(whole, step));
  }
}

}  // namespace
}  // namespace nb
