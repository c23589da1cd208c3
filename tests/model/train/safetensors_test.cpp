#include "model/train/safetensors.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

#include "harness/base/fs.hpp"
#include "harness/base/json_io.hpp"
#include "tests/support/temp_dir.hpp"

namespace nb {
namespace {

std::string with_header(const std::string& header, const std::string& data,
                        std::uint64_t length_offset = 0) {
  const std::uint64_t length = header.size() + length_offset;
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, 8);
  return bytes + header + data;
}

// The message of opening a file of these bytes; empty when it opened.
std::string refusal(const std::string& bytes) {
  const test::TempDir folder;
  EXPECT_TRUE(write_file(folder / "a.safetensors", bytes));
  const auto file = SafetensorsFile::open(folder / "a.safetensors");
  if (file) return "";
  EXPECT_EQ(file.error().code, ErrorCode::kBadInput);
  EXPECT_NE(file.error().message.find("a.safetensors"), std::string::npos);
  return file.error().message;
}

TEST(Safetensors, ReadsWhatAnotherProgramWrote) {
  // Written by tests/golden/nanochat_parity.py.
  const auto file =
      SafetensorsFile::open(NB_SOURCE_DIR "/tests/golden/nanochat_parity.safetensors");
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->entries().at("mha/lm_head.weight").shape, (std::vector<std::int64_t>{96, 64}));
}

TEST(Safetensors, WrittenBytesFollowTheFormat) {
  const test::TempDir folder;
  const std::vector<float> ones = {1.0F, -2.5F};
  SafetensorsWriter writer;
  writer.add("b", DType::kBf16, {2}, ones);
  writer.add("a", DType::kFp32, {2, 1}, ones);
  writer.add_text("note", "x");
  ASSERT_TRUE(writer.write(folder / "a.safetensors"));
  const std::string bytes = *read_file(folder / "a.safetensors");
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), 8);
  EXPECT_EQ(length % 8, 0U);
  const Json header = Json::parse(bytes.substr(8, length));
  EXPECT_EQ(header["a"], Json::parse(R"({"dtype":"F32","shape":[2,1],"data_offsets":[0,8]})"));
  EXPECT_EQ(header["b"], Json::parse(R"({"dtype":"BF16","shape":[2],"data_offsets":[8,12]})"));
  EXPECT_EQ(header["__metadata__"]["note"], "x");
  EXPECT_EQ(bytes.substr(8 + length),
            std::string("\x00\x00\x80\x3f\x00\x00\x20\xc0\x80\x3f\x20\xc0", 12));
}

TEST(Safetensors, EveryTypeComesBackAsItWent) {
  const test::TempDir folder;
  const float inf = std::numeric_limits<float>::infinity();
  const std::vector<float> halves = {0.0F,     -0.0F,    1.0F, -65504.0F,   0x1p-24F,
                                     0x3p-24F, 0x1p-14F, inf,  0x1.ff8p-15F};
  const std::vector<double> doubles = {0.1, -1e300};
  const std::vector<std::int64_t> integers = {-1, 1LL << 60};
  SafetensorsWriter writer;
  writer.add("h", DType::kFp16, {3, 3}, halves);
  writer.add("f", DType::kTf32, {9}, halves);
  writer.add("d", {2}, doubles);
  writer.add("i", {2}, integers);
  writer.add("e", DType::kFp32, {0, 4}, {});
  ASSERT_TRUE(writer.write(folder / "a.safetensors"));
  const auto file = SafetensorsFile::open(folder / "a.safetensors");
  ASSERT_TRUE(file) << file.error().message;
  std::vector<float> out(9);
  ASSERT_TRUE(file->read("h", DType::kFp16, {3, 3}, out));
  EXPECT_EQ(std::memcmp(out.data(), halves.data(), 36), 0);
  ASSERT_TRUE(file->read("f", DType::kTf32, {9}, out));
  EXPECT_EQ(std::memcmp(out.data(), halves.data(), 36), 0);
  EXPECT_EQ(*file->read_doubles("d"), doubles);
  EXPECT_EQ(*file->read_integers("i"), integers);
}

TEST(Safetensors, NanIsCanonical) {
  const test::TempDir folder;
  const std::vector<float> nan = {std::nanf("5"), -std::nanf("7")};
  for (const DType dtype : {DType::kFp32, DType::kBf16, DType::kFp16}) {
    SafetensorsWriter writer;
    writer.add("n", dtype, {2}, nan);
    ASSERT_TRUE(writer.write(folder / "a.safetensors"));
    const auto file = SafetensorsFile::open(folder / "a.safetensors");
    const auto bytes = file->entries().at("n").bytes;
    const std::size_t half = bytes.size() / 2;
    EXPECT_EQ(std::memcmp(bytes.data(), bytes.data() + half, half), 0);
    EXPECT_EQ(std::to_integer<int>(bytes[half - 1]), 0x7f - (dtype == DType::kFp16 ? 1 : 0));
  }
}

