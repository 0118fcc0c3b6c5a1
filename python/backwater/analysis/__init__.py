"""Why a run came out as it did: delay breakdown, critical paths, pauses."""
