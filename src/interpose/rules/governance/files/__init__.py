"""`governance.yaml` and what lies around it: read, checked, followed."""
