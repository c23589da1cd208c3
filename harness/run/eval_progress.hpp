// Progress of an evaluation on stderr: one bar a task, with rate and time left.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "harness/base/progress.hpp"

namespace nb {

// For EvalContext::progress, by std::ref.
class EvalProgress {
 public:
  explicit EvalProgress(std::string label) : label_(std::move(label)) {}
  void operator()(std::string_view task, std::int64_t done, std::int64_t total) {
    if (task != task_) {
      task_ = task;
      bar_ = std::make_unique<Progress>(label_ + " " + task_, total, "item");
    }
    bar_->update(done);
  }

 private:
  std::string label_;
  std::string task_;
  std::unique_ptr<Progress> bar_;
};

}  // namespace nb
