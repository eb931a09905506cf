"""What every room stands on: errors, findings, verbs, progress, and small habits of classes."""
