"""Connection matrices and topologies of htsim."""
