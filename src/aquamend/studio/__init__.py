"""The studio: a page on the service, or offline, on which a problem can be seen, turned, walked through and watched."""
