"""Planning further than one probe ahead, with certificates."""
