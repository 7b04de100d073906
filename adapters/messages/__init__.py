"""Failure messages of batch systems: one message a line, sorted by their meaning.

A message is a pattern; capitals do not matter. The comment behind it names the version of the batch system that prints
it: a directory of tests/captured with real output. `unknown`: the message is known only from documents or reports, and
no version is certain.
"""
