// npubench's processes over MPI, behind functions of plain types: a module that is loaded only in a
// job that mpirun has started (open_processes.cpp), so that nothing else depends on MPI. Of one
// thread at a time.
#include "harness/mpi/openmpi.h"

#include <mpi.h>
#include <stdlib.h>

// 0: done.
int nb_mpi_open(int* index, int* count, int* on_this_machine) {
  int level = 0;
  if (MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &level) != MPI_SUCCESS) return 1;
  if (level < MPI_THREAD_SERIALIZED) return 2;
  MPI_Comm machine;
  MPI_Comm_rank(MPI_COMM_WORLD, index);
  MPI_Comm_size(MPI_COMM_WORLD, count);
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine);
  MPI_Comm_size(machine, on_this_machine);
  MPI_Comm_free(&machine);
  return 0;
}

// null: there is no memory. What is sent stays where it is until nb_mpi_is_sent.
void* nb_mpi_send(int to, int queue, const char* bytes, int size) {
  MPI_Request* request = malloc(sizeof *request);
  if (request != NULL) MPI_Isend(bytes, size, MPI_CHAR, to, queue, MPI_COMM_WORLD, request);
  return request;
}

// Once true it is not asked again.
int nb_mpi_is_sent(void* sent) {
  int is_done = 0;
  MPI_Test((MPI_Request*)sent, &is_done, MPI_STATUS_IGNORE);
  if (is_done) free(sent);
  return is_done;
}

// Bytes of the first message that has come; -1: none has.
int nb_mpi_waiting(int from, int queue) {
  int is_there = 0, size = -1;
  MPI_Status status;
  MPI_Iprobe(from, queue, MPI_COMM_WORLD, &is_there, &status);
  if (is_there) MPI_Get_count(&status, MPI_CHAR, &size);
  return size;
}

void nb_mpi_take(int from, int queue, char* bytes, int size) {
  MPI_Recv(bytes, size, MPI_CHAR, from, queue, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

// Waits for all processes.
void nb_mpi_close(void) { MPI_Finalize(); }
// Ends all processes with that exit code, now.
void nb_mpi_abort(int exit_code) { MPI_Abort(MPI_COMM_WORLD, exit_code); }
