"""The bottom layer: types, random numbers, sorting, scratch memory, dispatch."""
