"""Runs workers, a data server and learners as processes of Ray. No other package imports ray."""
