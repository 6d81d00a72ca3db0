"""Scratch memory with an owner.

A `Workspace` hands out blocks that live exactly as long as it does. A worker
thread has one; criteria and splitters take what they need from it when they are
bound to the data, so that nothing is allocated while a tree grows.
"""

from libc.stddef cimport size_t
from libc.stdlib cimport free, realloc

# Scattered reads of a large block spend much of their time on finding pages: fewer and larger
# ones save 4 % of a fit of wide data. A system that has none, or not of this kind, goes without.
cdef extern from *:
    """
    #include <stdint.h>
    #if defined(__linux__)
    #include <sys/mman.h>
    #include <unistd.h>
    #endif

    static void obtree_ask_for_large_pages(void *block, size_t n_bytes)
    {
    #if defined(__linux__) && defined(MADV_HUGEPAGE)
        const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
        const uintptr_t first = ((uintptr_t)block + page - 1) / page * page;
        const uintptr_t end = (uintptr_t)block + n_bytes;
        if (first < end) {
            (void)madvise((void *)first, end - first, MADV_HUGEPAGE);
        }
    #else
        (void)block;
        (void)n_bytes;
    #endif
    }
    """
    void ask_for_large_pages "obtree_ask_for_large_pages"(void* block, size_t n_bytes) nogil

cdef enum:
    LARGE_BYTES = 4194304     # below, a block has no room for two such pages
    PART_BYTES = 4096         # from which a part is a block of its own


cdef size_t _checked_size(size_t n_items, size_t item_size) noexcept nogil:
    """n_items * item_size, at least 1, or 0 when the product does not fit."""
    cdef size_t limit = (<size_t>-1) // 2
    if item_size != 0 and n_items > limit // item_size:
        return 0
    return n_items * item_size if n_items * item_size > 0 else 1


cdef void* grow_block(void* block, size_t n_items, size_t item_size) except NULL nogil:
    """Resize `block` (NULL to allocate) or raise MemoryError; contents are kept."""
    cdef size_t n_bytes = _checked_size(n_items, item_size)
    cdef void* result = NULL
    if n_bytes != 0:
        result = realloc(block, n_bytes)
    if result == NULL:
        with gil:
            raise MemoryError(f"could not allocate {n_items} items of {item_size} bytes")
    return result


cdef void free_block(void* block) noexcept nogil:
    free(block)


cdef class Workspace:
    """Owner of scratch blocks; frees all of them when it is destroyed."""

    def __cinit__(self):
        self._blocks = NULL
        self._n_blocks = 0
        self._capacity = 0
        self._shared = NULL
        self._shared_bytes = 0
        self._part = NULL
        self._part_bytes = 0
        self.n_bytes = 0

    def __dealloc__(self):
        cdef size_t k
        for k in range(self._n_blocks):
            free(self._blocks[k])
        free(self._blocks)

    cdef void* take(self, size_t n_items, size_t item_size) except NULL:
        """A block for `n_items` items, uninitialised, owned by the workspace."""
        cdef void* block
        if self._n_blocks == self._capacity:
            self._blocks = <void**>grow_block(
                self._blocks, 2 * self._capacity + 16, sizeof(void*)
            )
            self._capacity = 2 * self._capacity + 16
        block = grow_block(NULL, n_items, item_size)
        if n_items * item_size >= LARGE_BYTES:
            ask_for_large_pages(block, n_items * item_size)
        self._blocks[self._n_blocks] = block
        self._n_blocks += 1
        self.n_bytes += n_items * item_size
        return block

    cdef void* take_shared(self, size_t n_items, size_t item_size) except NULL:
        """A block that others may have too, for what is forgotten when a call returns.

        Those who ask for most should ask first: a larger block is a new one.
        """
        if self._shared == NULL or n_items > self._shared_bytes // max(item_size, 1):
            self._shared = self.take(n_items, item_size)
            self._shared_bytes = n_items * item_size
        return self._shared

    cdef void* take_part(self, size_t n_items, size_t item_size) except NULL:
        """As `take`, for what there may be a million of: small parts share a few blocks."""
        cdef size_t n_bytes
        cdef void* part
        if item_size == 0 or n_items >= PART_BYTES // item_size:
            return self.take(n_items, item_size)
        n_bytes = (n_items * item_size + 7) // 8 * 8
        if n_bytes > self._part_bytes or self._part == NULL:
            self._part = <char*>self.take(64 * PART_BYTES, 1)
            self._part_bytes = 64 * PART_BYTES
        part = self._part
        self._part += n_bytes
        self._part_bytes -= n_bytes
        return part
