// The processes that mpirun has started together, over MPI. The module that knows MPI lies beside
// the program (or in ../lib/npubench) and is loaded only in such a job.
#pragma once

#include <memory>

#include "harness/base/result.hpp"
#include "model/collectives/processes.hpp"

namespace nb {

// More than one process, as OpenMPI's mpirun says in the environment.
bool is_in_job();
// Of those this one is not the first.
bool is_follower_of_job();
// Standard output and error lead nowhere from here; false: that cannot be.
bool close_outputs();

// A job from here to its end; process 0 leads. The others print nothing.
class Job {
 public:
  // null: this process is alone. Error: there is no module, or MPI cannot start.
  static Result<std::unique_ptr<Job>> open();
  ~Job();  // as end(): with 4, where it was not called
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  Processes& processes() const;
  // What this process printed is out. Waits for all. Of the leading process: all end with this
  // exit code.
  void end(int exit_code);

 private:
  class Mpi;
  explicit Job(std::unique_ptr<Mpi> mpi);
  std::unique_ptr<Mpi> processes_;
  bool has_ended_ = false;
};

}  // namespace nb
