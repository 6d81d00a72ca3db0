# What splitters, optimisers and leaf fitters are: objects that hold parameters and are cloned.


cdef class Parametrised:
    pass
