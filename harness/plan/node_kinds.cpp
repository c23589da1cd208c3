#include "harness/plan/node_kinds.hpp"

#include <array>

#include "harness/base/check.hpp"
#include "harness/base/hash.hpp"
#include "harness/plan/code_table.hpp"

namespace nb {
namespace {

// In the order of NodeKind. Which code belongs to a kind: code_digest.py.
constexpr std::array<NodeKindInfo, kNodeKindCount> kKinds{{
    {"dataset", "documents for training and validation"},
    {"tokenizer", "BPE vocabulary trained on the documents"},
    {"shards", "the documents as token shards"},
    {"conversations", "conversations for one training stage, mixed"},
    {"train", "one training stage on one device with one seed"},
    {"eval", "benchmarks on one checkpoint"},
    {"micro", "one group of microbenchmarks on one device"},
    {"predict", "one full-scale dry run on one device"},
    {"eval", "benchmarks outside a suite, on a model or on stored texts"},
    {"probe", "fixed questions with known answers on one device"},
}};

std::map<std::string, std::string> collect(std::string_view kind) {
  std::map<std::string, std::string> digests;
  for (const CodeDigest& code : code_table())
    if (code.kind == kind) digests.emplace(code.component, code.sha256);
  NB_CHECK(!digests.empty(), "[plan] no code for node kind {}", kind);
  return digests;
}

}  // namespace

const NodeKindInfo& info(NodeKind kind) { return kKinds[static_cast<std::size_t>(kind)]; }

const std::map<std::string, std::string>& code_digests(NodeKind kind) {
  static const auto all = [] {
    std::array<std::map<std::string, std::string>, kNodeKindCount> digests;
    for (std::size_t i = 0; i < kNodeKindCount; ++i) digests[i] = collect(kKinds[i].name);
    return digests;
  }();
  return all[static_cast<std::size_t>(kind)];
}

std::string code_digest(NodeKind kind) {
  Sha256 hash;
  for (const auto& [folder, digest] : code_digests(kind)) hash.update(folder + " " + digest + "\n");
  return hash.hex();
}

}  // namespace nb
