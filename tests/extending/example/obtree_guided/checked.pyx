from obtree.core.abi cimport require_abi

require_abi(__name__)
