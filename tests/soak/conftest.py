from tests.recovery.conftest import table

__all__ = ["table"]
