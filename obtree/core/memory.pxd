# Scratch memory: allocated once per worker, checked, released with its owner.

from libc.stddef cimport size_t


cdef class Workspace:
    cdef void** _blocks
    cdef size_t _n_blocks
    cdef size_t _capacity
    cdef void* _shared
    cdef size_t _shared_bytes
    cdef char* _part          # what is left of the block that small parts share
    cdef size_t _part_bytes
    cdef readonly size_t n_bytes

    cdef void* take(self, size_t n_items, size_t item_size) except NULL
    cdef void* take_shared(self, size_t n_items, size_t item_size) except NULL
    cdef void* take_part(self, size_t n_items, size_t item_size) except NULL


cdef void* grow_block(void* block, size_t n_items, size_t item_size) except NULL nogil
cdef void free_block(void* block) noexcept nogil
