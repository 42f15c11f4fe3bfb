"""A real code location: the flights that left New York in 2013, with the faults that the published data really has."""
