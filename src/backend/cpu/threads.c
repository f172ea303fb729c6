/* How many threads this process may use: the affinity mask, and the CPU quota of its cgroup (v2: cpu.max; v1:
 * cpu.cfs_quota_us). */
#include "backend/cpu/cpu_int.h"

#include <sched.h>

enum { MAX_THREADS = 256 };

uint32_t cpu_affinity(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof(set), &set) != 0) return 1;
    int count = CPU_COUNT(&set);
    return count > 0 ? (uint32_t)count : 1;
}

/* The first number or two of a small file; returns how many were read. "max" is no number. */
static int read_numbers(const char *path, long long *first, long long *second) {
    FILE *file = fopen(path, "re");
    if (!file) return 0;
    char line[128] = "";
    int count = fgets(line, sizeof(line), file) ? sscanf(line, "%lld %lld", first, second) : 0;
    (void)fclose(file);
    return count < 0 ? 0 : count;
}

/* Threads that a quota allows, rounded up; MAX_THREADS without one. */
static uint32_t threads_of_quota(long long quota, long long period) {
    if (quota <= 0 || period <= 0) return MAX_THREADS;
    long long threads = quota / period + (quota % period != 0);
    return threads < MAX_THREADS ? (uint32_t)threads : MAX_THREADS;
}

/* The process's own cgroup as named in /proc/self/cgroup ("0::/path"), then each of its parents. */
static uint32_t cgroup_count(void) {
    char line[512] = "", group[512] = "", path[600];
    FILE *file = fopen("/proc/self/cgroup", "re");
    while (file && fgets(line, sizeof(line), file))
        if (strncmp(line, "0::", 3) == 0) memcpy(group, line + 3, strcspn(line + 3, "\n"));
    if (file) (void)fclose(file);
    uint32_t least = MAX_THREADS;
    for (size_t end = strlen(group);; end--) {
        if (end == 0 || group[end] == '/' || group[end] == 0) {
            long long quota = 0, period = 0;
            (void)snprintf(path, sizeof(path), "/sys/fs/cgroup%.*s/cpu.max", (int)end, group);
            if (read_numbers(path, &quota, &period) == 2 && threads_of_quota(quota, period) < least)
                least = threads_of_quota(quota, period);
        }
        if (end == 0) break;
    }
    long long quota = 0, period = 0, unused = 0;
    if (read_numbers("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", &quota, &unused) == 1 &&
        read_numbers("/sys/fs/cgroup/cpu/cpu.cfs_period_us", &period, &unused) == 1 &&
        threads_of_quota(quota, period) < least)
        least = threads_of_quota(quota, period);
    return least;
}

uint32_t cpu_quota(void) {
    uint32_t quota = cgroup_count();
    return quota < MAX_THREADS ? quota : MAX_THREADS;
}
