"""The server itself: a request comes in as a value, and a response goes out."""
