"""StatefulSets: pods with stable names and storage."""
