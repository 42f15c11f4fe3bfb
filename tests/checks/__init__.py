"""Tests of the kinds: a table of cases for each family, and one runner."""
