"""What is to be run: scenarios, and sweeps over them."""
