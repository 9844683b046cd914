/* Timed waits as calls that the thread sanitizer knows; see `make sanitize`.
   Python waits by sem_clockwait, which libtsan does not intercept: without this, data that a thread
   hands over by a lock with a timeout are reported as data races. */

#define _GNU_SOURCE
#include <semaphore.h>
#include <time.h>

int sem_clockwait(sem_t *semaphore, clockid_t clock, const struct timespec *deadline)
{
    struct timespec then, now;
    clock_gettime(clock, &now);
    clock_gettime(CLOCK_REALTIME, &then);
    then.tv_sec += deadline->tv_sec - now.tv_sec;
    then.tv_nsec += deadline->tv_nsec - now.tv_nsec;
    if (then.tv_nsec < 0) {
        then.tv_nsec += 1000000000;
        then.tv_sec -= 1;
    } else if (then.tv_nsec >= 1000000000) {
        then.tv_nsec -= 1000000000;
        then.tv_sec += 1;
    }
    return sem_timedwait(semaphore, &then);
}
