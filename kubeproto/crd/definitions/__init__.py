"""CustomResourceDefinitions: made from classes, read, checked as a server checks them, and compared."""
