"""The laboratory: where policies are compared. It may import the product, never the other way."""
