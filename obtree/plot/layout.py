"""Where the boxes of a tree stand: as near to each other as they can without touching.

Levels are rows, so that only boxes of one level can touch. From the leaves upwards, the right
subtree of each node is moved towards the left one until on some level they are a gap apart, and
the node stands above the middle of its children (Reingold and Tilford 1981, for boxes of any
width).
"""


def place_columns(parents, widths, gap):
    """Find the centres of boxes across.

    Parameters
    ----------
    parents : sequence of int
        Place in the sequence of each box's parent, -1 for the first. Parents come before their
        children, left children before right ones.
    widths : sequence of float
        Of the boxes.
    gap : float
        Least distance of two boxes of a level.

    Returns
    -------
    centres : list of float
        The least of all left edges is 0.
    """
    n = len(parents)
    children = [[] for _ in range(n)]
    for k in range(1, n):
        children[parents[k]].append(k)
    moves = [0.0] * n  # of a box, from the centre of its parent
    # Left and right edges by level, the node's own last, from the node's centre.
    outlines = [None] * n
    for k in range(n - 1, -1, -1):
        outline = []
        if children[k]:
            left, right = children[k]
            first, second = outlines[left], outlines[right]
            outlines[left] = outlines[right] = None
            common = min(len(first), len(second))
            pairs = zip(first[-common:], second[-common:], strict=True)
            distance = max(a[1] - b[0] for a, b in pairs) + gap
            moves[left], moves[right] = -0.5 * distance, 0.5 * distance
            outline = _join(first, second, 0.5 * distance)
        outline.append((-0.5 * widths[k], 0.5 * widths[k]))
        outlines[k] = outline
    start = -min(low for low, _ in outlines[0])
    centres = [start] * n
    for k in range(1, n):
        centres[k] = centres[parents[k]] + moves[k]
    return centres


def _join(first, second, half):
    """Edges of two subtrees, the first moved to the left and the second to the right."""
    common = min(len(first), len(second))
    longer, sign = (first, -half) if len(first) > len(second) else (second, half)
    joined = [(low + sign, high + sign) for low, high in longer[: len(longer) - common]]
    pairs = zip(first[-common:], second[-common:], strict=True)
    return joined + [(a[0] - half, b[1] + half) for a, b in pairs]


def place_rows(depths, heights, gap):
    """Find where boxes begin, from the top downwards.

    Parameters
    ----------
    depths : sequence of int
        Levels of the boxes.
    heights : sequence of float
        Of the boxes.
    gap : float
        Between the lowest box of a level and the next level.

    Returns
    -------
    tops : list of float
        The root's is 0, those of lower levels are larger.
    total : float
        Height of all levels.
    """
    rows = [0.0] * (max(depths) + 1)
    for depth, height in zip(depths, heights, strict=True):
        rows[depth] = max(rows[depth], height)
    starts = [0.0]
    for height in rows:
        starts.append(starts[-1] + height + gap)
    return [starts[depth] for depth in depths], starts[-1] - gap
