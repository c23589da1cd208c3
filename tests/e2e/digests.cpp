#include "tests/e2e/digests.hpp"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "harness/base/fs.hpp"
#include "harness/base/hash.hpp"
#include "harness/base/json_io.hpp"
#include "results/store/store.hpp"

namespace nb::test {
namespace {

const fs::path kCommitted = fs::path(NB_SOURCE_DIR) / "tests/golden/digests.json";

// Without the key, in which the code digest is.
std::string node_name(const fs::path& folder) {
  const std::string name = folder.filename().string();
  return name.substr(0, name.rfind('-'));
}

bool accepts() {
  const char* accept = std::getenv("NB_ACCEPT");
  return accept != nullptr && std::string(accept) == "1";
}

}  // namespace

SuiteDigest metrics_digest(const fs::path& suite_folder) {
  SuiteDigest result;
  const auto run = read_run(suite_folder);
  EXPECT_TRUE(run) << run.error().message;
  if (!run) return result;
  for (const std::string& sentence : run->damaged) ADD_FAILURE() << sentence;
  for (const StoredRecord& stored : run->records) {
    EXPECT_EQ(stored.record.status, "ok") << stored.folder << ": " << stored.record.error;
    const auto json = record_json(stored.record);
    EXPECT_TRUE(json) << json.error().message;
    if (!json) continue;
    const bool is_new =
        result.records.emplace(node_name(stored.folder), sha256_hex(json->at("metrics").dump()))
            .second;
    EXPECT_TRUE(is_new) << stored.folder;
  }
  std::string lines;
  for (const auto& [node, digest] : result.records) lines += node + " " + digest + "\n";
  result.digest = sha256_hex(lines);
  return result;
}

std::string difference(const SuiteDigest& expected, const SuiteDigest& now) {
  if (expected.digest == now.digest) return "";
  std::string nodes;
  for (const auto& [node, digest] : expected.records) {
    const auto other = now.records.find(node);
    if (other == now.records.end()) {
      nodes += fmt::format(" {} (missing)", node);
    } else if (other->second != digest) {
      nodes += " " + node;
    }
  }
  for (const auto& [node, digest] : now.records)
    if (!expected.records.contains(node)) nodes += fmt::format(" {} (new)", node);
  return "other metrics:" + nodes;
}

std::string difference_from_committed(const std::string& suite, const SuiteDigest& now) {
  Json all = Json::object();
  if (fs::exists(kCommitted)) {
    auto read = read_json(kCommitted);
    if (!read) return read.error().message;
    all = std::move(*read);
  }
  if (accepts()) {
    all[suite] = {{"digest", now.digest}, {"records", now.records}};
    const auto written = write_json(kCommitted, all);
    return written ? "" : written.error().message;
  }
  const std::string advice =
      "; if that is meant: NB_ACCEPT=1 nb_test_digests --gtest_filter='Digests.*' from the root";
  if (!all.contains(suite)) return "tests/golden/digests.json has no " + suite + advice;
  const SuiteDigest expected{all[suite].at("digest"), all[suite].at("records")};
  const std::string text = difference(expected, now);
  return text.empty() ? "" : suite + ": " + text + advice;
}

}  // namespace nb::test
