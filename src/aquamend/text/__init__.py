"""Words, numbers and tables as a person reads them; knows nothing of recoveries."""
