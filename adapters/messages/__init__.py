"""What the commands of batch systems say when they fail: one message a line, sorted by what the failure means.

A message is a pattern, searched without regard to case. The comment behind it names the version of the batch system
that prints it: a directory of tests/captured with real output. `unknown`: the message is known from documents or
reports only, and no version is known for certain.
"""
