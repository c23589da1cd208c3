// The processes of a job that trains together, as a transport gives them (harness/mpi). Process 0
// leads: it runs the suite, keeps the records and is where ranks meet. The others wait for what it
// tells them and run the ranks that are theirs.
//
// Thread-safe: send() and receive(); the rest is of the thread that trains.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace nb {

// What the leading process tells all others, in the order in which it comes to it.
enum class JobNews : char {
  kNode = 'N',     // a training begins: what it is
  kResume = 'R',   // the checkpoint that it goes on from; empty: none
  kBegin = 'B',    // a step: the first card's state
  kRunEnd = 'V',   // the ranks have ended: the first failure, or nothing
  kOutcome = 'O',  // of the step
  kNodeEnd = 'E',  // the training has ended, perhaps early
  kJobEnd = 'X'    // nothing more: the exit code
};

// The leading process has left the training.
class TrainingLeft : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Processes {
 public:
  virtual ~Processes() = default;
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;

  int index() const { return index_; }
  int count() const { return count_; }
  int on_this_machine() const { return on_this_machine_; }
  bool leads() const { return index_ == 0; }

  // Bytes of one queue between two processes come in the order in which they were sent. send() may
  // wait until they are received.
  virtual void send(int to, int queue, std::string_view bytes) = 0;
  // none: nothing came within the limit.
  virtual std::optional<std::string> receive(int from, int queue,
                                             std::optional<std::chrono::milliseconds> limit) = 0;

  // Of the leading process.
  void tell(JobNews what, std::string_view text = {});
  // Of the others: the next news, and one of a kind. hear() throws TrainingLeft where the training
  // has ended instead.
  std::pair<JobNews, std::string> next_news();
  std::string hear(JobNews what);
  // hear() has thrown that.
  bool has_left() const { return has_left_; }

  // One does not answer any more: the job is not to wait for it at its end.
  void lose() { has_lost_ = true; }
  bool has_lost() const { return has_lost_; }

  // Counts the trainings of the job: messages of one that was left are not mistaken for another's.
  std::uint64_t training() const { return training_; }
  void begin_training() {
    ++training_;
    has_left_ = false;
  }

 protected:
  Processes(int index, int count, int on_this_machine)
      : index_(index), count_(count), on_this_machine_(on_this_machine) {}

 private:
  int index_, count_, on_this_machine_;
  std::uint64_t training_ = 0;
  bool has_left_ = false;
  std::atomic<bool> has_lost_ = false;
};

// Those of this job, null where this process is alone. Set once, from main, before work starts.
Processes* processes_of_job();
void set_processes_of_job(Processes* processes);

}  // namespace nb
