/* A team of threads that takes numbered items of work, one after the other.
 *
 * The caller works too; it is member 0. Helpers begin when the system lets them: on a busy machine
 * that may be late, or never, and then the caller has done the work itself and waits for nobody.
 * It waits, asleep, only for a helper that is in the middle of an item. No thread outlives its
 * team's work but a helper that had not begun; it ends at once, having touched nothing but the
 * team. No pool is kept, so that a process may fork at any time.
 *
 * Member 0 looks for signals now and then. In Python's main thread that is how Ctrl-C ends the
 * work; in others there is nothing to see, and they have a flag to look at instead.
 */
#ifndef OBTREE_TEAM_H
#define OBTREE_TEAM_H

#include <Python.h>
#include <stdlib.h>

#ifdef _WIN32
#include <process.h>
#include <windows.h>
typedef SRWLOCK obtree_lock;
typedef CONDITION_VARIABLE obtree_condition;
#define OBTREE_INIT_LOCK(lock) InitializeSRWLock(lock)
#define OBTREE_DROP_LOCK(lock) ((void)0)
#define OBTREE_LOCK(lock) AcquireSRWLockExclusive(lock)
#define OBTREE_UNLOCK(lock) ReleaseSRWLockExclusive(lock)
#define OBTREE_INIT_CONDITION(condition) InitializeConditionVariable(condition)
#define OBTREE_DROP_CONDITION(condition) ((void)0)
#define OBTREE_WAIT(condition, lock) SleepConditionVariableSRW(condition, lock, INFINITE, 0)
#define OBTREE_WAKE(condition) WakeConditionVariable(condition)
#else
#include <pthread.h>
#include <time.h>
typedef pthread_mutex_t obtree_lock;
typedef pthread_cond_t obtree_condition;
#define OBTREE_INIT_LOCK(lock) pthread_mutex_init(lock, NULL)
#define OBTREE_DROP_LOCK(lock) pthread_mutex_destroy(lock)
#define OBTREE_LOCK(lock) pthread_mutex_lock(lock)
#define OBTREE_UNLOCK(lock) pthread_mutex_unlock(lock)
#define OBTREE_INIT_CONDITION(condition) pthread_cond_init(condition, NULL)
#define OBTREE_DROP_CONDITION(condition) pthread_cond_destroy(condition)
#define OBTREE_WAIT(condition, lock) pthread_cond_wait(condition, lock)
#define OBTREE_WAKE(condition) pthread_cond_signal(condition)
#endif

/* What a thread may put on its stack: small by default on some systems. */
#define OBTREE_STACK_BYTES (8 << 20)

typedef void (*obtree_work)(void *context, Py_ssize_t item, Py_ssize_t member, void *team);

typedef struct {
    obtree_work work;
    void *context;
    Py_ssize_t n_items;
    const volatile int *stop;     /* of the caller's own, or NULL */
    volatile int stopped;         /* no item is taken any more */
    int interrupted;              /* a signal handler raised; member 0 has the exception */
    double next_look;             /* member 0: when to look for signals again, in seconds */
    int has_helpers;              /* else there is no lock */
    obtree_lock lock;             /* of everything below */
    obtree_condition idle;        /* the last helper at work has ended */
    Py_ssize_t next_item;
    Py_ssize_t n_members;         /* numbers given so far */
    Py_ssize_t n_active;          /* helpers at work */
    Py_ssize_t n_holders;         /* threads that know of the team; the last one frees it */
    int closed;                   /* helpers that come now have nothing to do */
} obtree_team;

/* Seconds between two looks for signals. */
static double obtree_look_seconds = 0.1;
/* Tests: called as each item begins, by one member after the other. */
static void (*obtree_item_begins)(void) = NULL;
/* Tests: threads that may be started; those beyond it cannot be. */
static Py_ssize_t obtree_max_helpers = PY_SSIZE_T_MAX;

static double obtree_read_clock(void)
{
#ifdef _WIN32
    return (double)GetTickCount64() / 1000.0;
#else
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
#endif
}

/* Whether to end soon. Called without the GIL; cheap enough for every 100 microseconds. */
static int obtree_should_stop(obtree_team *team, Py_ssize_t member)
{
    PyGILState_STATE state;
    if (team->stop != NULL && *team->stop)
        team->stopped = 1;
    if (member == 0 && !team->stopped && obtree_read_clock() >= team->next_look) {
        state = PyGILState_Ensure();
        if (PyErr_CheckSignals() != 0) {
            team->interrupted = 1;
            team->stopped = 1;
        }
        PyGILState_Release(state);
        team->next_look = obtree_read_clock() + obtree_look_seconds;
    }
    return team->stopped;
}

