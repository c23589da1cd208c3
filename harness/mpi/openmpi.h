// What the module over MPI offers; openmpi.c says what each does.
#ifndef NPUBENCH_HARNESS_MPI_OPENMPI_H_
#define NPUBENCH_HARNESS_MPI_OPENMPI_H_

#ifdef __cplusplus
extern "C" {
#endif

int nb_mpi_open(int* index, int* count, int* on_this_machine);
void* nb_mpi_send(int to, int queue, const char* bytes, int size);
int nb_mpi_is_sent(void* sent);
int nb_mpi_waiting(int from, int queue);
void nb_mpi_take(int from, int queue, char* bytes, int size);
void nb_mpi_close(void);
void nb_mpi_abort(int exit_code);

#ifdef __cplusplus
}
#endif

#endif  // NPUBENCH_HARNESS_MPI_OPENMPI_H_
