//! Who sends what to whom and when. Knows hosts and bytes, nothing of switches.
