/* Random numbers from a seed in place of the machine's, for a kernel that shall repeat its run.
 *
 * The kernel in virtual time asks its host for random numbers by getrandom(2); with this library
 * preloaded it gets those of SplitMix64, from the seed in TIDEGATE_LAB_SEED. */
#include <stdint.h>
#include <stdlib.h>
#include <sys/types.h>

static uint64_t state;
static int is_seeded;

static uint64_t next(void)
{
    uint64_t z = (state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

ssize_t getrandom(void *buffer, size_t length, unsigned int flags)
{
    unsigned char *bytes = buffer;

    (void)flags;
    if (!is_seeded) {
        const char *seed = getenv("TIDEGATE_LAB_SEED");
        state = seed ? strtoull(seed, NULL, 10) : 0;
        is_seeded = 1;
    }
    for (size_t at = 0; at < length; at++)
        bytes[at] = (unsigned char)next();
    return (ssize_t)length;
}
