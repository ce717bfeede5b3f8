"""Problems, decisions, sessions, approvals and live events over HTTP: ``aquamend serve``, the extra ``serve``.

``routes`` lists all that can be asked, and ``app`` makes routing and the OpenAPI description of it; ``questions`` are
answered by processes of their own (``worker_pool``), which end when the time is up or nobody waits any more;
``service`` holds the sessions; ``guarding`` decides who may ask at all; ``running`` starts and stops it.
"""
