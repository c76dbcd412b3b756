"""What `policy` needs beside its verbs."""
