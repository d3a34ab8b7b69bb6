"""Data checks before training, and drift reports and prior adjustment afterwards."""
