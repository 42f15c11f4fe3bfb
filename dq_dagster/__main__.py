"""`python -m dq_dagster`."""

from dq_dagster.cli import main

if __name__ == "__main__":
    main()
