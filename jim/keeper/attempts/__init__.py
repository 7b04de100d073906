"""What became of what was sent: reports, ends and verdicts of attempts."""