TEST(Safetensors, DamageIsNamed) {
  const std::string entry = R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";
  EXPECT_EQ(refusal(with_header(entry, "1234")), "");
  EXPECT_NE(refusal("123").find("3 bytes"), std::string::npos);
  EXPECT_NE(refusal(with_header(entry, "1234", 100)).find("the header claims"), std::string::npos);
  EXPECT_NE(refusal(with_header(entry, "1234", ~std::uint64_t{0} / 2)).find("the header claims"),
            std::string::npos);
  EXPECT_NE(refusal(with_header("{\"a\":", "")).find("header"), std::string::npos);
  EXPECT_NE(refusal(with_header("[]", "")).find("not a JSON object"), std::string::npos);
  EXPECT_NE(refusal(with_header(entry, "123")).find("ends at byte 4 of 3"), std::string::npos);
  EXPECT_NE(refusal(with_header(entry, "12345")).find("1 bytes follow"), std::string::npos);
  EXPECT_NE(refusal(with_header(R"({"a":{"dtype":"Q4","shape":[1],"data_offsets":[0,4]}})", "1234"))
                .find("unknown dtype Q4"),
            std::string::npos);
  EXPECT_NE(
      refusal(with_header(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", "1234"))
          .find("do not hold F32 of shape [2]"),
      std::string::npos);
  EXPECT_NE(
      refusal(with_header(
                  R"({"a":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,4]}})",
                  "1234"))
          .find("do not hold"),
      std::string::npos);
  EXPECT_NE(
      refusal(with_header(R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", "1234"))
          .find("is not {dtype"),
      std::string::npos);
  EXPECT_NE(refusal(with_header(R"({"a":7})", "")).find("/a is not"), std::string::npos);
  const std::string overlap = R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
                              R"("b":{"dtype":"U8","shape":[4],"data_offsets":[2,6]}})";
  EXPECT_NE(refusal(with_header(overlap, "123456")).find("/b overlaps /a"), std::string::npos);
  const std::string gap = R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
                          R"("b":{"dtype":"U8","shape":[2],"data_offsets":[4,6]}})";
  EXPECT_NE(refusal(with_header(gap, "123456")).find("gap after /a"), std::string::npos);
}

TEST(Safetensors, EveryShorterFileIsRefused) {
  const test::TempDir folder;
  const std::vector<float> values(40, 1.5F);
  SafetensorsWriter writer;
  writer.add("w", DType::kFp32, {40}, values);
  ASSERT_TRUE(writer.write(folder / "whole"));
  const std::string bytes = *read_file(folder / "whole");
  for (std::size_t size = 0; size < bytes.size(); size += 7) {
    EXPECT_NE(refusal(bytes.substr(0, size)), "") << size;
  }
  std::string flipped = bytes;
  flipped.back() = static_cast<char>(flipped.back() ^ 1);
  EXPECT_NE(refusal(flipped).find("SHA-256"), std::string::npos);
}

TEST(Safetensors, ReadingAnotherShapeOrTypeNamesBoth) {
  const auto file =
      SafetensorsFile::open(NB_SOURCE_DIR "/tests/golden/nanochat_parity.safetensors");
  ASSERT_TRUE(file);
  std::vector<float> out(6);
  EXPECT_NE(file->read("mha/lm_head.weight", DType::kFp32, {2, 3}, out)
                .error()
                .message.find("has shape [96, 64], this model needs [2, 3]"),
            std::string::npos);
  EXPECT_NE(file->read("mha/lm_head.weight", DType::kBf16, {2, 3}, out)
                .error()
                .message.find("is F32, expected BF16"),
            std::string::npos);
  EXPECT_NE(
      file->read("nothing", DType::kFp32, {2, 3}, out).error().message.find("no tensor nothing"),
      std::string::npos);
}

TEST(Safetensors, AFullDiskLeavesTheOldFile) {
  const test::TempDir folder;
  const std::vector<float> values(40, 1.5F);
  SafetensorsWriter writer;
  writer.add("w", DType::kFp32, {40}, values);
  ASSERT_TRUE(writer.write(folder / "w"));
  const std::string before = *read_file(folder / "w");
  for (int nth = 1; nth <= 3; ++nth) {
    fail_writes_after(nth, ENOSPC);
    const auto written = writer.write(folder / "w");
    fail_writes_after(0, 0);
    ASSERT_FALSE(written) << nth;
    EXPECT_EQ(written.error().code, ErrorCode::kRun);
    EXPECT_EQ(*read_file(folder / "w"), before);
  }
}

}  // namespace
}  // namespace nb