static void obtree_take_items(obtree_team *team, Py_ssize_t member)
{
    Py_ssize_t item;
    while (!obtree_should_stop(team, member)) {
        if (team->has_helpers)
            OBTREE_LOCK(&team->lock);
        item = team->next_item++;
        if (item < team->n_items && obtree_item_begins != NULL)
            obtree_item_begins();
        if (team->has_helpers)
            OBTREE_UNLOCK(&team->lock);
        if (item >= team->n_items)
            return;
        team->work(team->context, item, member, team);
    }
}

/* Forget the team, whose lock is held; the last one to do so frees it. */
static void obtree_leave_team(obtree_team *team)
{
    int last = --team->n_holders == 0;
    OBTREE_UNLOCK(&team->lock);
    if (last) {
        OBTREE_DROP_LOCK(&team->lock);
        OBTREE_DROP_CONDITION(&team->idle);
        free(team);
    }
}

static void obtree_help(obtree_team *team)
{
    Py_ssize_t member;
    OBTREE_LOCK(&team->lock);
    if (!team->closed) {
        member = team->n_members++;
        team->n_active++;
        OBTREE_UNLOCK(&team->lock);
        obtree_take_items(team, member);
        OBTREE_LOCK(&team->lock);
        if (--team->n_active == 0)
            OBTREE_WAKE(&team->idle);
    }
    obtree_leave_team(team);
}

#ifdef _WIN32
static unsigned __stdcall obtree_begin_helper(void *team)
{
    obtree_help((obtree_team *)team);
    return 0;
}

static int obtree_start_helper(obtree_team *team)
{
    uintptr_t thread = _beginthreadex(NULL, OBTREE_STACK_BYTES, obtree_begin_helper, team,
                                      STACK_SIZE_PARAM_IS_A_RESERVATION, NULL);
    if (thread == 0)
        return 0;
    CloseHandle((HANDLE)thread);
    return 1;
}
#else
static void *obtree_begin_helper(void *team)
{
    obtree_help((obtree_team *)team);
    return NULL;
}

static int obtree_start_helper(obtree_team *team)
{
    pthread_t thread;
    pthread_attr_t attributes;
    int started;
    if (pthread_attr_init(&attributes) != 0)
        return 0;
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, OBTREE_STACK_BYTES);
    started = pthread_create(&thread, &attributes, obtree_begin_helper, team) == 0;
    pthread_attr_destroy(&attributes);
    return started;
}
#endif

static void obtree_init_team(obtree_team *team, obtree_work work, void *context,
                             Py_ssize_t n_items, const volatile int *stop)
{
    team->work = work;
    team->context = context;
    team->n_items = n_items;
    team->stop = stop;
    team->stopped = 0;
    team->interrupted = 0;
    team->next_look = obtree_read_clock() + obtree_look_seconds;
    team->has_helpers = 0;
    team->next_item = 0;
}

/* Do items 0..n_items-1 on up to n_threads threads; threads that cannot be started are done
 * without. Returns -1, with the exception set, when a signal handler raised one. */
static int obtree_run_items(obtree_work work, void *context, Py_ssize_t n_items,
                            Py_ssize_t n_threads, const volatile int *stop)
{
    obtree_team alone, *team = NULL;
    Py_ssize_t k;
    int interrupted;
    if (n_threads > n_items)
        n_threads = n_items;
    if (n_threads > 1)
        team = (obtree_team *)malloc(sizeof(obtree_team));
    if (team == NULL) {
        obtree_init_team(&alone, work, context, n_items, stop);
        obtree_take_items(&alone, 0);
        return alone.interrupted ? -1 : 0;
    }
    obtree_init_team(team, work, context, n_items, stop);
    OBTREE_INIT_LOCK(&team->lock);
    OBTREE_INIT_CONDITION(&team->idle);
    team->has_helpers = 1;
    team->n_members = 1;
    team->n_active = 0;
    team->n_holders = 1;
    team->closed = 0;
    for (k = 1; k < n_threads && k <= obtree_max_helpers; k++) {
        OBTREE_LOCK(&team->lock);
        team->n_holders++;
        OBTREE_UNLOCK(&team->lock);
        if (!obtree_start_helper(team)) {
            OBTREE_LOCK(&team->lock);
            team->n_holders--;
            OBTREE_UNLOCK(&team->lock);
            break;
        }
    }
    obtree_take_items(team, 0);
    OBTREE_LOCK(&team->lock);
    team->closed = 1;
    while (team->n_active > 0)
        OBTREE_WAIT(&team->idle, &team->lock);
    interrupted = team->interrupted;
    obtree_leave_team(team);
    return interrupted ? -1 : 0;
}

#endif
