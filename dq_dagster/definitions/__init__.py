"""How Dagster sees it: the only part of the package that imports dagster."""
